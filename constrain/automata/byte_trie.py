"""Tries of byte strings as flat arrays in depth-first order, built without a Python loop over characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

_SHORT = 64  # bytes of prefixes that are compared for all strings at a time


def trie_nodes(texts: Iterable[bytes]) -> npt.NDArray[np.int32]:
    """Return the trie of a set of strings.

    Returns:
        int32[nodes + 1, 4], C order, nodes in depth-first preorder, children by increasing byte. Columns: byte, depth,
        one past the subtree, and how many of the sorted strings come before this node. Row 0 is the root; the last row
        is a sentinel. A string ends at node n iff column 3 of row n + 1 is larger than that of row n.
    Cost: sorting, then O(total length), and O(strings) for each different length of a shared prefix; 10^5 strings of
        20 bytes take 0.1 to 0.5 s.
    """
    ordered = sorted(set(texts))
    count = len(ordered)
    blob = np.frombuffer(b"".join(ordered) + b"\0", dtype=np.uint8)
    lengths = np.fromiter((len(text) for text in ordered), dtype=np.int64, count=count)
    offsets = np.concatenate(([0], np.cumsum(lengths)))[:-1] if count else np.zeros(0, dtype=np.int64)
    shared = _common_prefixes(blob, offsets, lengths)
    fresh = lengths - shared
    first_node = 1 + np.concatenate(([0], np.cumsum(fresh)))
    total = int(first_node[-1])
    nodes = np.zeros((total + 1, 4), dtype=np.int32)
    owner = np.repeat(np.arange(count), fresh)
    depth = np.arange(1, total) - first_node[owner] + shared[owner] + 1
    nodes[1:total, 0] = blob[offsets[owner] + depth - 1]
    nodes[1:total, 1] = depth
    # A string ends at its own last node, except the empty string, which ends at the root.
    ends = np.zeros(total + 1, dtype=np.int64)
    last_node = np.where(lengths == 0, 0, first_node[:-1] + fresh - 1)
    ends[last_node] = 1
    nodes[1:, 3] = np.cumsum(ends)[:-1]
    nodes[0, 2] = nodes[total, 2] = total
    nodes[1:total, 2] = _subtree_ends(owner, depth, shared, first_node)
    return nodes


def _common_prefixes(
    blob: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return for every sorted string how many bytes it shares with the one before it."""
    shared = np.zeros(len(offsets), dtype=np.int64)
    alive = np.arange(1, len(offsets))
    at = 0
    while len(alive) and at < _SHORT:
        longer = (lengths[alive] > at) & (lengths[alive - 1] > at)
        shared[alive[~longer]] = at
        alive = alive[longer]
        same = blob[offsets[alive] + at] == blob[offsets[alive - 1] + at]
        shared[alive[~same]] = at
        alive = alive[same]
        at += 1
    # What is left shares a long prefix: pair by pair, so that one long text costs its length, not a pass for each byte.
    for i in alive.tolist():
        most = int(min(lengths[i], lengths[i - 1]))
        here, before = (blob[offset : offset + most] for offset in (offsets[i], offsets[i - 1]))
        differ = here != before
        shared[i] = int(differ.argmax()) if differ.any() else most
    return shared


def _subtree_ends(
    owner: npt.NDArray[np.int64],
    depth: npt.NDArray[np.int64],
    shared: npt.NDArray[np.int64],
    first_node: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return one past the subtree of each node: where the next string begins that shares less than the node's depth.

    Depths between the same two lengths of shared prefixes have the same next strings and are done together.
    """
    out = np.empty(len(owner), dtype=np.int64)
    values = np.unique(shared)
    level = np.searchsorted(values, depth)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(1, len(values) + 2))
    for i, value in enumerate(values.tolist()):
        here = order[starts[i] : starts[i + 1]]
        boundaries = np.flatnonzero(shared <= value)
        following = np.searchsorted(boundaries, owner[here], side="right")
        padded = np.append(boundaries, len(first_node) - 1)
        out[here] = first_node[padded[following]]
    return out
