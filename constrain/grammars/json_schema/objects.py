"""Objects as rules: declared members in order or in any order, then others whose names are new.

`Key` and marks live in the registers of the rule, so an object that uses them is one rule with loops, no recursion.
"""

from __future__ import annotations

from typing import Protocol

from constrain.grammars.json_schema.layout import Layout
from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_schema.shapes import Obj
from constrain.grammars.json_text import STRING
from constrain.ir import ADD, AT_LEAST, INSERT, LESS, MARK, UNMARKED, Key, Node, Op, Repeat, alt, optional, seq

_NEW_KEY = Key(STRING)
_Member = tuple[Node, Node, bool]  # key, what follows it, is it required?
_SEEN, _REQUIRED = 0, 1  # counters with property_order="any": declared members seen, required ones among them


class Values(Protocol):
    """What makes the nodes of members (`nodes.Nodes`)."""

    options: Options

    def value(self, expression: int, depth: int = 0) -> Node | None:
        """Return the node of an expression's values, or None if it has none."""

    def literal(self, texts: tuple[str, ...]) -> Node:
        """Return the terminal of constant strings."""


def object_node(values: Values, shape: Obj, layout: Layout, depth: int) -> Node:
    """Return the node of an object's rule. Its size is linear in the number of declared members."""
    others: Node | None = None
    extra = values.value(shape.extra, depth)
    if extra is not None:
        others = seq((_NEW_KEY, layout.colon, extra))
    members: list[_Member] = []
    for prop in shape.props:
        node = values.value(prop.expression, depth)
        if node is not None:
            members.append((values.literal((prop.name,)), seq((layout.colon, node)), prop.required))
    ordered = values.options.property_order == "schema" or (len(members) < 2 and others is None)
    body = _in_order(members, others, layout) if ordered else _any_order(members, others, layout)
    node = layout.object(body, may_be_empty=not any(required for _, _, required in members))
    if others is None or not shape.props:
        return node
    names = tuple(sorted(prop.name.encode() for prop in shape.props))
    return seq((Op(INSERT, texts=names), node))


def _in_order(members: list[_Member], others: Node | None, layout: Layout) -> Node | None:
    """Return one or more members in the order they are declared, then others; None if there can be none.

    `first` is all non-empty choices among the members up to here; nesting to the left keeps the size linear.
    """
    first: Node | None = None
    tail: list[Node] = []
    open_start = True  # may all members so far be missing?
    for key, value, required in members:
        node = seq((key, value))
        with_comma = seq((layout.comma, node))
        if not open_start:
            tail.append(with_comma if required else optional(with_comma))
        elif first is None:
            first = node
        else:
            first = alt((seq((first, with_comma if required else optional(with_comma))), node))
        open_start = open_start and not required
    if others is not None:
        more = Repeat(seq((layout.comma, others)), 0, None)
        tail.append(more)
        if first is None:
            return seq((others, more))
        if open_start:
            return alt((seq((first, *tail)), seq((others, more))))
    return None if first is None else seq((first, *tail))


def _any_order(members: list[_Member], others: Node | None, layout: Layout) -> Node | None:
    """Return one or more members in any order, each declared one at most once, every required one there.

    Without others a comma is offered only while a declared member is left. A member is marked after its key, so that
    all keys that may come share one set of marks.
    """
    needed = sum(required for _, _, required in members)
    choices = []
    for mark, (key, value, required) in enumerate(members):
        operations = [Op(MARK, value=mark)]
        if others is None:
            operations.append(Op(ADD, slot=_SEEN, value=1))
        if required:
            operations.append(Op(ADD, slot=_REQUIRED, value=1))
        choices.append(seq((Op(UNMARKED, value=mark), key, *operations, value)))
    if others is not None:
        choices.append(others)
    if not choices:
        return None
    member = alt(choices)
    left = (Op(LESS, slot=_SEEN, value=len(members)),) if others is None else ()
    more = Repeat(seq((*left, layout.comma, member)), 0, None)
    complete = (Op(AT_LEAST, slot=_REQUIRED, value=needed),) if needed else ()
    return seq((member, more, *complete))
