"""Arrays whose items must all differ: strings by the set of keys of the rule, values that can be listed by marks.

An item is a string of any kind, or one of finitely many other values; all places hold the same. The rest is refused:
numbers without narrow bounds, arrays and objects, of which equal ones have many spellings, and places that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

from constrain.errors import UnsupportedFeatureError
from constrain.grammars.choice import one_of
from constrain.grammars.json_multiples import fits
from constrain.grammars.json_schema.layout import Layout
from constrain.grammars.json_schema.patterns import finite_texts
from constrain.grammars.json_schema.shapes import Arr, Bool, Null, Num, Shape, Str
from constrain.ir import MARK, UNMARKED, Key, Lexeme, Node, Op, Repeat, alt, seq
from constrain.limits import Limits

MOST_VALUES = 256  # strings or integers that are counted one by one
_SHORT = 64  # strings that may be shorter are worth counting
_Value = tuple[str, object]


class Terminals(Protocol):
    """What makes the nodes of strings (`nodes.Nodes`)."""

    def string(self, shape: Str) -> Lexeme:
        """Return the terminal of the strings of a shape."""


def settled_unique(shape: Arr, items: Sequence[Shape], where: str, limits: Limits) -> Arr | None:
    """Return the shape with no more items than there are different ones, or None if it needs more.

    Args:
        shape: arrays with unique items.
        items: the shapes of their items.
        where: the pointer of the keyword, for the error.
        limits: bounds on the search for how many strings there are.
    Raises:
        UnsupportedFeatureError: what was read cannot be remembered.
    """
    if any(part != shape.items for part in shape.prefix):
        raise _refused(where, "the places of the array hold different things")
    if shape.contains:
        raise _refused(where, "the array also has contains")
    found: dict[_Value, None] = {}
    is_finite = True
    for item in items:
        listed = values_of(item, limits)
        if listed is not None:
            found.update(dict.fromkeys(listed))
        elif isinstance(item, Str):
            is_finite = False
        else:
            kind = "numbers without narrow bounds" if isinstance(item, Num) else f"{item.kind}s"
            raise _refused(where, f"its items may be {kind}")
    shape = shape._replace(prefix=())
    if not is_finite:
        return shape
    maximum = len(found) if shape.maximum is None else min(shape.maximum, len(found))
    return None if shape.minimum > maximum else shape._replace(maximum=maximum)


def _refused(where: str, reason: str) -> UnsupportedFeatureError:
    remedy = "Remove it and check the answer, or use an object with one property for each item."
    return UnsupportedFeatureError("uniqueItems", where, f"{reason}, and which were there is not remembered", remedy)


def values_of(shape: Shape, limits: Limits) -> list[_Value] | None:
    """Return the values of a scalar shape with few values; None for all others."""
    if isinstance(shape, Null):
        return [("null", None)]
    if isinstance(shape, Bool):
        return [("boolean", value) for value in shape.allowed]
    if isinstance(shape, Num):
        return [("number", value) for value in _numbers(shape) or ()] or None
    if isinstance(shape, Str):
        texts = shape.texts
        if texts is None and shape.patterns and not shape.excluded and (shape.minimum, shape.maximum) == (0, None):
            texts = finite_texts(shape.patterns, MOST_VALUES, limits)
        elif texts is None and shape.maximum is not None and shape.maximum < _SHORT:
            texts = finite_texts(((shape, True),), MOST_VALUES, limits)
        return None if texts is None else [("string", text) for text in texts]
    return None


def _numbers(shape: Num) -> list[Decimal] | None:
    if shape.values is not None:
        return [value for value, _ in shape.values]
    low, high = shape.bounds.integers()
    if not shape.integer or low is None or high is None or high - low >= MOST_VALUES:
        return None
    return [value for value in map(Decimal, range(low, high + 1)) if fits(value, shape.multiples)]


def unique_array(terminals: Terminals, shape: Arr, items: Sequence[Shape], layout: Layout, limits: Limits) -> Node:
    """Return the node of the rule of an array whose items all differ."""
    ways: list[Node] = []
    marks: dict[_Value, tuple[str, ...]] = {}
    for item in items:
        if isinstance(item, Str):
            ways.append(Key(terminals.string(item).pattern))
            continue
        spelled = dict(item.values) if isinstance(item, Num) and item.values is not None else {}
        for kind, value in values_of(item, limits) or ():
            texts = spelled[value] if isinstance(value, Decimal) and spelled else (_plain(value),)
            marks[kind, value] = marks.get((kind, value), ()) + texts
    for mark, spellings in enumerate(marks.values()):
        node = Lexeme(one_of(dict.fromkeys(text.encode() for text in spellings)))
        ways.append(seq((Op(UNMARKED, value=mark), node, Op(MARK, value=mark))))
    if not ways or shape.maximum == 0:
        return layout.array(None, may_be_empty=True)
    item_node = alt(ways)
    high = None if shape.maximum is None else shape.maximum - 1
    more = Repeat(seq((layout.comma, item_node)), max(shape.minimum - 1, 0), high)
    body = item_node if high == 0 else seq((item_node, more))
    return layout.array(body, may_be_empty=shape.minimum == 0)


def _plain(value: object) -> str:
    if value is None:
        return "null"
    return f"{value:f}" if isinstance(value, Decimal) else str(value).lower()
