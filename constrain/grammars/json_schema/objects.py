"""Objects as rules: declared members in order or in any order, then others whose names are new.

`Key`, marks and counters live in the registers of the rule, so an object is one rule with loops, no recursion. What is
counted never strands a text: a member is offered only while there is room for all that must still come, and left out
only while enough others can still come.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from constrain.grammars.json_schema.layout import Layout
from constrain.grammars.json_schema.options import Options
from constrain.grammars.json_schema.patterns import patterned_string
from constrain.grammars.json_schema.shapes import Obj, Patterns, Str
from constrain.grammars.json_text import STRING
from constrain.ir import (
    ADD,
    AT_LEAST,
    INSERT,
    LESS,
    MARK,
    MARKED,
    NOTHING,
    UNMARKED,
    Key,
    Lexeme,
    Node,
    Op,
    Repeat,
    alt,
    optional,
    seq,
)

_NEW_KEY = Key(STRING)
_OPTIONAL, _REQUIRED = 0, 1  # counters: members that need not be there, and, in any order, those that must


class Values(Protocol):
    """What makes the nodes of members (`nodes.Nodes`)."""

    options: Options

    def value(self, expression: int, depth: int = 0) -> Node | None:
        """Return the node of an expression's values, or None if it has none."""

    def literal(self, texts: tuple[str, ...]) -> Node:
        """Return the terminal of constant strings."""


class _Member(NamedTuple):
    name: str
    key: Node
    value: Node  # with the colon
    required: bool
    mark: int


class _Parts(NamedTuple):
    """What a rule is made of.

    `others` are members with new keys, `demanded` those that meet a demand each, by its mark. `least` and `most` bound
    the members that are neither required nor demanded.
    """

    members: list[_Member]
    others: list[Node]
    demanded: list[tuple[int, Node]]
    least: int
    most: int | None
    implied: list[tuple[int, int]]


def object_node(values: Values, shape: Obj, layout: Layout, depth: int) -> Node:
    """Return the node of an object's rule. Its size is linear in the number of declared members."""
    parts = _parts(values, shape, layout, depth)
    if parts is None:
        return NOTHING
    ordered = values.options.property_order == "schema" or (len(parts.members) < 2 and not parts.others)
    body = _in_order(parts, layout) if ordered else _any_order(parts, layout)
    needed = parts.least > 0 or bool(parts.demanded) or any(member.required for member in parts.members)
    if body is None and needed:
        return NOTHING
    node = layout.object(body, may_be_empty=not needed)
    if not shape.props or not (parts.others or parts.demanded):
        return node
    names = tuple(sorted(prop.name.encode() for prop in shape.props))
    return seq((Op(INSERT, texts=names), node))


def _parts(values: Values, shape: Obj, layout: Layout, depth: int) -> _Parts | None:
    """Return the parts that have instances at this depth, or None if one that is needed has none."""
    found = {prop.name: values.value(prop.expression, depth) for prop in shape.props}
    changed = True
    while changed:  # who implies what cannot be there cannot be there either
        changed = False
        for first, second in shape.implied:
            if found[second] is None and found[first] is not None:
                found[first], changed = None, True
    members = []
    for mark, prop in enumerate(shape.props):
        node = found[prop.name]
        if node is not None:
            key = values.literal((prop.name,))
            members.append(_Member(prop.name, key, seq((layout.colon, node)), prop.required, mark))
        elif prop.required:
            return None
    others = []
    for group in shape.groups:
        node = values.value(group.expression, depth)
        if node is not None:
            others.append(seq((_key(group.patterns, values.options), layout.colon, node)))
    demanded = []
    for number, demand in enumerate(shape.some):
        node = values.value(demand.expression, depth)
        if node is None:
            return None
        node = seq((_key(demand.patterns, values.options), layout.colon, node))
        demanded.append((len(shape.props) + number, node))
    needed = sum(member.required for member in members) + len(demanded)
    marks = {member.name: member.mark for member in members}
    implied = [(marks[first], marks[second]) for first, second in shape.implied if first in marks]
    most = None if shape.maximum is None else shape.maximum - needed
    least = max(shape.minimum - needed, 0)
    free = sum(not member.required for member in members)
    room = most if others else free if most is None else min(free, most)
    if room is not None and room < least:
        return None
    return _Parts(members, others, demanded, least, most, implied)


def _key(patterns: Patterns, options: Options) -> Node:
    """Return the terminal of keys that are new and match all patterns."""
    if not patterns:
        return _NEW_KEY
    found = patterned_string(Str(patterns=patterns), options.limits, plainly=False)
    assert isinstance(found, Lexeme)
    return Key(found.pattern)


