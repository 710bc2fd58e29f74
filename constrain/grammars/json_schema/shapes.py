"""Shapes: what a schema says of the values of one type. A schema denotes a union of shapes.

Shapes are plain tuples, compared by content; the schemas of members and items are ids of expressions (`algebra`).
Each holds exactly the constraints that are closed under conjunction, so that `conjoin` is exact. Not(shape) can be
written with the same parts: a forbidden property is one whose expression is FALSE, a pattern carries its sign.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from constrain.grammars.json_numbers import UNBOUNDED, Bounds

TRUE = 0  # the expression of every value
FALSE = 1  # the expression of none
Meet = Callable[[int, int], int]


class Null(NamedTuple):
    """`null`."""

    kind: str = "null"


class Bool(NamedTuple):
    """`true` and/or `false`."""

    allowed: tuple[bool, ...] = (True, False)
    kind: str = "boolean"


class Num(NamedTuple):
    """Numbers inside bounds; integers only; one of `values` (number and spellings) only."""

    bounds: Bounds = UNBOUNDED
    integer: bool = False
    values: tuple[tuple[Decimal, tuple[str, ...]], ...] | None = None
    kind: str = "number"


class Format(NamedTuple):
    """A `format` that is asserted; stands where a pattern does."""

    name: str


Pattern = str | Format


class Str(NamedTuple):
    """Strings of `minimum` to `maximum` code points that match (True) or do not match patterns; one of `texts` only."""

    minimum: int = 0
    maximum: int | None = None
    patterns: tuple[tuple[Pattern, bool], ...] = ()
    texts: tuple[str, ...] | None = None
    kind: str = "string"


class Arr(NamedTuple):
    """Arrays: an expression for each of the first places, one for the rest, and how many there may be."""

    prefix: tuple[int, ...] = ()
    items: int = TRUE
    minimum: int = 0
    maximum: int | None = None
    kind: str = "array"


class Prop(NamedTuple):
    """A declared member of an object."""

    name: str
    expression: int
    required: bool


class Obj(NamedTuple):
    """Objects: declared members in order, and an expression for all others."""

    props: tuple[Prop, ...] = ()
    extra: int = TRUE
    kind: str = "object"


Shape = Null | Bool | Num | Str | Arr | Obj
FREE: dict[str, Shape] = {
    "null": Null(),
    "boolean": Bool(),
    "number": Num(),
    "string": Str(),
    "array": Arr(),
    "object": Obj(),
}
EVERYTHING: tuple[Shape, ...] = tuple(FREE.values())


def conjoin(a: Shape, b: Shape, meet: Meet) -> Shape | None:
    """Return the shape of the values in both, or None if there are plainly none.

    Args:
        a, b: two shapes.
        meet: gives the expression of the values in two expressions.
    """
    if a.kind != b.kind:
        return None
    if a == b or b == FREE[b.kind]:
        return a
    if a == FREE[a.kind]:
        return b
    if isinstance(a, Bool) and isinstance(b, Bool):
        return reduced(Bool(tuple(value for value in a.allowed if value in b.allowed)))
    if isinstance(a, Num) and isinstance(b, Num):
        return reduced(Num(a.bounds.meet(b.bounds), a.integer or b.integer, _meet_values(a.values, b.values)))
    if isinstance(a, Str) and isinstance(b, Str):
        texts = a.texts if b.texts is None else b.texts
        if a.texts is not None and b.texts is not None:
            kept = set(b.texts)
            texts = tuple(text for text in a.texts if text in kept)
        patterns = tuple(dict.fromkeys(a.patterns + b.patterns))
        return reduced(Str(max(a.minimum, b.minimum), least(a.maximum, b.maximum), patterns, texts))
    if isinstance(a, Arr) and isinstance(b, Arr):
        return _conjoin_arrays(a, b, meet)
    assert isinstance(a, Obj)
    assert isinstance(b, Obj)
    return _conjoin_objects(a, b, meet)


def _meet_values(
    a: tuple[tuple[Decimal, tuple[str, ...]], ...] | None, b: tuple[tuple[Decimal, tuple[str, ...]], ...] | None
) -> tuple[tuple[Decimal, tuple[str, ...]], ...] | None:
    if a is None or b is None:
        return b if a is None else a
    kept = dict(b)
    return tuple((value, tuple(dict.fromkeys(texts + kept[value]))) for value, texts in a if value in kept)


def _conjoin_arrays(a: Arr, b: Arr, meet: Meet) -> Shape | None:
    length = max(len(a.prefix), len(b.prefix))
    places = [
        meet(
            a.prefix[place] if place < len(a.prefix) else a.items,
            b.prefix[place] if place < len(b.prefix) else b.items,
        )
        for place in range(length)
    ]
    maximum = least(a.maximum, b.maximum)
    return reduced(Arr(tuple(places), meet(a.items, b.items), max(a.minimum, b.minimum), maximum))


def _conjoin_objects(a: Obj, b: Obj, meet: Meet) -> Shape:
    others = {prop.name: prop for prop in b.props}
    props = []
    for prop in a.props:
        other = others.pop(prop.name, None)
        if other is None:
            props.append(Prop(prop.name, meet(prop.expression, b.extra), prop.required))
        else:
            props.append(Prop(prop.name, meet(prop.expression, other.expression), prop.required or other.required))
    props.extend(Prop(prop.name, meet(a.extra, prop.expression), prop.required) for prop in others.values())
    return Obj(tuple(props), meet(a.extra, b.extra))


def least(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two bounds, None being none."""
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


