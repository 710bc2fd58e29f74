"""Patterns as trees: IR nodes where nothing looks around, the classes below where something does.

`Ahead` and `Behind` are the only assertions; anchors and word boundaries are written with them. `regex_link` turns a
tree into one IR node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from constrain.grammars.char_classes import ALL, Ranges
from constrain.ir import EPSILON, NOTHING, Alt, CharClass, Literal, Node, Repeat, Seq


@dataclass(frozen=True, slots=True, eq=False)
class Cat:
    """The parts one after another."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or:
    """Any one of the parts."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rep:
    """`minimum` to `maximum` copies of a body that looks around."""

    body: Tree
    minimum: int
    maximum: int | None
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """No text; what follows starts with `body` (is `body`, with `to_end`), or does not if `negative`."""

    body: Tree
    negative: bool = False
    to_end: bool = False
    position: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Behind:
    """No text; the last character before is in `ranges`, or there is none and `start`."""

    ranges: Ranges
    start: bool = False


Tree = Node | Cat | Or | Rep | Ahead | Behind

# Longer ones stay nested: flattening them at every level would be quadratic in the depth of a pattern.
_SMALL = 16

ANY_CHAR = CharClass(ALL)
ANY_TEXT = Repeat(ANY_CHAR, 0, None)


def char_class(ranges: Ranges) -> Node:
    """Return one code point of the set: the empty language for none, a literal for one."""
    if not ranges:
        return NOTHING
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return Literal(chr(ranges[0][0]).encode())
    return CharClass(ranges)


def cat(parts: list[Tree]) -> Tree:
    """Return the sequence, with neighbouring literals joined; regular runs become one IR node."""
    out: list[Tree] = []
    run: list[Node] = []
    for part in parts:
        if isinstance(part, Node):
            run.append(part)
            continue
        if run:
            out.append(join(run))
            run = []
        out.append(part)
    if not out:
        return join(run)
    if run:
        out.append(join(run))
    return out[0] if len(out) == 1 else Cat(tuple(out))


def join(parts: Iterable[Node]) -> Node:
    """Return the sequence of IR nodes, flattened one level, literals joined, empty if a part is."""
    flat: list[Node] = []
    data = b""
    for part in parts:
        for one in part.parts if isinstance(part, Seq) and len(part.parts) <= _SMALL else (part,):
            if isinstance(one, Literal):
                data += one.data
                continue
            if one is NOTHING:
                return NOTHING
            if data:
                flat.append(Literal(data))
                data = b""
            flat.append(one)
    if data:
        flat.append(Literal(data))
    return flat[0] if len(flat) == 1 else Seq(tuple(flat)) if flat else EPSILON


def either(parts: list[Tree]) -> Tree:
    """Return the choice of trees."""
    if len(parts) == 1:
        return parts[0]
    nodes = [part for part in parts if isinstance(part, Node)]
    return union(nodes) if len(nodes) == len(parts) else Or(tuple(parts))


def union(parts: Iterable[Node]) -> Node:
    """Return the choice of IR nodes without those that are NOTHING and without repeated ones."""
    flat: dict[int, Node] = {}
    for part in parts:
        for one in part.parts if isinstance(part, Alt) and len(part.parts) <= _SMALL else (part,):
            if one is not NOTHING:
                flat[id(one)] = one
    if not flat:
        return NOTHING
    return next(iter(flat.values())) if len(flat) == 1 else Alt(tuple(flat.values()))


def repeated(body: Tree, minimum: int, maximum: int | None, position: int) -> Tree:
    """Return `minimum` to `maximum` copies of a tree."""
    if (minimum, maximum) == (1, 1):
        return body
    if maximum == 0:
        return EPSILON
    if isinstance(body, Node):
        return Repeat(body, minimum, maximum)
    return Rep(body, minimum, maximum, position)
