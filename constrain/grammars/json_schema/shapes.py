"""Shapes: what a schema says of the values of one type. A schema denotes a union of shapes.

Shapes are plain tuples, compared by content; the schemas of members and items are ids of expressions (`algebra`).
Each holds exactly the constraints that are closed under conjunction, so that `conjoin` is exact, and the complement of
one is a union of others (`complements`): a forbidden property is one whose expression is FALSE, a pattern has a sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple, Protocol, Union

from constrain.grammars.json_multiples import Multiples, fits, has_multiple
from constrain.grammars.json_numbers import UNBOUNDED, Bounds
from constrain.limits import Limits

_ONE = Decimal(1)
TRUE = 0  # the expression of every value
FALSE = 1  # the expression of none


class Merge(Protocol):
    """What conjunctions need of the algebra."""

    limits: Limits

    def meet(self, a: int, b: int) -> int:
        """Return the expression of the values in both."""

    def not_of(self, expression: int) -> int:
        """Return the expression of all values that are not in one."""


class Null(NamedTuple):
    """`null`."""

    kind: str = "null"


class Bool(NamedTuple):
    """`true` and/or `false`."""

    allowed: tuple[bool, ...] = (True, False)
    kind: str = "boolean"


class Num(NamedTuple):
    """Numbers inside bounds; integers only, or none (`fraction`); multiples of some numbers (True) and not of others.

    Only one of `values` (number and spellings).
    """

    bounds: Bounds = UNBOUNDED
    integer: bool = False
    fraction: bool = False
    multiples: Multiples = ()
    values: tuple[tuple[Decimal, tuple[str, ...]], ...] | None = None
    kind: str = "number"


class Format(NamedTuple):
    """A `format` that is asserted; stands where a pattern does."""

    name: str


# A shape of strings stands where a pattern does in its own complement, which would else be many shapes.
Pattern = Union[str, Format, "Str"]
Patterns = tuple[tuple[Pattern, bool], ...]  # each matches (True) or does not match


class Str(NamedTuple):
    """Strings of `minimum` to `maximum` code points that match (True) or do not match patterns.

    Only one of `texts`, and none of `excluded`.
    """

    minimum: int = 0
    maximum: int | None = None
    patterns: Patterns = ()
    texts: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    kind: str = "string"


class Contains(NamedTuple):
    """How many items, from place `start` on, an expression must hold for."""

    expression: int
    minimum: int = 1
    maximum: int | None = None
    start: int = 0


class Arr(NamedTuple):
    """Arrays: an expression for each of the first places, one for the rest; how many; whether all differ."""

    prefix: tuple[int, ...] = ()
    items: int = TRUE
    minimum: int = 0
    maximum: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: bool = False
    kind: str = "array"


class Prop(NamedTuple):
    """A declared member of an object."""

    name: str
    expression: int
    required: bool


class Group(NamedTuple):
    """Undeclared members whose keys match all patterns: the expression of their values."""

    patterns: Patterns
    expression: int


class Some(NamedTuple):
    """A demand: some member whose key matches all patterns and is none of `names` has a value in `expression`."""

    patterns: Patterns
    names: tuple[str, ...]
    expression: int


def others(expression: int) -> tuple[Group, ...]:
    """Return the groups of an object whose undeclared members all have values in one expression."""
    return (Group((), expression),)


class Obj(NamedTuple):
    """Objects: declared members in order; groups that part all other keys among them; demands; how many members.

    `implied` holds pairs of names: where the first is, the second must be.
    """

    props: tuple[Prop, ...] = ()
    groups: tuple[Group, ...] = others(TRUE)
    some: tuple[Some, ...] = ()
    minimum: int = 0
    maximum: int | None = None
    implied: tuple[tuple[str, str], ...] = ()
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
NO_OBJECTS = tuple(shape for shape in EVERYTHING if not isinstance(shape, Obj))
NO_ARRAYS = tuple(shape for shape in EVERYTHING if not isinstance(shape, Arr))


def is_scalar(shape: Shape) -> bool:
    """Return whether the values of a shape hold no other values."""
    return not isinstance(shape, (Arr, Obj))


def conjoin_scalars(a: Shape, b: Shape) -> Shape | None:
    """Return the shape of the values in two shapes of one kind, neither arrays nor objects; None if there are none."""
    if isinstance(a, Bool) and isinstance(b, Bool):
        return reduced(Bool(tuple(value for value in a.allowed if value in b.allowed)))
    if isinstance(a, Num) and isinstance(b, Num):
        values = _meet_values(a.values, b.values)
        multiples = dict(a.multiples)
        if any(multiples.setdefault(step, sign) != sign for step, sign in b.multiples):
            return None
        whole, broken = a.integer or b.integer, a.fraction or b.fraction
        return reduced(Num(a.bounds.meet(b.bounds), whole, broken, tuple(multiples.items()), values))
    if isinstance(a, Str) and isinstance(b, Str):
        texts = a.texts if b.texts is None else b.texts
        if a.texts is not None and b.texts is not None:
            kept = set(b.texts)
            texts = tuple(text for text in a.texts if text in kept)
        patterns = both(a.patterns, b.patterns)
        if patterns is None:
            return None
        excluded = tuple(dict.fromkeys(a.excluded + b.excluded))
        return reduced(Str(max(a.minimum, b.minimum), least(a.maximum, b.maximum), patterns, texts, excluded))
    return a


def both(first: Patterns, second: Patterns) -> Patterns | None:
    """Return all patterns of both; None if one is to match and not to match."""
    found = dict(first)
    for pattern, sign in second:
        if found.setdefault(pattern, sign) != sign:
            return None
    return tuple(found.items())


def unmatched(patterns: Patterns) -> Iterator[Patterns]:
    """Yield the parts of what does not match all patterns: all before one match, and that one does not."""
    for place, (pattern, sign) in enumerate(patterns):
        yield (*patterns[:place], (pattern, not sign))


def _meet_values(
    a: tuple[tuple[Decimal, tuple[str, ...]], ...] | None, b: tuple[tuple[Decimal, tuple[str, ...]], ...] | None
) -> tuple[tuple[Decimal, tuple[str, ...]], ...] | None:
    if a is None or b is None:
        return b if a is None else a
    kept = dict(b)
    return tuple((value, tuple(dict.fromkeys(texts + kept[value]))) for value, texts in a if value in kept)


def least(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two bounds, None being none."""
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


