"""Bytes and tokens in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from constrain.vocabulary import Vocabulary

PRINTABLE = frozenset(range(0x20, 0x7F))
CONTINUATION = frozenset(range(0x80, 0xC0))
LEADING = frozenset(range(0xC2, 0xF5))
NAMES = {0x20: "space", 0x09: "tab", 0x0A: "newline", 0x0D: "carriage return"}
# Runs are only read as ranges inside these; "9-A" would puzzle.
ALPHANUMERIC = (range(0x30, 0x3A), range(0x41, 0x5B), range(0x61, 0x7B))
MANY = 64  # printable characters from which on what is missing is shorter to say


def describe_bytes(allowed: Iterable[int]) -> str:
    """Say which bytes are in the set: "0-9, '-', space, any non-ASCII character"."""
    return ", ".join(_groups(frozenset(allowed))) or "nothing"


def _groups(allowed: frozenset[int]) -> Iterator[str]:
    yield from _printable(allowed & PRINTABLE)
    yield from (NAMES[byte] for byte in (0x09, 0x0A, 0x0D) if byte in allowed)
    if control := (allowed & frozenset([*range(0x20), 0x7F])) - NAMES.keys():
        yield f"control characters {_hex(control)}"
    if leading := allowed & LEADING:
        whole = leading == LEADING
        yield "any non-ASCII character" if whole else f"non-ASCII characters that begin with {_hex(leading)}"
    if middle := allowed & CONTINUATION:
        yield f"the next byte of the character begun ({_hex(middle)})"
    if invalid := allowed - frozenset(range(0x80)) - LEADING - CONTINUATION:
        yield f"bytes that are not UTF-8 ({_hex(invalid)})"


def _printable(allowed: frozenset[int]) -> Iterator[str]:
    if len(allowed) > MANY:
        missing = ", ".join(_character(byte) for byte in sorted(PRINTABLE - allowed))
        yield "any printable ASCII character" + (f" but {missing}" if missing else "")
        return
    rest = set(allowed)
    for low, high in (run for block in ALPHANUMERIC for run in runs(allowed & frozenset(block))):
        if high - low > 1:
            yield f"{chr(low)}-{chr(high)}"
            rest -= set(range(low, high + 1))
    yield from (_character(byte) for byte in sorted(rest))


def _character(byte: int) -> str:
    return NAMES.get(byte) or ('"\'"' if byte == 0x27 else f"'{chr(byte)}'")


def runs(values: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the maximal runs of consecutive integers, inclusive."""
    low = high = None
    for value in sorted(values):
        if low is None or high is None:
            low = high = value
        elif value == high + 1:
            high = value
        else:
            yield low, high
            low = high = value
    if low is not None and high is not None:
        yield low, high


def _hex(values: Iterable[int]) -> str:
    return ", ".join(f"0x{low:02x}" + (f"-0x{high:02x}" if high > low else "") for low, high in runs(values))


def show(data: bytes, limit: int = 80) -> str:
    """Quote a text for a terminal: escapes for what cannot be seen, an ellipsis in the middle of what is too long."""
    if len(data) > limit:
        half = limit // 2
        return f"{show(data[:half])} ... {show(data[-half:])}"
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)


def token_ids(row: npt.NDArray[np.int32], vocab_size: int) -> list[int]:
    """Return the ids whose bit is set in one row of a token bitmask."""
    import numpy as np

    bits = np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little")[:vocab_size]
    return [int(i) for i in np.flatnonzero(bits)]


def describe_tokens(vocabulary: Vocabulary, row: npt.NDArray[np.int32], limit: int = 12) -> str:
    """Say how many tokens a row allows, and show the first of them: "40 of 49,152: 'a', 'b', ..."."""
    allowed = token_ids(row, vocabulary.vocab_size)
    texts = [(i, vocabulary.token_bytes(i)) for i in allowed[:limit]]
    shown = ", ".join("the end token" if text is None else show(text, 40) for _, text in texts)
    more = ", ..." if len(allowed) > limit else ""
    return f"{len(allowed):,} of {vocabulary.vocab_size:,}" + (f": {shown}{more}" if shown else "")
