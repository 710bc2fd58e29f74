"""What the registers of a rule demand before it may end: members that must have come, counts that must be reached.

Without these demands the search for a shortest completion would believe that an object can be closed at once, and try
its members in every order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from constrain.automata.components import strongly_connected
from constrain.kernels.machine import layout as at

FAR = 1 << 40

Edge = tuple[int, int, int, int, int]
"""(source node, kind, a, b, target node); see `kernels.machine.layout`."""
Demand = tuple[bool, int, int, int]
"""(is it a count, mark or counter, value to reach, bytes for the mark or for one more)."""
_Requirement = tuple[bool, int, int]


def of_rule(
    block: list[Edge], finals: set[int], edge_cost: Callable[[Edge], int]
) -> dict[int, tuple[int, tuple[Demand, ...]]]:
    """Return for each node of one rule what every way from it to the rule's end demands.

    With each node comes the bytes to the rule's end when all that is demanded comes for free: a node before a choice
    of members must not be charged for the cheapest member and then again for the member that is demanded.

    Args:
        block: the rule's edges.
        finals: nodes at which rules end.
        edge_cost: bytes that an edge reads.
    """
    following: dict[int, list[Edge]] = {}
    for edge in block:
        following.setdefault(edge[0], []).append(edge)
    marks: dict[int, set[int]] = {}
    for _, kind, a, mark, target in block:
        if kind == at.EDGE_OP and a & 255 == at.OP_MARK:
            for slot in _added_after(following, target):
                marks.setdefault(slot, set()).add(mark)
    ways: dict[int, list[tuple[int, frozenset[_Requirement]]]] = {}
    for source, kind, a, value, target in block:
        needed: frozenset[_Requirement] = frozenset()
        if kind == at.EDGE_OP and a & 255 == at.OP_MARKED:
            needed = frozenset(((False, value, 0),))
        elif kind == at.EDGE_OP and a & 255 == at.OP_AT_LEAST:
            slot = a >> 8
            if slot not in marks:
                needed = frozenset(((True, slot, value),))
            elif len(marks[slot]) == value:
                needed = frozenset((False, mark, 0) for mark in marks[slot])
        ways.setdefault(source, []).append((target, needed))
    prices = _prices(following, edge_cost)
    all_needed = _on_all_ways(ways, finals)
    free = _costs_for_free(
        block, finals, prices, {one[:2] for needed in all_needed.values() for one in needed}, edge_cost
    )
    return {
        node: (free.get(node, FAR), tuple((*one, prices.get(one[:2], 0)) for one in sorted(needed)))
        for node, needed in all_needed.items()
    }


def _costs_for_free(
    block: list[Edge],
    finals: set[int],
    prices: dict[tuple[bool, int], int],
    demanded: set[tuple[bool, int]],
    edge_cost: Callable[[Edge], int],
) -> dict[int, int]:
    """Return the bytes from each node to the rule's end, the price of what is demanded taken off.

    Weights may be negative, and so may the result, for what has been read but not been counted yet. Cycles never are
    (a price is the cheapest way round), so correcting labels ends.
    """
    into: dict[int, list[tuple[int, int]]] = {}
    for edge in block:
        source, kind, a, b, target = edge
        weight = edge_cost(edge)
        key = (False, b) if a & 255 == at.OP_MARK else (True, a >> 8)
        if kind == at.EDGE_OP and a & 255 in (at.OP_MARK, at.OP_ADD) and key in demanded:
            weight = -prices.get(key, 0)
        into.setdefault(target, []).append((source, weight))
    cost = {node: 0 for node in into if node in finals}
    work = list(cost)
    while work:
        node = work.pop()
        for source, weight in into.get(node, ()):
            through = cost[node] + weight
            # The bound is for safety only: without negative cycles nothing gets near it.
            if -FAR < through < cost.get(source, FAR):
                cost[source] = through
                work.append(source)
    return cost


def _added_after(following: dict[int, list[Edge]], node: int) -> list[int]:
    """Return the counters raised by the operations that follow a node without a choice."""
    slots = []
    seen = set()
    while len(following.get(node, ())) == 1 and node not in seen:
        seen.add(node)
        _, kind, a, _, target = following[node][0]
        if kind == at.EDGE_OP and a & 255 == at.OP_ADD:
            slots.append(a >> 8)
        elif kind != at.EDGE_EMPTY:
            break
        node = target
    return slots


def _prices(following: dict[int, list[Edge]], edge_cost: Callable[[Edge], int]) -> dict[tuple[bool, int], int]:
    """Return what each mark set in a loop, and each count added in a loop, costs in bytes: once round that loop."""
    targets = {node: [edge[4] for edge in out] for node, out in following.items()}
    loops = [frozenset(component) for component in strongly_connected(targets) if len(component) > 1]
    prices: dict[tuple[bool, int], int] = {}
    for loop in loops:
        for source in loop:
            for _, kind, a, mark, target in following.get(source, ()):
                if kind == at.EDGE_OP and target in loop and a & 255 in {at.OP_MARK, at.OP_ADD}:
                    key = (False, mark) if a & 255 == at.OP_MARK else (True, a >> 8)
                    price = _round_trip(following, loop, target, source, edge_cost)
                    prices[key] = min(price, prices.get(key, FAR))
    return prices


def _round_trip(
    following: dict[int, list[Edge]],
    loop: frozenset[int],
    source: int,
    target: int,
    edge_cost: Callable[[Edge], int],
) -> int:
    """Return the bytes of a shortest way from one node of a loop to another."""
    heap = [(0, source)]
    done = set()
    while heap:
        here, node = heapq.heappop(heap)
        if node == target:
            return here
        if node in done:
            continue
        done.add(node)
        for edge in following.get(node, ()):
            if edge[4] in loop:
                heapq.heappush(heap, (here + edge_cost(edge), edge[4]))
    return 0


def _on_all_ways(
    ways: dict[int, list[tuple[int, frozenset[_Requirement]]]], finals: set[int]
) -> dict[int, frozenset[_Requirement]]:
    """Return for each node what is demanded on every way from it to a final node (greatest fixpoint)."""
    before: dict[int, list[int]] = {}
    for source, out in ways.items():
        for target, _ in out:
            before.setdefault(target, []).append(source)
    reached = [node for node in before if node in finals]
    needs: dict[int, frozenset[_Requirement]] = {node: frozenset() for node in reached}
    work = list(reached)
    while work:
        for source in before.get(work.pop(), ()):
            joint = frozenset.intersection(*(needs[t] | needed for t, needed in ways[source] if t in needs))
            if source not in finals and needs.get(source) != joint:
                needs[source] = joint
                work.append(source)
    return {node: needed for node, needed in needs.items() if needed}
