"""Writing a text with the fewest tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def fewest(ids: Mapping[bytes, int], lengths: Mapping[int, Sequence[int]], data: bytes) -> list[int] | None:
    """Return a shortest list of tokens that spells `data`, None if there is none; see `Vocabulary.fewest_tokens`.

    Args:
        ids: id of each token.
        lengths: lengths of the tokens of at least two bytes, by their first two bytes.
    """
    size = len(data)
    cost = [0] + [size + 1] * size
    last = [0] * (size + 1)
    for i in range(size):
        here = cost[i] + 1
        if here > size:
            continue
        pair = int.from_bytes(data[i : i + 2], "big")
        for length in (1, *lengths.get(pair, ())):
            j = i + length
            if j <= size and here < cost[j] and data[i:j] in ids:
                cost[j], last[j] = here, length
    if cost[size] > size:
        return None
    found, j = [], size
    while j:
        found.append(ids[data[j - last[j] : j]])
        j -= last[j]
    return found[::-1]
