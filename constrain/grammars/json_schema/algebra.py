"""Expressions: interned unions, conjunctions, complements and references.

An expression is a small int. `unfold` gives its shapes; references are followed only then, so recursion closes by
itself: shapes hold the expressions of their members, not their shapes. A reference that leads back to itself without
an object or array in between contributes nothing (the least fixpoint), so `A = anyOf [A, string]` is `string`; one that
leads back through a complement has no meaning and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from constrain.deadline import check
from constrain.errors import GrammarError, GrammarSyntaxError, LimitExceededError
from constrain.grammars.json_schema.complements import complement
from constrain.grammars.json_schema.conjunctions import conjoin, says_no_more
from constrain.grammars.json_schema.shapes import EVERYTHING, FALSE, FREE, TRUE, Shape, is_scalar, united
from constrain.limits import Limits

Shapes = tuple[Shape, ...]
_Leaves = tuple[Shapes, tuple[int, ...]]  # shapes, and conjunctions that are worked out together
_MAX_ROUNDS = 64
_FEW = 10_000  # products of scalar shapes that are worked out at once
_MAX_VISITS = 100  # expressions passed on the way to shapes, as a multiple of `max_schema_nodes`

UNION, ANY, ALL, NOT, REF = "union", "any", "all", "not", "ref"


class Algebra:
    """The expressions of one schema."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.terms: list[tuple[str, tuple[object, ...]]] = []
        self.targets: list[int | None] = []  # location of a schema -> its expression, once it is known
        self._ids: dict[tuple[str, tuple[object, ...]], int] = {}
        self._shapes: dict[int, Shapes] = {}
        self._work = 0
        # While it is set, targets stand for more values than are meant, and complements for all.
        self.provisional = False
        self.pointers: list[str] = []  # where the first locations are
        self.unique_at = "#"  # where uniqueItems stands first
        assert self.union(EVERYTHING) == TRUE
        assert self.union(()) == FALSE

    def _intern(self, kind: str, parts: tuple[object, ...]) -> int:
        term = (kind, parts)
        found = self._ids.get(term)
        if found is None:
            found = self._ids[term] = len(self.terms)
            self.terms.append(term)
            if found > 20 * self.limits.max_schema_nodes:
                raise LimitExceededError("max_schema_nodes", self.limits.max_schema_nodes, "combining subschemas")
        return found

    # Constructors

    def union(self, shapes: Shapes) -> int:
        """Return the expression of the values in any of the shapes."""
        made = self._intern(UNION, shapes)
        self._shapes[made] = shapes
        return made

    def reference(self, location: int) -> int:
        """Return the expression of the schema at a location, which may not be known yet."""
        target = self.targets[location]
        return self._intern(REF, (location,)) if target is None else target

    def any_of(self, parts: Iterable[int]) -> int:
        """Return the union of expressions."""
        flat = list(dict.fromkeys(part for part in parts if part != FALSE))
        if not flat:
            return FALSE
        if TRUE in flat:
            return TRUE
        if len(flat) == 1:
            return flat[0]
        known = [self._shapes.get(part) for part in flat]
        if not self.provisional and all(shapes is not None for shapes in known):
            return self.union(united([shape for shapes in known if shapes is not None for shape in shapes]))
        return self._intern(ANY, tuple(flat))

    def all_of(self, parts: Iterable[int]) -> int:
        """Return the conjunction of expressions, worked out only when it is unfolded."""
        flat: dict[int, None] = {}
        for part in parts:
            kind, inner = self.terms[part]
            flat.update(dict.fromkeys(inner if kind == ALL else (part,)))  # type: ignore[arg-type]
        flat.pop(TRUE, None)
        if FALSE in flat or any(kind == NOT and inner[0] in flat for kind, inner in map(self.terms.__getitem__, flat)):
            return FALSE
        if len(flat) < 2:
            return next(iter(flat), TRUE)
        return self._intern(ALL, tuple(flat))

    def not_of(self, expression: int) -> int:
        """Return the complement of an expression, worked out only when it is unfolded."""
        if expression in {TRUE, FALSE}:
            return FALSE if expression == TRUE else TRUE
        kind, inner = self.terms[expression]
        if kind == NOT:
            return _int(inner[0])
        known = self._shapes.get(expression)
        if kind == UNION and known is not None and all(is_scalar(shape) for shape in known):
            return self.union(self._complement(known))
        return self._intern(NOT, (expression,))

    def conjunction(self, parts: list[int]) -> int:
        """Return `all_of`, worked out at once where every part is known, so that equal results are one expression."""
        made = self.all_of(parts)
        if made not in self._shapes and all(part in self._shapes for part in parts):
            return self.union(self.unfold(made))
        return made

    def meet(self, a: int, b: int) -> int:
        """Return the conjunction of two expressions."""
        if b in {a, TRUE} or a == FALSE:
            return a
        if a == TRUE or b == FALSE:
            return b
        first, second = self._shapes.get(a), self._shapes.get(b)
        if first is None or second is None or self.provisional or len(first) * len(second) > _FEW:
            return self.all_of((a, b))
        if all(is_scalar(shape) for shape in (*first, *second)):
            return self.union(self._product(first, second))
        return self.all_of((a, b))

    # Unfolding

    def unfold(self, expression: int) -> Shapes:
        """Return the shapes whose union the expression is."""
        stack = [expression]
        entered: set[int] = set()
        while stack:
            check()
            one = stack[-1]
            inner = None
            if one not in self._shapes:
                inner = next((negated for negated in self._negated(one) if negated not in self._shapes), None)
            if inner is None:
                stack.pop()
                entered.discard(one)
                if one not in self._shapes:
                    self._unfold(one)
            elif inner in entered:
                where = self._pointer(inner)
                raise GrammarSyntaxError(f"{where} leads back to itself through a negation, so it has no meaning")
            else:
                entered.add(inner)
                stack.append(inner)
        return self._shapes[expression]

    def _pointer(self, expression: int) -> str:
        """Return where an expression stands in the schema, as far as it is known."""
        kind, parts = self.terms[expression]
        locations = [_int(parts[0])] if kind == REF else [i for i, one in enumerate(self.targets) if one == expression]
        found = [self.pointers[location] for location in locations if location < len(self.pointers)]
        return found[0] if found else "#"

    def forget(self) -> None:
        """Forget all shapes but those of plain unions, since references now lead elsewhere."""
        for one in [one for one in self._shapes if self.terms[one][0] != UNION]:
            del self._shapes[one]

    def _negated(self, expression: int) -> list[int]:
        """Return what must be known for the complements that an expression is made of, and is not known yet."""
        seen = {expression}
        stack = [expression]
        found: list[int] = []
        while stack:
            one = stack.pop()
            if one in self._shapes:
                continue
            kind, parts = self.terms[one]
            if kind == NOT:
                inner = _int(parts[0])
                if self.provisional:
                    self._shapes[one] = EVERYTHING
                elif inner not in self._shapes:
                    found.append(inner)
                continue
            for part in [self.targets[_int(part)] for part in parts] if kind == REF else parts:
                if part not in seen:
                    seen.add(_int(part))
                    stack.append(_int(part))
        return found

    def _complement(self, shapes: Shapes) -> Shapes:
        found: list[Shape] = []
        for kind, free in FREE.items():
            rest: Shapes = (free,)
            parts = [complement(shape, self.not_of) for shape in shapes if shape.kind == kind]
            for part in sorted(parts, key=len):
                rest = self._product(rest, part)
            found.extend(rest)
        return EVERYTHING if tuple(found) == EVERYTHING else tuple(found)

    def _unfold(self, expression: int) -> None:
        parts_of: dict[int, list[_Leaves]] = {}
        leaves = self._leaves(expression)
        order = self._conjunctions(leaves, parts_of)
        rounds = 0
        while self._settle(order, parts_of):
            rounds += 1
            if rounds > _MAX_ROUNDS:
                raise GrammarError("a reference leads back to itself through allOf without coming to an end")
        self._shapes[expression] = self._together(leaves)

    def _leaves(self, expression: int) -> _Leaves:
        """Return the known shapes and the conjunctions that unions and references lead to, each once."""
        seen = {expression}
        stack = [expression]
        shapes: list[Shape] = []
        conjunctions: list[int] = []
        while stack:
            one = stack.pop()
            known = self._shapes.get(one)
            if known is not None:
                shapes.extend(known)
                continue
            kind, parts = self.terms[one]
            if kind == NOT:
                found = self._shapes[one] = self._complement(self._shapes[_int(parts[0])])
                shapes.extend(found)
                continue
            if kind == ALL:
                conjunctions.append(one)
                continue
            below = [self.targets[_int(part)] for part in parts] if kind == REF else parts
            for part in reversed(below):
                if part not in seen:
                    seen.add(_int(part))
                    stack.append(_int(part))
        self._work += len(seen)
        if self._work > _MAX_VISITS * self.limits.max_schema_nodes:
            raise LimitExceededError("max_schema_nodes", self.limits.max_schema_nodes, "following references")
        if not shapes and not conjunctions:
            self._shapes.update(dict.fromkeys(seen, ()))
        return united(shapes), tuple(conjunctions)

    def _conjunctions(self, leaves: _Leaves, parts_of: dict[int, list[_Leaves]]) -> list[int]:
        """Return the conjunctions that are not known yet, the inner ones first, and note what each is made of."""
        order: list[int] = []
        stack = [(one, False) for one in leaves[1]]
        while stack:
            one, entered = stack.pop()
            if entered:
                order.append(one)
            elif one not in parts_of:
                parts_of[one] = self._factors(one)
                stack.append((one, True))
                stack.extend((inner, False) for part in parts_of[one] for inner in part[1] if inner not in parts_of)
        return order

    def _factors(self, conjunction: int) -> list[_Leaves]:
        """Return what a conjunction is made of, complements last and shape by shape: so little is multiplied out."""
        found: list[_Leaves] = []
        without: dict[Shapes, None] = {}
        for part in map(_int, self.terms[conjunction][1]):
            kind, inner = self.terms[part]
            if kind != NOT or part in self._shapes:
                found.append(self._leaves(part))
                continue
            for shape in self._shapes[_int(inner[0])]:
                without[self._complement((shape,))] = None
        return [*found, *((shapes, ()) for shapes in sorted(without, key=len))]

    def _settle(self, order: list[int], parts_of: dict[int, list[_Leaves]]) -> bool:
        """Work out every conjunction once, from what is known so far; return whether another round may give more."""
        early: set[int] = set()  # read before it was worked out in this round
        done: set[int] = set()
        grown: set[int] = set()
        for one in order:
            shapes = EVERYTHING
            for part in parts_of[one]:
                early.update(inner for inner in part[1] if inner in parts_of and inner not in done)
                shapes = self._product(shapes, self._together(part))
            if not set(shapes) <= set(self._shapes.get(one, ())):
                grown.add(one)
            self._shapes[one] = shapes
            done.add(one)
        return not early.isdisjoint(grown)

    def _together(self, leaves: _Leaves) -> Shapes:
        shapes, conjunctions = leaves
        if not conjunctions:
            return shapes
        return united([*shapes, *(shape for one in conjunctions for shape in self._shapes.get(one, ()))])

    def _product(self, first: Shapes, second: Shapes) -> Shapes:
        """Return the union of the conjunctions of all pairs; what another pair covers is left out where it shows."""
        if first is EVERYTHING:
            return second
        if len(first) * len(second) > self.limits.max_schema_nodes:
            raise LimitExceededError("max_schema_nodes", self.limits.max_schema_nodes, "combining alternatives")
        if len(first) == len(second) == 1:
            both = conjoin(first[0], second[0], self)
            return () if both is None else (both,)
        covered: set[int] = set()  # places in `second` of what a shape in `first` covers
        found: list[list[tuple[int, Shape]]] = []
        for a in first:
            row: list[tuple[int, Shape]] = []
            check()
            for place, b in enumerate(second):
                if place in covered:
                    continue
                both = conjoin(a, b, self)
                if both is None:
                    continue
                if says_no_more(both, a, self.limits):
                    row = [(-1, a)]
                    break
                if says_no_more(both, b, self.limits):
                    covered.add(place)
                    both = b
                row.append((place, both))
            found.append(row)
        kept = [shape for row in found for place, shape in row if place not in covered or shape is second[place]]
        return united(kept)


def _int(part: object) -> int:
    assert isinstance(part, int)
    return part
