"""Counted expressions that differ only in how far they have counted share one *shape*.

`x{0,1000}` and `x{0,999}` behave alike until the count is nearly used up. So their bounds are replaced by symbols for
one base, the largest of them: `x{0,n}`, n = 1000. A shape is an expression like any other, its row is made once, and
each transition says what becomes of the base. Several large bounds (a least and a greatest count, alternatives) keep
their distance to the base in their offsets. When the smallest of them gets below `far`, it is written out again.

Whether an intersection can match at all may depend on a count. The shapes that one leads to are looked at once, all of
them: those that can reach an end using up little of the count can for every larger one too (`_margin`).

Example: symbolised(x{5,1000}y, far=200) is (x{5,n}y, 1000). Its row leads to x{4,n-1}y, rebased to (x{4,n}y, -1).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from constrain.automata.counts import SYMBOL, is_symbol
from constrain.automata.regex import ALTERNATE, CONCAT, INTERSECT, REPEAT, RegexTable

_FRONT = 4
_REACH = 32
"""How deep inside an expression a large repeat is looked for, once one is found at its very front."""
_MAX_SHAPES = 1000
"""Shapes that an intersection may lead to; else its counts are written out."""


def symbolised(table: RegexTable, expression: int, far: int) -> tuple[int, int] | None:
    """Return the shape of an expression without symbols and its base; None if no bound at its front is large."""
    if table.symbolic[expression] or not _is_counting(table, expression, far, _FRONT):
        return None
    made = _replaced(table, expression, far, _REACH)
    if not table.symbolic[made]:
        return None
    # The bounds are offsets now, the base is 0; the greatest of them becomes the base.
    shape, base = rebased(table, made)
    floor = floor_of(table, shape, far)
    return None if floor is None or base < floor else (shape, base)


def rebased(table: RegexTable, expression: int) -> tuple[int, int]:
    """Return the shape of an expression with symbols, and what to add to the base."""
    highest = max(_symbols(table, expression)) - SYMBOL
    if highest == 0:
        return expression, 0
    return _with_bounds(table, expression, lambda bound: bound - highest), highest


def written_out(table: RegexTable, shape: int, base: int) -> int:
    """Return the expression that a shape stands for."""
    return _with_bounds(table, shape, lambda bound: bound - SYMBOL + base)


def floor_of(table: RegexTable, shape: int, far: int) -> int | None:
    """Return the least base with which a shape may be used; None if none will do."""
    margin = _margin(table, shape)
    return None if margin is None else far + margin + _spread(table, shape)


def _spread(table: RegexTable, shape: int) -> int:
    """Return how far the least symbol of a shape lies below its base."""
    return SYMBOL - min(_symbols(table, shape))


def _large(table: RegexTable, expression: int, far: int) -> bool:
    return table.kinds[expression] == REPEAT and max(table.args[expression][1:]) >= far


def _is_counting(table: RegexTable, expression: int, far: int, depth: int) -> bool:
    """Return whether a large repeat stands at the very front."""
    if table.largest[expression] < far:
        return False
    kind, args = table.kinds[expression], table.args[expression]
    if kind in (ALTERNATE, INTERSECT) and depth:
        return any(_is_counting(table, part, far, depth - 1) for part in args)
    return _is_counting(table, args[0], far, depth - 1) if kind == CONCAT and depth else _large(table, expression, far)


def _replaced(
    table: RegexTable, expression: int, far: int, depth: int, known: dict[tuple[int, int], int] | None = None
) -> int:
    """Return the expression with symbols for the large bounds of the repeats that come first on some way in."""
    kind, args = table.kinds[expression], table.args[expression]
    if _large(table, expression, far):
        low, high = (SYMBOL + bound if bound >= far else bound for bound in args[1:])
        return table.repeat(args[0], low, high)
    if not depth or kind not in (CONCAT, ALTERNATE, INTERSECT) or table.largest[expression] < far:
        return expression
    known = {} if known is None else known  # parts are shared: ways to them are many more than they are
    found = known.get((expression, depth))
    if found is not None:
        return found
    if kind == CONCAT:
        head = _replaced(table, args[0], far, depth - 1, known)
        tail = args[1] if head != args[0] else _replaced(table, args[1], far, depth - 1, known)
        made = table.concat(head, tail)
    else:
        parts = [_replaced(table, part, far, depth - 1, known) for part in args]
        made = table.alternate(parts) if kind == ALTERNATE else table.intersect(parts)
    known[expression, depth] = made
    return made


def _margin(table: RegexTable, shape: int) -> int | None:
    """Return by how much more than usual the counts of a shape must exceed `far`; None if no margin will do.

    Only intersections want one: they are empty or not whatever the count, as long as it is larger than the margin.
    """
    intersections = [node for node in _nodes(table, shape) if table.kinds[node] == INTERSECT]
    margin = 0
    for node in intersections:
        own, _ = rebased(table, node)
        if own not in table.margins:
            _analyse(table, own)
        found = table.margins[own]
        if found is None:
            return None
        margin = max(margin, found)
    return margin


def _analyse(table: RegexTable, root: int) -> None:
    """Decide which shapes that an intersection leads to can still match, and what margin that takes.

    Least counts must be small: then a count only ever forbids to go on, and a way to the end that uses up little of
    it serves for all larger counts. There is none if the whole graph of shapes, without counts, has none.
    """
    found = [root]
    edges: list[tuple[int, int, int]] = []  # source, target, how much is used up
    seen = {root}
    ends = set()
    for shape in found:
        if len(found) > _MAX_SHAPES:
            for other in found:  # each would be found out at the same cost
                table.margins.setdefault(other, None)
            return
        if any(is_symbol(table.args[node][1]) for node in _repeats(table, shape)):
            table.margins[root] = None
            return
        if table.nullable[shape]:
            ends.add(shape)
        for _, target in table.row(shape):
            if not table.symbolic[target] or not table.unsure[target]:
                if table.symbolic[target] or table.is_live(target):
                    ends.add(shape)
                continue
            after, change = rebased(table, target)
            if change > 0:
                table.margins[root] = None
                return
            edges.append((shape, after, -change))
            if after not in seen:
                seen.add(after)
                found.append(after)
    _settle(table, found, edges, ends)


def _settle(table: RegexTable, found: list[int], edges: list[tuple[int, int, int]], ends: set[int]) -> None:
    into: dict[int, list[tuple[int, int]]] = {}
    for source, after, used in edges:
        into.setdefault(after, []).append((source, used))
    spread = {shape: _spread(table, shape) for shape in found}
    needed: dict[int, int] = {}  # of the base
    heap = [(1 + spread[shape], shape) for shape in ends]
    heapq.heapify(heap)
    while heap:
        base, shape = heapq.heappop(heap)
        if shape not in needed:
            needed[shape] = base
            for source, used in into.get(shape, ()):
                heapq.heappush(heap, (max(base + used, 1 + spread[source]), source))
    margin = max((base - spread[shape] for shape, base in needed.items()), default=0)
    margin = max([margin, *(table.margins.get(shape) or 0 for shape in found)])
    for shape in found:
        if table.margins.get(shape) is None:
            table.margins[shape] = margin
        table.live[shape] = shape in needed


def settle(table: RegexTable, expression: int) -> None:
    """Note in `table.live` whether any text matches an intersection with symbols, as `_margin` has found out."""
    shape, _ = rebased(table, expression)
    table.live[expression] = table.live[shape]


def _repeats(table: RegexTable, shape: int) -> list[int]:
    return [node for node in _nodes(table, shape) if table.kinds[node] == REPEAT]


def _nodes(table: RegexTable, expression: int) -> list[int]:
    """Return the nodes of an expression that depend on symbols, parts before wholes."""
    seen = {expression}
    found = [expression]
    for node in found:
        if table.kinds[node] != REPEAT:
            for part in table.args[node]:
                if table.symbolic[part] and part not in seen:
                    seen.add(part)
                    found.append(part)
    # A part may be reached before another whole that holds it, so sort by number: parts are made before wholes.
    return sorted(found)


def _symbols(table: RegexTable, expression: int) -> list[int]:
    return [bound for node in _repeats(table, expression) for bound in table.args[node][1:] if is_symbol(bound)]


def _with_bounds(table: RegexTable, expression: int, change: Callable[[int], int]) -> int:
    """Return the expression with every symbol replaced by `change` of it."""
    made: dict[int, int] = {}
    for node in _nodes(table, expression):
        kind, args = table.kinds[node], table.args[node]
        if kind == REPEAT:
            low, high = (change(bound) if is_symbol(bound) else bound for bound in args[1:])
            made[node] = table.repeat(args[0], low, high)
        elif kind == CONCAT:
            made[node] = table.concat(made.get(args[0], args[0]), made.get(args[1], args[1]))
        elif kind == INTERSECT:
            made[node] = table.intersect(made.get(part, part) for part in args)
        else:
            made[node] = table.alternate(made.get(part, part) for part in args)
    return made[expression]
