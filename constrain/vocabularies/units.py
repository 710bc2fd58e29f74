"""What a vocabulary can spell from every token boundary: bytes or characters that are tokens by themselves.

Where every byte that occurs is a token, any text of those bytes can be written and tokens need no second look. A
WordPiece vocabulary has whole characters instead: two bytes that both occur need not make a character that does, and a
text that stops in the middle of one could never go on. So texts there are made of *units*.

Both kinds are *closed*: each token is a concatenation of units, and no unit begins with another, so a text can only be
cut into units in one way, and what units can finish tokens can finish. Other vocabularies hold tokens without their
parts; there nothing but tokens decides (`automata.token_liveness`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constrain.vocabulary import Vocabulary

    Ranges = tuple[tuple[int, int], ...]


def closing(vocabulary: Vocabulary) -> tuple[bool, Ranges | None]:
    """Return whether a vocabulary is closed, and the characters that close it: None where single bytes do, or nothing.

    Cost: about 5 us a token, unless single bytes close it.
    """
    if not vocabulary.spellable & ~vocabulary.single_bytes:
        return True, None
    ranges, leads = _characters(vocabulary)
    single = vocabulary.single_bytes
    made = (_is_made_of(token, single, ranges) for token in vocabulary.tokens() if token is not None)
    return (True, ranges) if not leads & single and all(made) else (False, None)


def _characters(vocabulary: Vocabulary) -> tuple[Ranges, int]:
    """Return the characters of several bytes that are tokens, and the 256-bit set of their first bytes."""
    codes, leads = set(), 0
    for token in vocabulary.tokens():
        if token is not None and 2 <= len(token) <= 4:
            text = token.decode("utf-8", errors="replace")
            if len(text) == 1 and text.encode() == token:
                codes.add(ord(text))
                leads |= 1 << token[0]
    ranges: list[tuple[int, int]] = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return tuple(ranges), leads


def is_spelled(data: bytes, vocabulary: Vocabulary) -> bool:
    """Return whether `data` is a concatenation of units; in a vocabulary that is not closed, of bytes that occur."""
    if vocabulary.characters is None:
        return all(vocabulary.spellable >> byte & 1 for byte in set(data))
    return _is_made_of(data, vocabulary.single_bytes, vocabulary.characters)


def _is_made_of(data: bytes, single_bytes: int, ranges: Ranges) -> bool:
    reached = {0}
    for at in range(len(data)):
        if at in reached:
            if single_bytes >> data[at] & 1:
                reached.add(at + 1)
            for size in (2, 3, 4):
                text = data[at : at + size].decode("utf-8", errors="ignore")
                if len(text) == 1 and len(text.encode()) == size and any(a <= ord(text) <= b for a, b in ranges):
                    reached.add(at + size)
    return len(data) in reached
