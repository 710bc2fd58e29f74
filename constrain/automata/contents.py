"""Reading the tables of a machine from Python: what objects hold, and the graphs of rules."""

from __future__ import annotations

import threading
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from constrain.kernels.machine import layout as at

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.automata.arena import Arena

    Array = npt.NDArray[np.int32]


# As Python's ints, which are faster than NumPy's outside kernels.
_FIRST_OBJECT, _OBJECTS, _AT_OBJECTS = int(at.FIRST_OBJECT), int(at.H_OBJECTS), int(at.AT_OBJECTS)
_WIDTH, _TAG, _CONFIG = int(at.OBJECT_WIDTH), int(at.O_TAG), int(at.TAG_CONFIG)


class Contents:
    """The part of a machine that only looks; completions and descriptions use it."""

    _arena: Arena
    _lock: threading.RLock
    _blocks: list[int]
    _graph_top: int

    @property
    def num_objects(self) -> int:
        """Return how many objects have been interned."""
        return int(self._arena.array[at.H_OBJECTS]) - at.FIRST_OBJECT

    @property
    def num_states(self) -> int:
        """Return how many configurations have been interned."""
        return self._count(at.TAG_CONFIG)

    @property
    def num_kernels(self) -> int:
        """Return how many sets of items have been interned."""
        return self._count(at.TAG_KERNEL)

    @property
    def visited(self) -> int:
        """Return how many trie nodes masks have visited so far (for counted benchmarks)."""
        return int(self._arena.array[at.H_VISITED])

    def _count(self, tag: int) -> int:
        used = int(self._arena.array[at.H_OBJECTS]) * at.OBJECT_WIDTH
        return int(np.count_nonzero(self._arena["objects"][at.O_TAG : used : at.OBJECT_WIDTH] == tag))

    def content(self, identity: int) -> Array:
        """Return the content of an object (a copy)."""
        with self._lock:
            base = identity * int(at.OBJECT_WIDTH)
            objects = self._arena["objects"]
            first, length = int(objects[base + at.O_OFFSET]), int(objects[base + at.O_LENGTH])
            return self._arena["pool"][first : first + length].copy()

    def single_items(self, kernels: list[int]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Return int32[n, 3], the one item of each kernel, and which kernels have just one (rows of others are 0)."""
        with self._lock:
            objects = self._arena["objects"].reshape(-1, int(at.OBJECT_WIDTH))[kernels]
            single = objects[:, at.O_LENGTH] == 3
            items = np.zeros((len(kernels), 3), dtype=np.int32)
            items[single] = self._arena["pool"][objects[single, at.O_OFFSET, None] + np.arange(3)]
            return items, single

    def holds_state(self, identity: int) -> bool:
        """Return whether an object is there and is a configuration."""
        table = self._arena.array
        if not _FIRST_OBJECT <= identity < table.item(_OBJECTS):
            return False
        return bool(table.item(table.item(_AT_OBJECTS) + identity * _WIDTH + _TAG) == _CONFIG)

    def key_parts(self, identity: int) -> tuple[int, int, int]:
        """Return (expression state, text, escape) of a key being read."""
        inner, text, escape = self.content(identity).tolist()
        return inner, text, escape

    def uncounted(self, lexer: int) -> tuple[int, int]:
        """Return (state, count) of a lexer state in the lexicon's numbers; the count is 0 where it does not count."""
        if lexer < at.COUNT:
            return lexer, 0
        shape, count = self.content(lexer - int(at.COUNT)).tolist()
        return shape, count

    def block(self, node: int) -> int:
        """Return a number for the rule that a graph node belongs to."""
        return bisect_right(self._blocks, node)

    def rule_start(self, rule: int) -> int:
        """Return the start node of a rule by its index."""
        return int(self._arena["rules"][rule])

    def final_nodes(self) -> list[int]:
        """Return the graph nodes at which a rule may end."""
        values = self._arena["graph"][: self._graph_top].tolist()
        out, node = [], 0
        while node < len(values):
            if values[node]:
                out.append(node)
            node += 2 + 4 * values[node + 1]
        return out

    def all_edges(self) -> list[tuple[int, int, int, int, int]]:
        """Return (source node, kind, a, b, target node) of every edge of the rules expanded so far."""
        values = self._arena["graph"][: self._graph_top].tolist()
        out = []
        node = 0
        while node < len(values):
            count = values[node + 1]
            for i in range(node + 2, node + 2 + 4 * count, 4):
                out.append((node, *values[i : i + 4]))
            node += 2 + 4 * count
        return out
