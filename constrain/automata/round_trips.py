"""Shortest ways round the loops of a graph, for many pairs of nodes at a time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from constrain.automata.components import strongly_connected
from constrain.deadline import check

Weighted = Mapping[int, Sequence[tuple[int, int]]]
"""(target, weight) of each node's edges; weights are not negative."""


def round_trips(following: Weighted, trips: Sequence[tuple[int, int]]) -> list[int | None]:
    """Return for each (source, target) the length of a shortest way inside their loop; None if they share none.

    A way passes a chosen node of the loop, the hub, or stays within a loop of what is left without it. Cost: two
    searches for each hub; the loop of a rule's members has one.
    """
    found: list[int | None] = [None] * len(trips)
    work: list[tuple[Iterable[int], list[int]]] = [(following, list(range(len(trips))))]
    while work:
        check()
        nodes, asked = work.pop()
        inside = set(nodes)
        successors = {node: [to for to, _ in following.get(node, ()) if to in inside] for node in inside}
        for loop in strongly_connected(successors):
            if len(loop) == 1:
                continue
            members = set(loop)
            here = [trip for trip in asked if trips[trip][0] in members and trips[trip][1] in members]
            if not here:
                continue
            hub = _busiest(successors, members)
            to_hub = _distances(_reversed(following, members), hub)
            from_hub = _distances({node: _within(following, node, members) for node in members}, hub)
            for trip in here:
                source, target = trips[trip]
                length = 0 if source == target else to_hub[source] + from_hub[target]
                before = found[trip]
                found[trip] = length if before is None else min(before, length)
            work.append((members - {hub}, here))
    return found


def _within(following: Weighted, node: int, members: set[int]) -> list[tuple[int, int]]:
    return [(to, weight) for to, weight in following.get(node, ()) if to in members]


def _reversed(following: Weighted, members: set[int]) -> dict[int, list[tuple[int, int]]]:
    into: dict[int, list[tuple[int, int]]] = {node: [] for node in members}
    for node in members:
        for to, weight in _within(following, node, members):
            into[to].append((node, weight))
    return into


def _busiest(successors: Mapping[int, Sequence[int]], members: set[int]) -> int:
    """Return the node that most edges lead to: the start of the loop, if it has one."""
    incoming = dict.fromkeys(sorted(members), 0)
    for node in members:
        for to in successors[node]:
            if to in members:
                incoming[to] += 1
    return max(incoming, key=incoming.__getitem__)


def _distances(following: Weighted, start: int) -> dict[int, int]:
    """Return the length of a shortest way from a node to each other (Dijkstra)."""
    done: dict[int, int] = {}
    heap = [(0, start)]
    while heap:
        here, node = heapq.heappop(heap)
        if node in done:
            continue
        done[node] = here
        for to, weight in following[node]:
            if to not in done:
                heapq.heappush(heap, (here + weight, to))
    return done
