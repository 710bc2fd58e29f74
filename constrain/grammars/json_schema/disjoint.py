"""A cheap sufficient test that two expressions share no value: by type, by constants, by bounds, by a member."""

from __future__ import annotations

from constrain.grammars.json_schema.algebra import Algebra
from constrain.grammars.json_schema.patterns import has_text
from constrain.grammars.json_schema.shapes import Arr, Obj, Shape, Str, conjoin

_MAX_DEPTH = 4


def are_disjoint(algebra: Algebra, first: int, second: int, depth: int = 0) -> bool:
    """Return True only if no value is in both; False where that is not plain to see."""
    return all(_shapes_disjoint(algebra, a, b, depth) for a in algebra.unfold(first) for b in algebra.unfold(second))


def _shapes_disjoint(algebra: Algebra, a: Shape, b: Shape, depth: int) -> bool:
    if a.kind != b.kind:
        return True
    if isinstance(a, Obj) and isinstance(b, Obj):
        return depth < _MAX_DEPTH and _objects_disjoint(algebra, a, b, depth + 1)
    if isinstance(a, Arr) and isinstance(b, Arr):
        if depth >= _MAX_DEPTH:
            return False
        both = conjoin(a, b, algebra.meet)
        return both is None or (isinstance(both, Arr) and _arrays_disjoint(algebra, a, b, both.minimum, depth + 1))
    shared = algebra.filtered(conjoin(a, b, algebra.meet))
    return shared is None or (isinstance(shared, Str) and not has_text(shared, algebra.limits))


def _objects_disjoint(algebra: Algebra, a: Obj, b: Obj, depth: int) -> bool:
    """Return whether some member that one of them requires cannot be right for both."""
    mine = {prop.name: prop for prop in a.props}
    theirs = {prop.name: prop for prop in b.props}
    for name in dict.fromkeys((*mine, *theirs)):
        p, q = mine.get(name), theirs.get(name)
        if (p is not None and p.required) or (q is not None and q.required):
            one = a.extra if p is None else p.expression
            other = b.extra if q is None else q.expression
            if are_disjoint(algebra, one, other, depth):
                return True
    return False


def _arrays_disjoint(algebra: Algebra, a: Arr, b: Arr, minimum: int, depth: int) -> bool:
    for place in range(min(minimum, max(len(a.prefix), len(b.prefix)) + 1)):
        one = a.prefix[place] if place < len(a.prefix) else a.items
        other = b.prefix[place] if place < len(b.prefix) else b.items
        if are_disjoint(algebra, one, other, depth):
            return True
    return False
