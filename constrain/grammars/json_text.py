r"""JSON strings and whitespace as regular nodes over bytes, after RFC 8259 section 7.

`json_chars` turns a language of decoded texts into the language of all their spellings between the quotes. Nodes that
every schema needs are made once per process, so that the engine finds them by identity.
"""

from __future__ import annotations

import json
import os.path
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

from constrain.grammars.char_classes import ALL, Ranges, intersect, subtract
from constrain.grammars.regex_tree import ANY_TEXT, join
from constrain.ir import (
    EPSILON,
    NOTHING,
    Alt,
    And,
    ByteClass,
    CharClass,
    Lexeme,
    Literal,
    Node,
    Not,
    OneOf,
    Repeat,
    Seq,
    walk,
)

BLANKS = ByteClass(sum(1 << byte for byte in b" \t\n\r"))
_QUOTE = Literal(b'"')
_SHORT = {
    0x22: b'\\"',
    0x5C: b"\\\\",
    0x2F: b"\\/",
    0x08: b"\\b",
    0x0C: b"\\f",
    0x0A: b"\\n",
    0x0D: b"\\r",
    0x09: b"\\t",
}
_RAW: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF))
_U = Literal(b"\\u")


@lru_cache(maxsize=4096)
def encoded_class(ranges: Ranges) -> Node:
    """Return every spelling of one character of the set inside a JSON string; unambiguous, so that counts are exact."""
    parts: list[Node] = []
    raw = intersect(ranges, _RAW)
    if raw:
        parts.append(CharClass(raw))
    short = tuple(text for code, text in _SHORT.items() if any(low <= code <= high for low, high in ranges))
    if short:
        parts.append(OneOf(short))
    basic = intersect(ranges, ((0, 0xFFFF),))
    if basic:
        parts.append(Seq((_U, _hex_set(basic, 4))))
    parts.extend(_surrogate_pairs(subtract(ranges, ((0, 0xFFFF),))))
    return parts[0] if len(parts) == 1 else Alt(tuple(parts)) if parts else NOTHING


@lru_cache(maxsize=4096)
def _hex_set(ranges: Ranges, digits: int) -> Node:
    """Return the numbers of `ranges` as exactly `digits` hexadecimal digits of either case."""
    below = 16 ** (digits - 1)
    groups: dict[Ranges, list[int]] = {}
    for digit in range(16):
        low, high = digit * below, (digit + 1) * below - 1
        part = tuple((max(a, low) - low, min(b, high) - low) for a, b in ranges if a <= high and b >= low)
        if part:
            groups.setdefault(part, []).append(digit)
    parts = []
    for part, firsts in groups.items():
        mask = 0
        for digit in firsts:
            mask |= 1 << ord(f"{digit:x}") | 1 << ord(f"{digit:X}")
        head = ByteClass(mask)
        parts.append(head if digits == 1 else Seq((head, _hex_set(part, digits - 1))))
    return parts[0] if len(parts) == 1 else Alt(tuple(parts))


def _surrogate_pairs(ranges: Ranges) -> list[Node]:
    r"""Return the `\uD83D\uDE00` spellings of code points above U+FFFF, grouped by their second half."""
    lows: dict[int, list[tuple[int, int]]] = {}
    blocks: dict[Ranges, list[tuple[int, int]]] = {}
    whole = ((0xDC00, 0xDFFF),)
    for low, high in ranges:
        first, last = (low - 0x10000) >> 10, (high - 0x10000) >> 10
        for block in {first, last}:
            start = max(low - 0x10000, block << 10) & 0x3FF
            stop = min(high - 0x10000, (block << 10) | 0x3FF) & 0x3FF
            lows.setdefault(block, []).append((0xDC00 + start, 0xDC00 + stop))
        if last - first > 1:
            blocks.setdefault(whole, []).append((0xD800 + first + 1, 0xD800 + last - 1))
    for block, found in sorted(lows.items()):
        blocks.setdefault(tuple(sorted(found)), []).append((0xD800 + block, 0xD800 + block))
    return [Seq((_U, _hex_set(tuple(sorted(heads)), 4), _U, _hex_set(tails, 4))) for tails, heads in blocks.items()]


CHAR = encoded_class(ALL)
CHARS = Repeat(CHAR, 0, None)
STRING = Seq((_QUOTE, CHARS, _QUOTE))
STRING_TERMINAL = Lexeme(STRING)


def plain(text: str) -> bytes:
    """Return the plain spelling of a string literal: `json.dumps` without ASCII escapes."""
    return json.dumps(text, ensure_ascii=False).encode()


