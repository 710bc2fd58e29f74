"""From the way tokenizers write a token to its bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SPACE = "\u2581"  # how SentencePiece writes a space
_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


def _visible_bytes() -> npt.NDArray[np.int16]:
    """Return the byte that each character stands for in byte-level BPE, -1 where it stands for none.

    Printable characters of Latin-1 stand for their own code; the other 68 bytes, in order, are written U+0100 and on.
    Source: GPT-2's tokenizer; the same table in every byte-level tokenizer since.
    """
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    other = sorted(set(range(256)) - set(own))
    table = np.full(256 + len(other), -1, dtype=np.int16)
    table[own] = own
    table[256:] = other
    return table


_VISIBLE = _visible_bytes()


def byte_level(tokens: Sequence[str]) -> list[bytes]:
    """Return the bytes of byte-level tokens; one with a character outside the alphabet is plain text."""
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    ends = np.cumsum(lengths)
    points = np.frombuffer("".join(tokens).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    inside = points < len(_VISIBLE)
    values = np.where(inside, _VISIBLE[np.where(inside, points, 0)], -1)
    data = values.astype(np.uint8).tobytes()
    bounds = ends.tolist()
    found = [data[a:b] for a, b in zip([0, *bounds], bounds, strict=False)]
    for i in np.unique(np.searchsorted(ends, np.flatnonzero(values < 0), side="right")).tolist():
        found[i] = tokens[i].encode("utf-8", "surrogatepass")
    return found


def pieces(tokens: Sequence[str], replacements: Mapping[str, str], *, byte_fallback: bool) -> list[bytes]:
    """Return the bytes of SentencePiece-like tokens: texts replaced, then `<0x0A>` is one byte."""
    found = utf8(tokens, replacements)
    if byte_fallback:
        for i, token in enumerate(tokens):
            if len(token) == 6 and (byte := byte_value(token)) is not None:
                found[i] = bytes([byte])
    return found


def byte_value(token: str) -> int | None:
    """Return the byte that a `<0x0A>` token stands for, None for other tokens."""
    match = _BYTE.fullmatch(token)
    return None if match is None else int(match[1], 16)


def word_pieces(tokens: Sequence[str], prefix: str) -> list[bytes]:
    """Return the bytes of WordPiece tokens: the text without the mark of a word's later pieces."""
    return [token.removeprefix(prefix).encode() if token != prefix else token.encode() for token in tokens]


def utf8(tokens: Sequence[str], replacements: Mapping[str, str] | None = None) -> list[bytes]:
    """Return the bytes of tokens that are written as they are, but for texts to be replaced."""
    # One long text is handled several times faster than many short ones, if the separator is in no token.
    joined = "\0".join(tokens)
    whole = joined.count("\0") == len(tokens) - 1
    parts = [joined] if whole else list(tokens)
    for old, new in (replacements or {}).items():
        parts = [part.replace(old, new) for part in parts]
    found = [part.encode("utf-8", "surrogatepass") for part in parts]
    return found[0].split(b"\0") if whole else found
