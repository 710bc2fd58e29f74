"""Expressions: interned unions, conjunctions and references, and which of them have an instance.

An expression is a small int. `unfold` gives its shapes; references are followed only then, so recursion closes by
itself: shapes hold the expressions of their members, not their shapes. A reference that leads back to itself without
an object or array in between contributes nothing (the least fixpoint), so `A = anyOf [A, string]` is `string`.
"""

from __future__ import annotations

from collections.abc import Iterable

from constrain.errors import GrammarError, LimitExceededError
from constrain.grammars.json_schema.patterns import filtered, has_text
from constrain.grammars.json_schema.shapes import (
    EVERYTHING,
    FALSE,
    TRUE,
    Arr,
    Obj,
    Shape,
    Str,
    conjoin,
    united,
)
from constrain.limits import Limits

Shapes = tuple[Shape, ...]
_Leaves = tuple[Shapes, tuple[int, ...]]  # shapes, and conjunctions that are worked out together
_MAX_ROUNDS = 64
_MAX_VISITS = 100  # expressions passed on the way to shapes, as a multiple of `max_schema_nodes`

UNION, ANY, ALL, REF = "union", "any", "all", "ref"


class Algebra:
    """The expressions of one schema."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.terms: list[tuple[str, tuple[object, ...]]] = []
        self.targets: list[int | None] = []  # location of a schema -> its expression, once it is known
        self._ids: dict[tuple[str, tuple[object, ...]], int] = {}
        self._shapes: dict[int, Shapes] = {}
        self._work = 0
        self._productive: dict[int, bool] = {}
        self._heights: dict[int, int] = {}
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
        if all(shapes is not None for shapes in known):
            return self.union(united([shape for shapes in known if shapes is not None for shape in shapes]))
        return self._intern(ANY, tuple(flat))

    def all_of(self, parts: Iterable[int]) -> int:
        """Return the conjunction of expressions, worked out only when it is unfolded."""
        flat: dict[int, None] = {}
        for part in parts:
            kind, inner = self.terms[part]
            flat.update(dict.fromkeys(inner if kind == ALL else (part,)))  # type: ignore[arg-type]
        flat.pop(TRUE, None)
        if FALSE in flat:
            return FALSE
        if len(flat) < 2:
            return next(iter(flat), TRUE)
        return self._intern(ALL, tuple(flat))

    def conjunction(self, parts: list[int]) -> int:
        """Return `all_of`, worked out at once where every part is known, so that equal results are one expression."""
        made = self.all_of(parts)
        if made not in self._shapes and all(part in self._shapes for part in parts):
            return self.union(self.unfold(made))
        return made

    def meet(self, a: int, b: int) -> int:
        """Return the conjunction of two expressions."""
        if b in {a, TRUE}:
            return a
        return b if a == TRUE else self.all_of((a, b))

    # Unfolding

    def unfold(self, expression: int) -> Shapes:
        """Return the shapes whose union the expression is."""
        known = self._shapes.get(expression)
        if known is not None:
            return known
        parts_of: dict[int, list[_Leaves]] = {}
        leaves = self._leaves(expression)
        order = self._conjunctions(leaves, parts_of)
        rounds = 0
        while self._settle(order, parts_of):
            rounds += 1
            if rounds > _MAX_ROUNDS:
                raise GrammarError("a reference leads back to itself through allOf without coming to an end")
        shapes = self._shapes[expression] = self._together(leaves)
        return shapes

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
                parts_of[one] = [self._leaves(_int(part)) for part in self.terms[one][1]]
                stack.append((one, True))
                stack.extend((inner, False) for part in parts_of[one] for inner in part[1] if inner not in parts_of)
        return order

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
        if first is EVERYTHING:
            return second
        if len(first) * len(second) > self.limits.max_schema_nodes:
            raise LimitExceededError("max_schema_nodes", self.limits.max_schema_nodes, "combining alternatives")
        found = (conjoin(a, b, self.meet) for a in first for b in second)
        return united([shape for shape in (self.filtered(shape) for shape in found) if shape is not None])

    def filtered(self, shape: Shape | None) -> Shape | None:
        """Return the shape with the patterns applied to its enumerated texts, or None if none is left."""
        if not isinstance(shape, Str) or shape.texts is None or not shape.patterns:
            return shape
        texts = filtered(shape.texts, shape.patterns, self.limits)
        return Str(texts=texts) if texts else None

    # Which expressions have an instance

    def productive(self, expression: int) -> bool:
        """Return whether the expression has a finite instance."""
        known = self._productive.get(expression)
        if known is None:
            self._solve(expression)
            known = self._productive[expression]
        return known

    def _solve(self, root: int) -> None:
        """Find the least fixpoint over everything `root` reaches."""
        order: list[int] = []
        seen = {root}
        stack = [root]
        while stack:
            expression = stack.pop()
            order.append(expression)
            if len(order) > self.limits.max_schema_nodes:
                raise LimitExceededError("max_schema_nodes", self.limits.max_schema_nodes, "following references")
            for shape in self.unfold(expression):
                for part in members(shape):
                    if part not in seen:
                        seen.add(part)
                        if part not in self._productive:
                            stack.append(part)
        open_ones = order[::-1]
        while True:
            left = [one for one in open_ones if not self._grounded(one)]
            if len(left) == len(open_ones):
                break
            open_ones = left
        self._productive.update(dict.fromkeys(left, False))

    def _grounded(self, expression: int) -> bool:
        """Return whether some shape needs only what is known to have instances; if so, note it."""
        good = self._productive
        found = [
            self.height(shape)
            for shape in self.unfold(expression)
            if all(good.get(part, False) for part in needed(shape))
            and (not isinstance(shape, Str) or has_text(shape, self.limits))
        ]
        if not found:
            return False
        good[expression] = True
        self._heights[expression] = min(found)
        return True

    def height(self, shape: Shape) -> int:
        """Return how many levels of containers below it are enough for an instance of a shape that has one."""
        return max((1 + self._heights[part] for part in needed(shape)), default=0)

    def height_of(self, expression: int) -> int:
        """Return the same for an expression that has an instance."""
        return self._heights[expression]

    def allowed(self, shape: Shape) -> Shape | None:
        """Return the shape without members and items that have no instance, or None if it has none itself."""
        if isinstance(shape, Arr):
            maximum = shape.maximum
            for place, part in enumerate(shape.prefix):
                if not self.productive(part):
                    return _cut(shape, place)
            if (maximum is None or maximum > len(shape.prefix)) and not self.productive(shape.items):
                return _cut(shape, len(shape.prefix))
            return shape
        if isinstance(shape, Obj):
            for prop in shape.props:
                if prop.required and not self.productive(prop.expression):
                    return None
            return shape
        return shape if not isinstance(shape, Str) or has_text(shape, self.limits) else None


def _cut(shape: Arr, length: int) -> Arr | None:
    return None if shape.minimum > length else Arr(shape.prefix[:length], FALSE, shape.minimum, length)


def members(shape: Shape) -> Iterable[int]:
    """Return the expressions of everything inside a shape's values."""
    if isinstance(shape, Arr):
        return (*shape.prefix, shape.items)
    if isinstance(shape, Obj):
        return (*(prop.expression for prop in shape.props), shape.extra)
    return ()


def needed(shape: Shape) -> Iterable[int]:
    """Return the expressions that must have an instance for the shape to have one."""
    if isinstance(shape, Arr):
        needs = shape.prefix[: shape.minimum]
        return (*needs, shape.items) if shape.minimum > len(shape.prefix) else needs
    if isinstance(shape, Obj):
        return tuple(prop.expression for prop in shape.props if prop.required)
    return ()


def _int(part: object) -> int:
    assert isinstance(part, int)
    return part
