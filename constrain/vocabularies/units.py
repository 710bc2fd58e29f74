"""What a vocabulary can spell from every token boundary: bytes or characters that are tokens by themselves.

Where every byte that occurs is a token, any text of those bytes can be written and tokens need no second look. A
WordPiece vocabulary has whole characters instead: two bytes that both occur need not make a character that does, and a
text that stops in the middle of one could never go on. So texts there are made of *units*, and a token that is none of
their concatenations is never allowed: after it, nothing could be promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constrain.vocabulary import Vocabulary


def characters(vocabulary: Vocabulary) -> tuple[tuple[int, int], ...] | None:
    """Return the ranges of characters of several bytes that are tokens; None if single bytes spell everything."""
    if not vocabulary.spellable & ~vocabulary.single_bytes:
        return None
    codes = set()
    for token in vocabulary.tokens():
        if token is not None and 2 <= len(token) <= 4:
            text = token.decode("utf-8", errors="replace")
            if len(text) == 1 and text.encode() == token:
                codes.add(ord(text))
    ranges: list[tuple[int, int]] = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return tuple(ranges)


def is_spelled(data: bytes, vocabulary: Vocabulary) -> bool:
    """Return whether `data` is a concatenation of units."""
    units = vocabulary.characters
    if units is None:
        return all(vocabulary.spellable >> byte & 1 for byte in set(data))
    reached = {0}
    for at in range(len(data)):
        if at in reached:
            if vocabulary.single_bytes >> data[at] & 1:
                reached.add(at + 1)
            for size in (2, 3, 4):
                text = data[at : at + size].decode("utf-8", errors="ignore")
                if len(text) == 1 and len(text.encode()) == size and any(a <= ord(text) <= b for a, b in units):
                    reached.add(at + size)
    return len(data) in reached


def spelled(vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary without the tokens that are no concatenation of units (the same object if all are)."""
    if vocabulary.characters is None:
        return vocabulary
    table = vocabulary.tokens()
    kept = [token if token is None or is_spelled(token, vocabulary) else None for token in table]
    if kept == table:
        return vocabulary
    return type(vocabulary).from_tokens(
        kept,
        eos_token_ids=vocabulary.eos_token_ids,
        name=vocabulary.name,
        prefix_space=vocabulary.prefix_space,
        normalizer=vocabulary.normalizer,
    )
