"""What the registers of a rule demand before it may end: members that must have come, counts that must be reached.

Without these demands the search for a shortest completion would believe that an object can be closed at once, and try
its members in every order. A rule with n members costs about n steps here: sets of demands are bits of an int, nodes
that demand the same share it, and the ways round a loop are measured from and to one of its nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from constrain.automata.round_trips import round_trips
from constrain.kernels.machine import layout as at

FAR = 1 << 40

Edge = tuple[int, int, int, int, int]
"""(source node, kind, a, b, target node); see `kernels.machine.layout`."""
_Requirement = tuple[bool, int, int]
"""(is it a count, mark or counter, value to reach)."""


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """What is demanded at some nodes of a rule.

    Attributes:
        marks: bytes for each mark that must have come.
        counts: (counter, value to reach, bytes for one more).
        price_of_marks: bytes for all marks.
        met: bytes for the marks in a set, by its object; what has been asked for.
        unmet: bytes for what has not come, by the object of the registers; what has been asked for.
    """

    marks: dict[int, int]
    counts: tuple[tuple[int, int, int], ...]
    price_of_marks: int
    met: dict[int, int] = field(default_factory=lambda: {0: 0})
    unmet: dict[int, int] = field(default_factory=dict)


def of_rule(block: list[Edge], finals: set[int], edge_cost: Callable[[Edge], int]) -> dict[int, tuple[int, Demands]]:
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
    numbers: dict[_Requirement, int] = {}
    into: dict[int, list[tuple[int, int]]] = {}
    marks = _marks_of_counters(block, following)
    for source, kind, a, value, target in block:
        needed = 0
        for one in _requirements(kind, a, value, marks):
            needed |= 1 << numbers.setdefault(one, len(numbers))
        into.setdefault(target, []).append((source, needed))
    prices = _prices(following, edge_cost)
    on_all_ways = _on_all_ways(into, finals, (1 << len(numbers)) - 1)
    ordered = sorted(numbers)
    made: dict[int, Demands] = {}
    for needed in set(on_all_ways.values()):
        chosen = [one for one in ordered if needed >> numbers[one] & 1]
        of_marks = {what: prices.get((False, what), 0) for is_count, what, _ in chosen if not is_count}
        counts = tuple((what, value, prices.get((True, what), 0)) for is_count, what, value in chosen if is_count)
        made[needed] = Demands(of_marks, counts, sum(of_marks.values()))
    demanded = {(False, mark) for one in made.values() for mark in one.marks}
    demanded |= {(True, slot) for one in made.values() for slot, _, _ in one.counts}
    free = _costs_for_free(block, finals, {key: prices.get(key, 0) for key in demanded}, edge_cost)
    return {node: (free.get(node, FAR), made[needed]) for node, needed in on_all_ways.items()}


def _marks_of_counters(block: list[Edge], following: dict[int, list[Edge]]) -> dict[int, set[int]]:
    """Return the marks that come with each counter's rise, by counter."""
    marks: dict[int, set[int]] = {}
    for _, kind, a, mark, target in block:
        if kind == at.EDGE_OP and a & 255 == at.OP_MARK:
            for slot in _added_after(following, target):
                marks.setdefault(slot, set()).add(mark)
    return marks


def _requirements(kind: int, a: int, value: int, marks: dict[int, set[int]]) -> list[_Requirement]:
    """Return what an edge demands. A count that is reached only when all its marks have come demands those."""
    if kind == at.EDGE_OP and a & 255 == at.OP_MARKED:
        return [(False, value, 0)]
    if kind == at.EDGE_OP and a & 255 == at.OP_AT_LEAST:
        slot = a >> 8
        raised = marks.get(slot, set())
        return [(False, mark, 0) for mark in raised] if len(raised) == value else [(True, slot, value)]
    return []


def _costs_for_free(
    block: list[Edge], finals: set[int], prices: dict[tuple[bool, int], int], edge_cost: Callable[[Edge], int]
) -> dict[int, int]:
    """Return the bytes from each node to the rule's end, the price of what is demanded taken off.

    Weights may be negative, and so may the result, for what has been read but not been counted yet. Cycles never are
    (a price is the cheapest way round), so correcting labels ends.
    """
    into: dict[int, list[tuple[int, int]]] = {}
    for edge in block:
        source, kind, a, b, target = edge
        weight = edge_cost(edge)
        if kind == at.EDGE_OP and a & 255 in (at.OP_MARK, at.OP_ADD):
            weight = -prices.get((False, b) if a & 255 == at.OP_MARK else (True, a >> 8), 0)
        into.setdefault(target, []).append((source, weight))
    cost = {node: 0 for node in into if node in finals}
    work = deque(cost)
    waiting = set(work)
    while work:
        node = work.popleft()
        waiting.discard(node)
        for source, weight in into.get(node, ()):
            through = cost[node] + weight
            # The bound is for safety only: without negative cycles nothing gets near it.
            if -FAR < through < cost.get(source, FAR):
                cost[source] = through
                if source not in waiting:
                    waiting.add(source)
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
    weighted = {node: [(edge[4], edge_cost(edge)) for edge in out] for node, out in following.items()}
    keys: list[tuple[bool, int]] = []
    trips: list[tuple[int, int]] = []
    for out in following.values():
        for source, kind, a, mark, target in out:
            if kind == at.EDGE_OP and a & 255 in (at.OP_MARK, at.OP_ADD):
                keys.append((False, mark) if a & 255 == at.OP_MARK else (True, a >> 8))
                trips.append((target, source))
    prices: dict[tuple[bool, int], int] = {}
    for key, price in zip(keys, round_trips(weighted, trips), strict=True):
        if price is not None:
            prices[key] = min(price, prices.get(key, FAR))
    return prices


def _on_all_ways(into: dict[int, list[tuple[int, int]]], finals: set[int], everything: int) -> dict[int, int]:
    """Return for each node what is demanded on every way from it to a final node (greatest fixpoint), where any is."""
    needs = {node: 0 for node in into if node in finals}
    work = deque(needs)
    waiting = set(work)
    while work:
        node = work.popleft()
        waiting.discard(node)
        for source, needed in into.get(node, ()):
            before = needs.get(source)
            joint = (everything if before is None else before) & (needs[node] | needed)
            if joint != before:
                needs[source] = joint
                if source not in waiting:
                    waiting.add(source)
                    work.append(source)
    return {node: needed for node, needed in needs.items() if needed}