def reduced(shape: Shape) -> Shape | None:
    """Return a scalar shape without redundant parts, or None if it is plainly empty; patterns are not looked into."""
    if isinstance(shape, Bool):
        return shape if shape.allowed else None
    if isinstance(shape, Num):
        return _reduced_number(shape)
    if isinstance(shape, Str):
        low, high, excluded = shape.minimum, shape.maximum, shape.excluded
        if shape.texts is not None:
            bad = set(excluded)
            texts = tuple(text for text in shape.texts if _fits(len(text), low, high) and text not in bad)
            return Str(0, None, shape.patterns, texts) if texts else None
        if excluded:
            excluded = tuple(text for text in excluded if _fits(len(text), low, high))
        return None if high is not None and low > high else shape._replace(excluded=excluded)
    return shape


def _reduced_number(shape: Num) -> Num | None:
    bounds = shape.bounds
    if shape.integer and shape.fraction:
        return None
    asked = shape.multiples + ((_ONE, True),) * shape.integer + ((_ONE, False),) * shape.fraction
    if shape.values is None:
        if bounds.is_empty(integer=shape.integer) or (asked and not has_multiple(bounds, asked)):
            return None
        return shape
    values = tuple((value, texts) for value, texts in shape.values if bounds.holds(value) and fits(value, asked))
    return Num(UNBOUNDED, shape.integer, values=values) if values else None


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
