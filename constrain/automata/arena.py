"""Several growing int32 tables in one array, so that a kernel takes one argument for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.kernels.machine.layout import H_LENGTH, H_PAIRS, HEADER_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

FREE = 256
"""Ints at the beginning of a workspace that no kernel uses by itself."""
_WALK = 4096


class Arena:
    """An int32 array: a header of HEADER_SIZE ints, then named sections.

    The header's entry `first + 2 * i` says where section i begins, the next one how long it is. Growing makes a new
    array; whoever holds the old one keeps a consistent picture of the past.

    Attributes:
        array: the current array.
    """

    def __init__(self, capacities: Mapping[str, int], first: int = 0) -> None:
        self._first = first
        self._names = tuple(capacities)
        self.array: npt.NDArray[np.int32] = np.zeros(HEADER_SIZE, dtype=np.int32)
        self._place(dict(capacities))

    def _place(self, capacities: dict[str, int]) -> None:
        array = np.zeros(HEADER_SIZE + sum(capacities.values()), dtype=np.int32)
        old = self.array
        array[:HEADER_SIZE] = old[:HEADER_SIZE]
        where = HEADER_SIZE
        for i, name in enumerate(self._names):
            slot = self._first + 2 * i
            before, kept = int(old[slot]), int(old[slot + 1])
            array[where : where + kept] = old[before : before + kept]
            array[slot], array[slot + 1] = where, capacities[name]
            where += capacities[name]
        array[H_LENGTH] = len(array)
        self.array = array

    def __getitem__(self, name: str) -> npt.NDArray[np.int32]:
        slot = self._first + 2 * self._names.index(name)
        where = int(self.array[slot])
        return self.array[where : where + int(self.array[slot + 1])]

    def capacity(self, name: str) -> int:
        """Return the length of a section."""
        return int(self.array[self._first + 2 * self._names.index(name) + 1])

    def reserve(self, name: str, needed: int, at_most: int | None = None) -> bool:
        """Make a section at least `needed` ints long, doubling it, but not past `at_most`; return whether it grew."""
        if needed <= self.capacity(name):
            return False
        capacities = {other: self.capacity(other) for other in self._names}
        doubled = 2 * capacities[name] if at_most is None else min(2 * capacities[name], at_most)
        capacities[name] = max(needed, doubled)
        self._place(capacities)
        return True

    @property
    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self.array.nbytes


class Workspace:
    """Scratch arrays of one running kernel call: configurations by depth, and five regions for sets being built.

    Args:
        depth: of the vocabulary's trie.
        pairs: how many a configuration may have; room for them is made when they come.

    Attributes:
        free: where in the array FREE ints begin that the caller and an operation may exchange numbers in; it is the
            same however the workspace grows.
    """

    free = HEADER_SIZE

    def __init__(self, depth: int, pairs: int) -> None:
        walk = max(depth + 3, _WALK)
        sections = {"free": FREE, "frames": depth + 3, "stack": depth + 3, "walk": walk, "scratch": 5 * 4096}
        self.arena = Arena(sections)
        self.arena.array[H_PAIRS] = min(pairs, np.iinfo(np.int32).max)
