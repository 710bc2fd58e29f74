"""Hash-consed regular expressions over bytes and their deterministic rows, made on demand.

An expression is a small int; equal expressions (up to the laws applied in the constructors) are the same int, so an
expression *is* a state of a lazily built deterministic automaton. `row(r)` gives its transitions as disjoint byte sets.
A bounded repeat keeps its bounds in the expression, so `{m,n}` costs nothing before it is read; intersection and
complement are expressions like any other, and only for those emptiness needs a search (`is_live`).

A bound may be a symbol, which stands for a large count that is not written down (`counts`).

Read in this order: the constructors (`alternate`, `concat`, ...), `row`, `is_live`.

Source: Brzozowski 1964 (derivatives); Owens, Reppy, Turon 2009 (similarity, classes). Own formulation by rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from constrain.automata import multiples
from constrain.automata.byte_sets import Row, joined, split, split_by_byte
from constrain.automata.counts import SYMBOL, UNBOUNDED, is_symbol, product
from constrain.automata.unions import united
from constrain.deadline import check
from constrain.errors import LimitExceededError
from constrain.limits import DEFAULT_LIMITS, Limits

CLASS, CONCAT, ALTERNATE, REPEAT, INTERSECT, COMPLEMENT, MULTIPLE = range(1, 8)
NOTHING = 0
EPSILON = 1
ALL_BYTES = (1 << 256) - 1
_LEAF = 0
_MANY_PARTS = 48
_LARGE = 8  # a count that is worth leaving out when emptiness is asked
_WHOLES = (CONCAT, ALTERNATE, INTERSECT)
_WITHOUT_PARTS = (CLASS, MULTIPLE)


class RegexTable:
    """A growing table of expressions over one alphabet (the bytes that a vocabulary can spell).

    Not safe for concurrent use; its owner holds a lock. Cost: a few microseconds per new expression,
    10 to 50 per row.
    """

    def __init__(self, alphabet: int = ALL_BYTES, limits: Limits = DEFAULT_LIMITS) -> None:
        self.alphabet = alphabet
        self.limits = limits
        self.kinds: list[int] = [_LEAF, _LEAF]
        self.args: list[tuple[int, ...]] = [(), ()]
        self.nullable: list[bool] = [False, True]
        # May the expression be empty although it is not NOTHING? Only intersections and complements make it so.
        self.unsure: list[bool] = [False, False]
        # Does a bound of the expression stand for an unwritten count?
        self.symbolic: list[bool] = [False, False]
        # The largest bound of the repeats that it is made of (not of what they repeat).
        self.largest: list[int] = [0, 0]
        self._ids: dict[tuple[int, ...], int] = {}
        self._rows: dict[int, Row] = {NOTHING: (), EPSILON: ()}
        self._least: dict[int, int] = {NOTHING: 1 << 40, EPSILON: 0}
        self._loose: dict[int, int] = {}
        self.live: dict[int, bool] = {NOTHING: False, EPSILON: True}
        # Of intersections with symbols (see `shapes`): None where the counts have to be written out.
        self.margins: dict[int, int | None] = {}
        self.everything = self.repeat(self.byte_class(alphabet), 0, UNBOUNDED)

    def __len__(self) -> int:
        return len(self.kinds)

    def _make(self, kind: int, args: tuple[int, ...], nullable: bool, unsure: bool) -> int:
        key = (kind, *args)
        found = self._ids.get(key)
        if found is None:
            found = len(self.kinds)
            self._ids[key] = found
            self.kinds.append(kind)
            self.args.append(args)
            self.nullable.append(nullable)
            self.unsure.append(unsure)
            parts = args if kind in _WHOLES else ()
            if kind == REPEAT:
                self.symbolic.append(is_symbol(args[1]) or is_symbol(args[2]))
                self.largest.append(max(args[1:]))
            else:
                self.symbolic.append(any(self.symbolic[part] for part in parts))
                self.largest.append(max((self.largest[part] for part in parts), default=0))
        return found

    # Constructors

    def byte_class(self, mask: int) -> int:
        """Return the expression for one byte of `mask` (a 256-bit int)."""
        mask &= self.alphabet
        return self._make(CLASS, (mask,), False, False) if mask else NOTHING

    def literal(self, data: bytes) -> int:
        """Return the expression for exactly `data`."""
        out = EPSILON
        for byte in reversed(data):
            out = self.concat(self.byte_class(1 << byte), out)
        return out

    def concat(self, first: int, second: int) -> int:
        """Return `first` followed by `second`, nested to the right."""
        if NOTHING in {first, second}:
            return NOTHING
        if first == EPSILON:
            return second
        if second == EPSILON:
            return first
        heads = []
        while self.kinds[first] == CONCAT:
            head, first = self.args[first]
            heads.append(head)
        out = self._concat2(first, second)
        for head in reversed(heads):
            out = self._concat2(head, out)
        return out

    def _concat2(self, head: int, tail: int) -> int:
        # x{a,b} x{c,d} is x{a+c,b+d} when the counts in between are all reachable; keeps counted runs in one node.
        if self.kinds[head] == REPEAT:
            body, low, high = self.args[head]
            if tail == body or (self.kinds[tail] == CONCAT and self.args[tail][0] == body):
                rest = EPSILON if tail == body else self.args[tail][1]
                high = UNBOUNDED if high == UNBOUNDED else high + 1
                return self.concat(self.repeat(body, low + 1, high), rest)
        nullable = self.nullable[head] and self.nullable[tail]
        return self._make(CONCAT, (head, tail), nullable, self.unsure[head] or self.unsure[tail])

    def repeat(self, body: int, low: int, high: int) -> int:
        """Return `low` to `high` copies of `body`; `high` is UNBOUNDED or at least `low`."""
        if high == 0 or body == EPSILON:
            return EPSILON
        if body == NOTHING:
            return EPSILON if low == 0 else NOTHING
        if low == high == 1:
            return body
        if self.nullable[body]:
            low = 0
            if self.kinds[body] == ALTERNATE:
                body = self.alternate(part for part in self.args[body] if part != EPSILON)
        if self.kinds[body] == REPEAT:
            inner, *counts = self.args[body]
            joined = product((counts[0], counts[1]), (low, high))
            if joined:
                return self.repeat(inner, *joined)
        if (low, high) == (0, 1):
            return self.alternate((EPSILON, body))
        return self._make(REPEAT, (body, low, high), low == 0 or self.nullable[body], self.unsure[body])

    def alternate(self, parts: Iterable[int]) -> int:
        """Return the union of the parts: flattened, sorted, byte classes and adjacent counts merged."""
        flat: set[int] = set()
        stack = list(parts)
        mask = 0
        while stack:
            part = stack.pop()
            kind = self.kinds[part]
            if kind == ALTERNATE:
                stack.extend(self.args[part])
            elif kind == CLASS:
                mask |= self.args[part][0]
            elif part != NOTHING:
                flat.add(part)
        if self.everything_known() and self.everything in flat:
            return self.everything
        if mask:
            flat.add(self.byte_class(mask))
        if len(flat) > 1:
            flat = united(self, flat)
        if EPSILON in flat and any(self.nullable[part] for part in flat if part != EPSILON):
            flat.discard(EPSILON)
        if len(flat) < 2:
            return flat.pop() if flat else NOTHING
        ordered = tuple(sorted(flat))
        nullable = any(self.nullable[part] for part in ordered)
        return self._make(ALTERNATE, ordered, nullable, any(self.unsure[part] for part in ordered))

    def everything_known(self) -> bool:
        """Return whether `everything` has been made (false only while the table is being set up)."""
        return hasattr(self, "everything")

    def parts(self, expression: int) -> tuple[int, int]:
        """Return the first part of a sequence and what follows it; of anything else, itself and the empty text."""
        if self.kinds[expression] == CONCAT:
            head, rest = self.args[expression]
            return head, rest
        return expression, EPSILON

    def bounds(self, expression: int) -> tuple[int, int, int] | None:
        """Return (body, least, most) of a repeat; None of anything else."""
        if self.kinds[expression] != REPEAT:
            return None
        body, low, high = self.args[expression]
        return body, low, high

    def intersect(self, parts: Iterable[int]) -> int:
        """Return the intersection of the parts."""
        flat: set[int] = set()
        stack = list(parts)
        while stack:
            part = stack.pop()
            if self.kinds[part] == INTERSECT:
                stack.extend(self.args[part])
            elif part != self.everything:
                flat.add(part)
        if NOTHING in flat:
            return NOTHING
        if EPSILON in flat:
            return EPSILON if all(self.nullable[part] for part in flat) else NOTHING
        if any(self.kinds[part] == COMPLEMENT and self.args[part][0] in flat for part in flat):
            return NOTHING
        masks = [part for part in flat if self.kinds[part] == CLASS]
        if len(masks) > 1:
            mask = ALL_BYTES
            for part in masks:
                mask &= self.args[part][0]
            flat.difference_update(masks)
            flat.add(self.byte_class(mask))
            if NOTHING in flat:
                return NOTHING
        if not flat:
            return self.everything
        if len(flat) == 1:
            return flat.pop()
        ordered = tuple(sorted(flat))
        return self._make(INTERSECT, ordered, all(self.nullable[part] for part in ordered), True)

    def complement(self, body: int) -> int:
        """Return every text over the alphabet that is not in `body`."""
        if self.kinds[body] == COMPLEMENT:
            return self.args[body][0]
        if body == NOTHING:
            return self.everything
        if body == self.everything:
            return NOTHING
        return self._make(COMPLEMENT, (body,), not self.nullable[body], True)

    def multiple(self, step: int, places: int) -> int:
        """Return the numerals that are a multiple of step / 10**places."""
        return self._multiple(multiples.start(step, places))

    def _multiple(self, state: multiples.State) -> int:
        return self._make(MULTIPLE, state, multiples.accepts(state), True)

    # Transitions

    def row(self, root: int) -> Row:
        """Return the transitions of an expression: ((byte set, next expression), ...), sets disjoint and not empty."""
        rows = self._rows
        stack = [root]
        while stack:
            top = stack[-1]
            if top in rows:
                stack.pop()
                continue
            check()
            missing = [part for part in self._needs(top) if part not in rows]
            if missing:
                stack.extend(missing)
            else:
                rows[top] = self._row(top)
                stack.pop()
        return rows[root]

    def _needs(self, expression: int) -> tuple[int, ...]:
        kind, args = self.kinds[expression], self.args[expression]
        if kind == CONCAT:
            return args if self.nullable[args[0]] else args[:1]
        if kind == REPEAT:
            return args[:1]
        return () if kind in _WITHOUT_PARTS else args

    def _row(self, expression: int) -> Row:
        kind, args = self.kinds[expression], self.args[expression]
        if kind == CLASS:
            return ((args[0], EPSILON),)
        if kind == CONCAT:
            head, tail = args
            first = [(mask, self.concat(target, tail)) for mask, target in self._rows[head]]
            return self._union([first, self._rows[tail]]) if self.nullable[head] else joined(first)
        if kind == REPEAT:
            body, low, high = args
            rest = self.repeat(body, max(low - 1, 0), UNBOUNDED if high == UNBOUNDED else high - 1)
            return joined((mask, self.concat(target, rest)) for mask, target in self._rows[body])
        if kind == ALTERNATE:
            return self._union([self._rows[part] for part in args])
        if kind == INTERSECT:
            return self._intersection([self._rows[part] for part in args])
        if kind == MULTIPLE:
            moves = ((mask & self.alphabet, state) for mask, state in multiples.moves(args))
            return joined((mask, self._multiple(state)) for mask, state in moves if mask)
        inner = self._rows[args[0]]
        rest = self.alphabet
        for mask, _ in inner:
            rest &= ~mask
        outer = [(mask, self.complement(target)) for mask, target in inner]
        return joined([*outer, (rest, self.everything)])

    def _union(self, rows: Iterable[Iterable[tuple[int, int]]]) -> Row:
        entries = [entry for row in rows for entry in row]
        if len(entries) > _MANY_PARTS:
            parts = split_by_byte(entries)
        else:
            parts = split(entries)
        return joined((mask, targets[0] if len(targets) == 1 else self.alternate(targets)) for mask, targets in parts)

    def _intersection(self, rows: list[Row]) -> Row:
        parts: list[tuple[int, tuple[int, ...]]] = [(mask, (target,)) for mask, target in rows[0]]
        for row in rows[1:]:
            parts = [
                (mask & other, (*targets, target)) for mask, targets in parts for other, target in row if mask & other
            ]
        return joined((mask, self.intersect(targets)) for mask, targets in parts)

    def least_length(self, root: int, base: int = 0) -> int:
        """Return the length of a shortest text; below intersections and complements only a lower bound.

        Args:
            base: what SYMBOL stands for in the bounds of `root`.
        """
        here: dict[int, int] = {}  # of what depends on `base`
        stack = [root]
        while stack:
            top = stack[-1]
            known = here if self.symbolic[top] else self._least
            if top in known:
                stack.pop()
                continue
            args = () if self.kinds[top] in (CLASS, COMPLEMENT, MULTIPLE) else self.args[top]
            parts = args[:1] if self.kinds[top] == REPEAT else args
            missing = [part for part in parts if part not in self._least and part not in here]
            if missing:
                stack.extend(missing)
                continue
            known[top] = self._least_length(top, [here.get(part, self._least.get(part, 0)) for part in parts], base)
            stack.pop()
        return here[root] if root in here else self._least[root]

    def _least_length(self, expression: int, parts: list[int], base: int) -> int:
        kind = self.kinds[expression]
        if self.nullable[expression]:
            return 0
        if kind == MULTIPLE:
            return multiples.least_length(self.args[expression])
        if kind == CONCAT:
            return sum(parts)
        if kind == REPEAT:
            low = self.args[expression][1]
            return parts[0] * (low - SYMBOL + base if is_symbol(low) else low)
        if kind == ALTERNATE:
            return min(parts)
        return max(parts, default=1)

    # Emptiness

    def is_live(self, root: int) -> bool:
        """Return whether any text matches; searches only intersections and complements.

        Raises:
            LimitExceededError: `max_emptiness_steps` states were searched without an answer.
        """
        if not self.unsure[root]:
            return root != NOTHING
        live = self.live
        stack = [root]
        while stack and root not in live:
            top = stack[-1]
            kind = self.kinds[top]
            if top in live:
                stack.pop()
            elif self.nullable[top] or not self.unsure[top]:
                live[top] = top != NOTHING
            elif kind == INTERSECT and self.symbolic[top]:
                from constrain.automata.shapes import settle

                settle(self, top)
            elif kind in (INTERSECT, COMPLEMENT, MULTIPLE):
                self._search(top)
            else:
                parts = self.args[top][:1] if kind == REPEAT else self.args[top]
                unknown = next((part for part in parts if part not in live), None)
                values = [live[part] for part in parts if part in live]
                if kind == ALTERNATE and any(values):
                    live[top] = True
                elif kind != ALTERNATE and not all(values):
                    live[top] = False
                elif unknown is None:
                    live[top] = kind != ALTERNATE
                else:
                    stack.append(unknown)
        return live[root]

    def _search(self, root: int) -> None:
        """Look for a text of an intersection or complement, nearest to an end first as far as a lower bound tells.

        What matches nothing even without counts is not looked into, so that counts do not multiply dead ends.
        """
        loose = self._uncounted(root)
        if loose != root and not self.is_live(loose):
            self.live[root] = False
            return
        parents = {root: root}
        heap = [(0, root)]
        while heap:
            check()
            _, state = heappop(heap)
            if self.nullable[state] or self.live.get(state) or not self.unsure[state]:
                self._mark_live(state, parents)
                return
            if len(parents) > self.limits.max_emptiness_steps:
                raise LimitExceededError(
                    "max_emptiness_steps", self.limits.max_emptiness_steps, "deciding whether an intersection is empty"
                )
            for _, target in self.row(state):
                if target not in parents and self.live.get(target, True):
                    if loose != root and self.unsure[target] and not self.is_live(self._uncounted(target)):
                        self.live[target] = False
                        continue
                    parents[target] = state
                    heappush(heap, (self.least_length(target), target))
        for state in parents:
            self.live[state] = False

    def _uncounted(self, root: int) -> int:
        """Return an expression that matches at least what `root` does, without large counts outside complements."""
        if self.symbolic[root]:
            return root
        known = self._loose
        stack = [root]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            kind, args = self.kinds[top], self.args[top]
            parts = args[:1] if kind == REPEAT else args if kind in _WHOLES else ()
            missing = [part for part in parts if part not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            made = [known[part] for part in parts]
            if kind == REPEAT:
                low, high = args[1:]
                few = high < _LARGE or high == UNBOUNDED
                known[top] = self.repeat(made[0], low, high) if few else self.repeat(made[0], min(low, 1), UNBOUNDED)
            elif kind == CONCAT:
                known[top] = self.concat(made[0], made[1])
            elif kind == ALTERNATE:
                known[top] = self.alternate(made)
            else:
                known[top] = self.intersect(made) if kind == INTERSECT else top
        return known[root]

    def _mark_live(self, state: int, parents: dict[int, int]) -> None:
        while True:
            self.live[state] = True
            if parents[state] == state:
                return
            state = parents[state]