def _in_order(parts: _Parts, layout: Layout) -> Node | None:
    """Return one or more members in the order they are declared, then others; None if there can be none.

    `first` is all non-empty choices among the members up to here; nesting to the left keeps the size linear.
    """
    free = [member for member in parts.members if not member.required]
    left = len(free)  # optional members from here on
    counts = parts.least > 0 or parts.most is not None
    add = (Op(ADD, slot=_OPTIONAL, value=1),) if counts else ()
    room = () if parts.most is None else (Op(LESS, slot=_OPTIONAL, value=parts.most),)
    marked = {mark for pair in parts.implied for mark in pair}
    order = {member.mark: place for place, member in enumerate(parts.members)}
    first: Node | None = None
    tail: list[Node] = []
    open_start = True  # may all members so far be missing?
    for place, member in enumerate(parts.members):
        after = [Op(MARK, value=member.mark)] if member.mark in marked else []
        needs = [Op(MARKED, value=q) for p, q in parts.implied if p == member.mark and order[q] < place]
        enough = bool(parts.others) or left >= parts.least
        starts = open_start and not needs and enough and (member.required or parts.most != 0)
        here = seq((member.key, *after, *(() if member.required else add), member.value))
        skips: list[Node] = []
        if not member.required:
            left -= 1
            skips += [Op(UNMARKED, value=p) for p, q in parts.implied if q == member.mark and order[p] < place]
            if parts.least > left and not parts.others:
                skips.append(Op(AT_LEAST, slot=_OPTIONAL, value=parts.least - left))
        step = seq((*needs, *(() if member.required else room), layout.comma, here))
        if not member.required:
            step = alt((step, seq(skips))) if skips else optional(step)
        if first is None:
            first = here if starts else None
        elif starts:
            first, tail = alt((seq((first, *tail, step)), here)), []
        else:
            tail.append(step)
        open_start = open_start and not member.required
    return _with_others(parts, layout, None if first is None else seq((first, *tail)), open_start=open_start)


def _with_others(parts: _Parts, layout: Layout, first: Node | None, *, open_start: bool) -> Node | None:
    """Return the declared members and then others; `open_start`: all declared ones may be missing."""
    others = _others(parts)
    if not others:
        return first
    counts = [Op(AT_LEAST, slot=_OPTIONAL, value=parts.least)] if parts.least else []
    ends = seq((*counts, *(Op(MARKED, value=mark) for mark, _ in parts.demanded)))
    more = Repeat(alt([seq((*guard, layout.comma, node)) for guard, node in others]), 0, None)
    may_begin = open_start and (bool(parts.others) or not parts.least)
    begun = seq((alt([node for _, node in others]), more, ends)) if may_begin else None
    if first is None:
        return begun
    rest = seq((first, more, ends))
    return rest if begun is None else alt((rest, begun))


def _others(parts: _Parts) -> list[tuple[tuple[Op, ...], Node]]:
    """Return the members with new keys, each with what must hold before its comma."""
    found: list[tuple[tuple[Op, ...], Node]] = []
    if parts.others and parts.most != 0:
        node = alt(parts.others)
        if parts.most is not None:
            add = (Op(ADD, slot=_OPTIONAL, value=1),)
            found.append(((Op(LESS, slot=_OPTIONAL, value=parts.most),), seq((*add, node))))
        elif parts.least:
            # Counted no further than it matters.
            count = alt(
                (
                    seq((Op(LESS, slot=_OPTIONAL, value=parts.least), Op(ADD, slot=_OPTIONAL, value=1))),
                    Op(AT_LEAST, slot=_OPTIONAL, value=parts.least),
                )
            )
            found.append(((), seq((count, node))))
        else:
            found.append(((), node))
    for mark, node in parts.demanded:
        found.append(((Op(UNMARKED, value=mark),), seq((Op(MARK, value=mark), node))))
    return found


def _any_order(parts: _Parts, layout: Layout) -> Node | None:
    """Return one or more members in any order, each declared one at most once, every required one there.

    A comma is offered only while something can come after it. A member is marked after its key, so that all keys that
    may come share one set of marks.
    """
    needed = sum(member.required for member in parts.members)
    free = len(parts.members) - needed
    most = parts.most if parts.others else free if parts.most is None else min(free, parts.most)
    counts = most is not None or parts.least > 0
    required: list[Node] = []
    optionals: list[Node] = []
    for member in parts.members:
        slot = _REQUIRED if member.required else _OPTIONAL
        add = (Op(ADD, slot=slot, value=1),) if member.required or counts else ()
        node = seq((Op(UNMARKED, value=member.mark), member.key, Op(MARK, value=member.mark), *add, member.value))
        (required if member.required else optionals).append(node)
    ways: list[tuple[tuple[Op, ...], Node]] = []
    if required:
        ways.append(((Op(LESS, slot=_REQUIRED, value=needed),), alt(required)))
    if optionals and most != 0:
        ways.append((() if most is None else (Op(LESS, slot=_OPTIONAL, value=most),), alt(optionals)))
    ways += _others(parts)
    if not ways:
        return None
    more = Repeat(alt([seq((*guard, layout.comma, node)) for guard, node in ways]), 0, None)
    ends: list[Node] = [Op(AT_LEAST, slot=_REQUIRED, value=needed)] if needed else []
    if parts.least:
        ends.append(Op(AT_LEAST, slot=_OPTIONAL, value=parts.least))
    ends += [Op(MARKED, value=mark) for mark, _ in parts.demanded]
    ends += [alt((Op(UNMARKED, value=first), Op(MARKED, value=second))) for first, second in parts.implied]
    return seq((alt([node for _, node in ways]), more, *ends))