def reduced(shape: Shape) -> Shape | None:
    """Return the shape with redundant parts removed, or None if it is plainly empty; patterns are not looked into."""
    if isinstance(shape, Bool):
        return shape if shape.allowed else None
    if isinstance(shape, Num):
        return _reduced_number(shape)
    if isinstance(shape, Str):
        if shape.texts is not None:
            texts = tuple(text for text in shape.texts if _fits(len(text), shape.minimum, shape.maximum))
            return Str(0, None, shape.patterns, texts) if texts else None
        return None if shape.maximum is not None and shape.minimum > shape.maximum else shape
    if isinstance(shape, Arr):
        prefix, maximum = shape.prefix, shape.maximum
        if maximum is not None:
            prefix = prefix[:maximum]
        if shape.items == FALSE:
            maximum = least(maximum, len(prefix))
        if maximum is not None and shape.minimum > maximum:
            return None
        return Arr(prefix, shape.items, shape.minimum, maximum)
    return shape


def _reduced_number(shape: Num) -> Num | None:
    if shape.values is None:
        return None if shape.bounds.is_empty(integer=shape.integer) else shape
    values = tuple(
        (value, texts)
        for value, texts in shape.values
        if shape.bounds.holds(value) and (not shape.integer or value == value.to_integral_value())
    )
    return Num(UNBOUNDED, shape.integer, values) if values else None


def _fits(length: int, minimum: int, maximum: int | None) -> bool:
    return minimum <= length and (maximum is None or length <= maximum)


def united(shapes: list[Shape]) -> tuple[Shape, ...]:
    """Return the union without repeats and without what a free shape of its type covers; enumerations are joined."""
    if len(shapes) < 2:
        return tuple(shapes)
    found = dict.fromkeys(shapes)
    free = {shape.kind for shape in found if shape == FREE[shape.kind]}
    out: list[Shape] = []
    texts: dict[str, None] = {}
    values: dict[Decimal, tuple[str, ...]] = {}
    bools: dict[bool, None] = {}
    for shape in found:
        if shape.kind in free and shape != FREE[shape.kind]:
            continue
        if isinstance(shape, Str) and shape.texts is not None and not shape.patterns:
            texts.update(dict.fromkeys(shape.texts))
        elif isinstance(shape, Num) and shape.values is not None and not shape.integer:
            for value, spellings in shape.values:
                values[value] = tuple(dict.fromkeys(values.get(value, ()) + spellings))
        elif isinstance(shape, Bool) and shape != FREE["boolean"]:
            bools.update(dict.fromkeys(shape.allowed))
        else:
            out.append(shape)
    if bools:
        out.append(Bool(tuple(value for value in (True, False) if value in bools)))
    if texts:
        out.append(Str(texts=tuple(texts)))
    if values:
        out.append(Num(values=tuple(values.items())))
    return tuple(out)
