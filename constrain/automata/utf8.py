"""Code point ranges to byte-level expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from constrain.automata.regex import NOTHING, RegexTable

_LENGTH_LIMITS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)
ByteRange = tuple[int, int]


def byte_sequences(low: int, high: int) -> Iterator[tuple[ByteRange, ...]]:
    """Yield sequences of byte ranges that together spell exactly the code points low..high in UTF-8."""
    stack = [(low, high)]
    while stack:
        low, high = stack.pop()
        if low > high:
            continue
        if low <= 0xDFFF and high >= 0xD800:
            stack.extend(((0xE000, high), (low, 0xD7FF)))
            continue
        bound = next(limit for limit in _LENGTH_LIMITS if low <= limit)
        if high > bound:
            stack.extend(((bound + 1, high), (low, bound)))
            continue
        cut = _first_cut(low, high)
        if cut is not None:
            stack.extend(((cut + 1, high), (low, cut)))
            continue
        first, last = chr(low).encode(), chr(high).encode()
        yield tuple(zip(first, last, strict=True))


def _first_cut(low: int, high: int) -> int | None:
    """Return where to split a range of one encoded length so that continuation bytes range fully, or None."""
    if high <= 0x7F:
        return None
    for shift in (6, 12, 18):
        block = (1 << shift) - 1
        if low >> shift != high >> shift:
            if low & block:
                return low | block
            if high & block != block:
                return (high & ~block) - 1
    return None


def char_class(table: RegexTable, ranges: Iterable[tuple[int, int]]) -> int:
    """Return the expression for one UTF-8 encoded code point of `ranges`; common tails are shared."""
    tails: dict[tuple[ByteRange, ...], int] = {}
    single = 0
    for low, high in ranges:
        for sequence in byte_sequences(low, high):
            (first, last), tail = sequence[0], sequence[1:]
            mask = (1 << (last + 1)) - (1 << first)
            if tail:
                tails[tail] = tails.get(tail, 0) | mask
            else:
                single |= mask
    parts = [table.byte_class(single)]
    by_rest: dict[int, int] = {}
    for tail, mask in tails.items():
        rest = 1
        for first, last in reversed(tail):
            rest = table.concat(table.byte_class((1 << (last + 1)) - (1 << first)), rest)
        if rest != NOTHING:
            by_rest[rest] = by_rest.get(rest, 0) | mask
    parts.extend(table.concat(table.byte_class(mask), rest) for rest, mask in by_rest.items())
    return table.alternate(parts)
