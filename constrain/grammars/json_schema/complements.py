"""The complement of a shape: the values of its type that are not in it, as a union of shapes.

Each part of a shape is one demand; a value outside the shape breaks at least one of them. The shapes that are returned
may overlap. The values of other types are added by the algebra.
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.errors import UnsupportedFeatureError
from constrain.grammars.formats.table import STATUS
from constrain.grammars.json_numbers import UNBOUNDED, Bounds
from constrain.grammars.json_schema.shapes import (
    FALSE,
    TRUE,
    Arr,
    Bool,
    Contains,
    Format,
    Group,
    Null,
    Num,
    Obj,
    Patterns,
    Prop,
    Shape,
    Some,
    Str,
    others,
    unmatched,
)

Negate = Callable[[int], int]


def complement(shape: Shape, negate: Negate) -> tuple[Shape, ...]:
    """Return shapes whose union is the values of the shape's type that are not in it.

    Args:
        shape: any shape.
        negate: gives the expression of the values that are not in an expression.
    """
    if isinstance(shape, Null):
        return ()
    if isinstance(shape, Bool):
        rest = tuple(value for value in (True, False) if value not in shape.allowed)
        return (Bool(rest),) if rest else ()
    if isinstance(shape, Num):
        return _number(shape)
    if isinstance(shape, Str):
        return _string(shape)
    if isinstance(shape, Arr):
        return _array(shape, negate)
    return _object(shape, negate)


def _number(shape: Num) -> tuple[Shape, ...]:
    if shape.values is not None:
        found: list[Shape] = []
        low = None
        for value in sorted(value for value, _ in shape.values):
            found.append(Num(Bounds(low, value, low is not None, True)))
            low = value
        return (*found, Num(Bounds(low, None, low is not None)))
    found = [Num(fraction=True)] if shape.integer else []
    found += [Num(integer=True)] if shape.fraction else []
    found += [Num(multiples=((step, not sign),)) for step, sign in shape.multiples]
    bounds = shape.bounds
    if bounds.low is not None:
        found.append(Num(Bounds(None, bounds.low, high_open=not bounds.low_open)))
    if bounds.high is not None:
        found.append(Num(Bounds(bounds.high, None, low_open=not bounds.high_open)))
    assert found or bounds == UNBOUNDED
    return tuple(found)


def _string(shape: Str) -> tuple[Shape, ...]:
    for pattern, sign in shape.patterns:
        if sign and isinstance(pattern, Format) and pattern.name in STATUS:
            reason = (
                f"{pattern.name!r} is known in part only ({STATUS[pattern.name][1]}), so what is not of it is not known"
            )
            remedy = "Leave the format out of not, if and oneOf, or pass formats='annotate'."
            raise UnsupportedFeatureError("format", "a negation", reason, remedy)
    demands = len(shape.patterns) + bool(shape.excluded) + (shape.minimum > 0) + (shape.maximum is not None)
    if shape.patterns and demands > 1:
        return (Str(patterns=((shape, False),)),)
    found: list[Shape] = [Str(patterns=((pattern, not sign),)) for pattern, sign in shape.patterns]
    if shape.texts is not None:
        found.append(Str(excluded=shape.texts))
    if shape.excluded:
        found.append(Str(texts=shape.excluded))
    if shape.minimum > 0:
        found.append(Str(0, shape.minimum - 1))
    if shape.maximum is not None:
        found.append(Str(shape.maximum + 1))
    return tuple(found)


def _array(shape: Arr, negate: Negate) -> tuple[Shape, ...]:
    if shape.unique:
        reason = "items that are not all different cannot be asked for"
        raise UnsupportedFeatureError("uniqueItems", "a negation", reason, "Leave it out of not, if and oneOf.")
    found: list[Shape] = []
    for place, part in enumerate(shape.prefix):
        if part != TRUE:
            found.append(Arr((TRUE,) * place + (negate(part),), TRUE, place + 1))
    if shape.items != TRUE:
        start = len(shape.prefix)
        if shape.items == FALSE:
            found.append(Arr(minimum=start + 1))
        else:
            found.append(Arr(contains=(Contains(negate(shape.items), 1, None, start),)))
    if shape.minimum > 0:
        found.append(Arr(maximum=shape.minimum - 1))
    if shape.maximum is not None:
        found.append(Arr(minimum=shape.maximum + 1))
    for one in shape.contains:
        if one.minimum > 0:
            found.append(Arr(contains=(Contains(one.expression, 0, one.minimum - 1, one.start),)))
        if one.maximum is not None:
            found.append(Arr(contains=(Contains(one.expression, one.maximum + 1, None, one.start),)))
    return tuple(found)


def _object(shape: Obj, negate: Negate) -> tuple[Shape, ...]:
    found: list[Shape] = []
    for prop in shape.props:
        if prop.required:
            found.append(Obj((Prop(prop.name, FALSE, required=False),)))
        if prop.expression != TRUE:
            found.append(Obj((Prop(prop.name, negate(prop.expression), required=True),)))
    names = tuple(prop.name for prop in shape.props)
    for group in shape.groups:
        if group.expression != TRUE:
            found.append(Obj(some=(Some(group.patterns, names, negate(group.expression)),)))
    for one in shape.some:
        free = tuple(Prop(name, TRUE, required=False) for name in one.names)
        found.append(Obj(free, cells(one.patterns, negate(one.expression))))
    for first, second in shape.implied:
        found.append(Obj((Prop(first, TRUE, required=True), Prop(second, FALSE, required=False))))
    if shape.minimum > 0:
        found.append(Obj(maximum=shape.minimum - 1))
    if shape.maximum is not None:
        found.append(Obj(minimum=shape.maximum + 1))
    return tuple(found)


def cells(patterns: Patterns, expression: int) -> tuple[Group, ...]:
    """Return the partition of keys into those that match all of `patterns`, with `expression`, and all others."""
    if not patterns:
        return others(expression)
    return (Group(patterns, expression), *(Group(part, TRUE) for part in unmatched(patterns)))
