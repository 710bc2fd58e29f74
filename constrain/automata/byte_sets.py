"""Sets of bytes as 256-bit ints, each with what it leads to: united, and cut into disjoint ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Row = tuple[tuple[int, int], ...]
"""(bytes, target) pairs, the sets of bytes disjoint."""


def joined(entries: Iterable[tuple[int, int]]) -> Row:
    """Unite the byte sets of equal targets and drop what leads nowhere (target 0)."""
    masks: dict[int, int] = {}
    for mask, target in entries:
        if target and mask:
            masks[target] = masks.get(target, 0) | mask
    return tuple((mask, target) for target, mask in masks.items())


def split(entries: list[tuple[int, int]]) -> list[tuple[int, tuple[int, ...]]]:
    """Cut overlapping byte sets into disjoint ones, each with all its targets; good for few entries."""
    parts: list[tuple[int, tuple[int, ...]]] = []
    for mask, target in entries:
        cut: list[tuple[int, tuple[int, ...]]] = []
        rest = mask
        for other, targets in parts:
            both = other & rest
            if both:
                cut.append((both, (*targets, target)))
                rest &= ~both
                other &= ~both
            if other:
                cut.append((other, targets))
        if rest:
            cut.append((rest, (target,)))
        parts = cut
    return parts


def split_by_byte(entries: list[tuple[int, int]]) -> list[tuple[int, tuple[int, ...]]]:
    """Do what `split` does, byte by byte; good for many entries."""
    targets_of: dict[int, list[int]] = {}
    for mask, target in entries:
        while mask:
            low = mask & -mask
            targets_of.setdefault(low, []).append(target)
            mask ^= low
    parts: dict[tuple[int, ...], int] = {}
    for bit, targets in targets_of.items():
        key = tuple(targets)
        parts[key] = parts.get(key, 0) | bit
    return [(mask, targets) for targets, mask in parts.items()]


@lru_cache(maxsize=4096)
def members(mask: int) -> npt.NDArray[np.intp]:
    """Return the bytes of a 256-bit set; cached, since the same few sets recur."""
    bits = np.frombuffer(mask.to_bytes(32, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))
