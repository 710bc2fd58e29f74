"""Counted expressions that differ only in how far they have counted share one *shape*.

`x{0,1000}` and `x{0,999}` behave alike until the count is nearly used up. So their bounds are replaced by symbols for
one base, the largest of them: `x{0,n}`, n = 1000. A shape is an expression like any other, its row is made once, and
each transition says what becomes of the base. Several large bounds (a least and a greatest count, alternatives) keep
their distance to the base in their offsets. When the smallest of them gets below `far`, it is written out again.

Example: symbolised(x{5,1000}y, far=200) is (x{5,n}y, 1000). Its row leads to x{4,n-1}y, rebased to (x{4,n}y, -1).
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.automata.counts import SYMBOL, is_symbol
from constrain.automata.regex import ALTERNATE, CONCAT, EPSILON, REPEAT, RegexTable

_REACH = 32
"""How far inside an expression a large repeat is looked for, once one is found at its front."""


def symbolised(table: RegexTable, expression: int, far: int) -> tuple[int, int] | None:
    """Return the shape of an expression without symbols and its base; None if no bound at its front is large."""
    if table.symbolic[expression]:
        return None
    parts = table.args[expression] if table.kinds[expression] == ALTERNATE else (expression,)
    if not any(_large(table, _front(table, part), far) for part in parts):
        return None
    spots = [_find(table, part, far) for part in parts]
    bounds = [bound for spot in spots if spot for bound in table.args[spot[1]][1:] if bound >= far]
    base = max(bounds)

    def symbol(bound: int) -> int:
        return SYMBOL + bound - base if bound >= far else bound

    out = []
    for part, spot in zip(parts, spots, strict=True):
        if spot is None:
            out.append(part)
            continue
        before, repeat, after = spot
        body, low, high = table.args[repeat]
        made = table.concat(table.repeat(body, symbol(low), symbol(high)), after)
        for head in reversed(before):
            made = table.concat(head, made)
        out.append(made)
    made = table.alternate(out)
    if not table.symbolic[made]:
        return None
    shape, change = rebased(table, made)
    return shape, base + change


def rebased(table: RegexTable, expression: int) -> tuple[int, int]:
    """Return the shape of an expression with symbols, and what to add to the base."""
    highest = max(_symbols(table, expression)) - SYMBOL
    if highest == 0:
        return expression, 0
    return _with_bounds(table, expression, lambda bound: bound - highest), highest


def written_out(table: RegexTable, shape: int, base: int) -> int:
    """Return the expression that a shape stands for."""
    return _with_bounds(table, shape, lambda bound: bound - SYMBOL + base)


def lowest_offset(table: RegexTable, shape: int) -> int:
    """Return the least offset of the symbols of a shape (at most 0)."""
    return min(_symbols(table, shape)) - SYMBOL


def _front(table: RegexTable, expression: int) -> int:
    return table.args[expression][0] if table.kinds[expression] == CONCAT else expression


def _large(table: RegexTable, expression: int, far: int) -> bool:
    return table.kinds[expression] == REPEAT and max(table.args[expression][1:]) >= far


def _find(table: RegexTable, expression: int, far: int) -> tuple[list[int], int, int] | None:
    """Return the first large repeat of a sequence, with what comes before and after it."""
    before: list[int] = []
    rest = expression
    while len(before) < _REACH:
        head, tail = table.args[rest] if table.kinds[rest] == CONCAT else (rest, EPSILON)
        if _large(table, head, far):
            return before, head, tail
        if tail == EPSILON:
            return None
        before.append(head)
        rest = tail
    return None


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
    bounds = [table.args[node][1:] for node in _nodes(table, expression) if table.kinds[node] == REPEAT]
    return [bound for pair in bounds for bound in pair if is_symbol(bound)]


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
        else:
            made[node] = table.alternate(made.get(part, part) for part in args)
    return made[expression]