@lru_cache(maxsize=4096)
def plain_class(ranges: Ranges) -> Node:
    """Return one character of the set as `json.dumps(ensure_ascii=False)` spells it."""
    raw = intersect(ranges, _RAW)
    parts: list[Node] = [CharClass(raw)] if raw else []
    rest = [code for low, high in subtract(ranges, _RAW) for code in range(low, high + 1)]
    if rest:
        parts.append(OneOf(tuple(plain(chr(code))[1:-1] for code in rest)))
    return parts[0] if len(parts) == 1 else Alt(tuple(parts)) if parts else NOTHING


_PLAIN_CHARS = Repeat(plain_class(ALL), 0, None)


def json_chars(root: Node, *, plainly: bool = False) -> Node:
    """Return every spelling, inside a JSON string, of the texts of a regular node over `CharClass` and `Literal`.

    Counts keep counting code points. A complement stays within what a string may hold.

    Args:
        root: the decoded texts.
        plainly: only the spelling that `json.dumps(ensure_ascii=False)` writes: several times fewer states.
    """
    everything = _PLAIN_CHARS if plainly else CHARS
    done: dict[int, Node] = {id(ANY_TEXT): everything}
    for node in walk(root):
        if id(node) not in done:
            done[id(node)] = _encode(node, done, everything)
    return done[id(root)]


def _encode(node: Node, done: dict[int, Node], everything: Node) -> Node:
    if isinstance(node, CharClass):
        return encoded_class(node.ranges) if everything is CHARS else plain_class(node.ranges)
    if isinstance(node, (Literal, OneOf)):
        texts = [data.decode() for data in ((node.data,) if isinstance(node, Literal) else node.texts)]
        words = [any_spelling(text) if everything is CHARS else Literal(plain(text)[1:-1]) for text in texts]
        return words[0] if len(words) == 1 else Alt(tuple(words))
    if isinstance(node, Seq):
        return Seq(tuple(done[id(part)] for part in node.parts))
    if isinstance(node, Alt):
        return Alt(tuple(done[id(part)] for part in node.parts))
    if isinstance(node, And):
        return And(tuple(done[id(part)] for part in node.parts))
    if isinstance(node, Repeat):
        body = done[id(node.body)]
        free = body is CHAR and (node.minimum, node.maximum) == (0, None)
        return CHARS if free else Repeat(body, node.minimum, node.maximum)
    if isinstance(node, Not):
        return And((everything, Not(done[id(node.body)])))
    assert node is NOTHING, node
    return NOTHING


def any_spelling(text: str) -> Node:
    """Return every spelling of one text inside a JSON string."""
    return join([encoded_class(((ord(char), ord(char)),)) for char in text])


def any_spelling_of(texts: Iterable[str]) -> Node:
    """Return every spelling of any of some texts: a trie, so that equal beginnings are there once."""
    ordered = sorted(set(texts))
    # (from, to, depth): the texts of a range share their first `depth` characters.
    made: dict[tuple[int, int, int], Node] = {}
    stack = [(0, len(ordered), 0)]
    while stack:
        start, stop, depth = key = stack[-1]
        first, last = ordered[start], ordered[stop - 1]
        shared = len(os.path.commonprefix((first, last)))  # noqa: RUF071  of bytes, not of paths
        groups = _groups(ordered, start + (len(first) == shared), stop, shared)
        missing = [group for group in groups if group not in made]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        ways = [made.pop(group) for group in groups]
        if len(first) == shared:
            ways.append(EPSILON)
        tail = ways[0] if len(ways) == 1 else Alt(tuple(ways))
        made[key] = join((any_spelling(first[depth:shared]), tail))
    return made[0, len(ordered), 0]


def _groups(ordered: list[str], start: int, stop: int, depth: int) -> list[tuple[int, int, int]]:
    """Return the ranges of sorted texts that have the same character at `depth`."""
    found = []
    while start < stop:
        end = bisect_right(ordered, ordered[start][: depth + 1] + chr(0x10FFFF), start, stop)
        while end < stop and ordered[end][depth] == ordered[start][depth]:
            end += 1
        found.append((start, end, depth))
        start = end
    return found


@lru_cache(maxsize=4096)
def chars_between(minimum: int, maximum: int | None) -> Node:
    """Return `minimum` to `maximum` characters of a string, in any spelling."""
    return CHARS if (minimum, maximum) == (0, None) else Repeat(CHAR, minimum, maximum)


@lru_cache(maxsize=4096)
def string_between(minimum: int, maximum: int | None) -> Lexeme:
    """Return the terminal of string literals of `minimum` to `maximum` characters."""
    if (minimum, maximum) == (0, None):
        return STRING_TERMINAL
    return Lexeme(Seq((_QUOTE, chars_between(minimum, maximum), _QUOTE)))


def quoted(body: Node) -> Node:
    """Return a string literal around the spellings of its content."""
    return Seq((_QUOTE, body, _QUOTE))


@lru_cache(maxsize=64)
def blanks(maximum: int) -> Node:
    """Return a run of up to `maximum` whitespace characters."""
    return Repeat(BLANKS, 0, maximum)
