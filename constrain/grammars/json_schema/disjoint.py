"""A cheap sufficient test that two expressions share no value: by type, by constants, by bounds, by a member."""

from __future__ import annotations

from constrain.grammars.json_schema.algebra import Algebra
from constrain.grammars.json_schema.array_shapes import conjoin_arrays, item_at
from constrain.grammars.json_schema.conjunctions import conjoin
from constrain.grammars.json_schema.object_shapes import expression_at
from constrain.grammars.json_schema.patterns import has_text
from constrain.grammars.json_schema.shapes import Arr, Num, Obj, Shape, Str

_MAX_DEPTH = 4


def told_apart(algebra: Algebra, parts: list[int]) -> bool:
    """Return True only if no two expressions share a value, seen at once: all are constants, or objects with a tag.

    A tag is a member that all require, with constant strings as values, none of them in two objects.
    """
    shapes = [shape for part in parts for shape in algebra.unfold(part)]
    constants = [_constants(shape) for shape in shapes]
    if all(found is not None for found in constants):
        return _all_new(constants)
    tags: list[dict[str, int]] = []
    for shape in shapes:
        if not isinstance(shape, Obj):
            return False
        tags.append({prop.name: prop.expression for prop in shape.props if prop.required})
    return any(
        all(name in tag for tag in tags) and _all_new([_tag(algebra, tag[name]) for tag in tags]) for name in tags[0]
    )


def _constants(shape: Shape) -> tuple[object, ...] | None:
    """Return the values of an enumeration, None for other shapes."""
    if isinstance(shape, Str) and shape.texts is not None and not shape.patterns:
        return shape.texts
    if isinstance(shape, Num) and shape.values is not None:
        return tuple(value for value, _ in shape.values)
    return None


def _tag(algebra: Algebra, expression: int) -> tuple[object, ...] | None:
    shapes = algebra.unfold(expression)
    return _constants(shapes[0]) if len(shapes) == 1 and isinstance(shapes[0], Str) else None


def _all_new(lists: list[tuple[object, ...] | None]) -> bool:
    """Return whether no value comes twice; False if a list is not known."""
    seen: set[object] = set()
    count = 0
    for values in lists:
        if values is None:
            return False
        seen.update(values)
        count += len(values)
    return len(seen) == count


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
        both = conjoin_arrays(a, b, algebra)
        return both is None or _arrays_disjoint(algebra, a, b, both.minimum, depth + 1)
    shared = conjoin(a, b, algebra)
    return shared is None or (isinstance(shared, Str) and not has_text(shared, algebra.limits))


def _objects_disjoint(algebra: Algebra, a: Obj, b: Obj, depth: int) -> bool:
    """Return whether some member that one of them requires cannot be right for both."""
    mine = {prop.name: prop for prop in a.props}
    theirs = {prop.name: prop for prop in b.props}
    for name in dict.fromkeys((*mine, *theirs)):
        p, q = mine.get(name), theirs.get(name)
        if (p is not None and p.required) or (q is not None and q.required):
            one = expression_at(a, name, algebra.limits) if p is None else p.expression
            other = expression_at(b, name, algebra.limits) if q is None else q.expression
            if are_disjoint(algebra, one, other, depth):
                return True
    return False


def _arrays_disjoint(algebra: Algebra, a: Arr, b: Arr, minimum: int, depth: int) -> bool:
    for place in range(min(minimum, max(len(a.prefix), len(b.prefix)) + 1)):
        if are_disjoint(algebra, item_at(a, place), item_at(b, place), depth):
            return True
    return False
