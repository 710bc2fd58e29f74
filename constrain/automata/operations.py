"""Operations on registers, seen from a rule's graph: what they leave open without reading, and what pruning undoes.

A front end promises that its operations never strand a text: what must be marked can be marked, what must be counted
can be counted, and a comma is offered only while a member is left. Pruning (a value that nothing matches, a key that
the vocabulary cannot spell) takes members away, and the operations have to follow.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from constrain import ir
from constrain.automata.components import strongly_connected
from constrain.deadline import check
from constrain.errors import LimitExceededError
from constrain.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from constrain.automata.rule_graph import Edge, RuleGraph

Registers = tuple[frozenset[object], int, int, int]
"""(marks and texts of keys, three counters)."""
FRESH: Registers = (frozenset(), 0, 0, 0)


def apply(operation: ir.Op, registers: Registers) -> Registers | None:
    """Return the registers after an operation, None if it forbids going on."""
    marks, *counters = registers
    mark = ("mark", operation.value)
    if operation.code == ir.LESS and not counters[operation.slot] < operation.value:
        return None
    if operation.code == ir.AT_LEAST and not counters[operation.slot] >= operation.value:
        return None
    if operation.code == ir.MARKED and mark not in marks:
        return None
    if operation.code in {ir.UNMARKED, ir.MARK} and mark in marks:
        return None
    if operation.code == ir.ADD:
        counters[operation.slot] += operation.value
    elif operation.code == ir.MARK:
        marks |= {mark}
    elif operation.code == ir.INSERT:
        marks |= {text.decode() for text in operation.texts}
    return marks, counters[0], counters[1], counters[2]


def unread(graph: RuleGraph, is_free: Callable[[Edge], bool]) -> set[int]:
    """Return the nodes that are reached from the start over operations that allow it and edges that are free."""
    stack = [(graph.start, FRESH)]
    seen = {stack[0]}
    while stack:
        check()
        node, registers = stack.pop()
        for edge in graph.edges[node]:
            after: Registers | None = registers if is_free(edge) else None
            if isinstance(edge.label, ir.Op):
                after = apply(edge.label, registers)
            if after is not None and (edge.target, after) not in seen:
                seen.add((edge.target, after))
                stack.append((edge.target, after))
        if len(seen) > DEFAULT_LIMITS.max_emptiness_steps:
            raise LimitExceededError(
                "max_emptiness_steps", DEFAULT_LIMITS.max_emptiness_steps, "in a rule's operations"
            )
    return {node for node, _ in seen}


def refit(graph: RuleGraph) -> bool:
    """Take out what can no longer be met, in place; return whether anything changed.

    Marks that nothing sets cannot be demanded; a count that only marks raise ends at the number of marks; one that
    nothing raises stays 0; and one that no loop raises is at most what a single way to a node adds.
    """
    reached = graph.reachable()
    found = [edge for node in reached for edge in graph.edges[node] if isinstance(edge.label, ir.Op)]
    if not found:
        return False
    marks, most = _attainable(graph, found)
    unmet = _unmeetable(graph, reached)
    changed = False
    for node in reached:
        edges = graph.edges[node]
        kept = [edge for edge in edges if id(edge) not in unmet]
        graph.edges[node] = [after for edge in kept if (after := _refitted(graph, edge, marks, most)) is not None]
        changed = changed or graph.edges[node] != edges
    return changed


def _attainable(graph: RuleGraph, found: list[Edge]) -> tuple[set[int], dict[int, int]]:
    """Return the marks that some operation sets, and how far counters can rise, by slot, where that is known."""
    raised_by: dict[int, list[int]] = {slot: [] for slot in range(3)}
    raisers = dict.fromkeys(raised_by, 0)
    for edge in found:
        operation = cast("ir.Op", edge.label)
        if operation.code == ir.MARK:
            for slot in _raised_after(graph, edge.target):
                raised_by[slot].append(operation.value)
        elif operation.code == ir.ADD and operation.value:
            raisers[operation.slot] += 1
    marks = {operation.value for edge in found if (operation := cast("ir.Op", edge.label)).code == ir.MARK}
    # A counter that something else raises too has no entry; one that nothing raises stays 0.
    return marks, {slot: len(set(by)) for slot, by in raised_by.items() if len(by) == raisers[slot]}


def _unmeetable(graph: RuleGraph, reached: list[int]) -> set[int]:
    """Return the ids of edges that demand more than any way to them can have counted."""
    demands = [
        (node, edge, edge.label)
        for node in reached
        for edge in graph.edges[node]
        if isinstance(edge.label, ir.Op) and edge.label.code == ir.AT_LEAST and edge.label.value
    ]
    if not demands:
        return set()
    order = strongly_connected({node: [edge.target for edge in graph.edges[node]] for node in reached})[::-1]
    highest = {slot: _highest(graph, order, slot) for slot in {operation.slot for _, _, operation in demands}}
    return {id(edge) for node, edge, operation in demands if highest[operation.slot][node] < operation.value}


def _highest(graph: RuleGraph, order: list[list[int]], slot: int) -> dict[int, float]:
    """Return the most that ways from the start to each node add to a counter.

    Args:
        order: the strongly connected components, each before those that it leads to.
    """
    most: dict[int, float] = {node: 0 for component in order for node in component}
    for component in order:
        inside = set(component)
        here: float = max(most[node] for node in component)
        edges = [edge for node in component for edge in graph.edges[node]]
        if any(edge.target in inside and _added(edge, slot) for edge in edges):
            here = math.inf
        most.update(dict.fromkeys(component, here))
        for edge in edges:
            if edge.target not in inside:
                most[edge.target] = max(most[edge.target], here + _added(edge, slot))
    return most


def _added(edge: Edge, slot: int) -> int:
    """Return what an edge adds to a counter."""
    operation = edge.label
    adds = isinstance(operation, ir.Op) and operation.code == ir.ADD and operation.slot == slot
    return cast("ir.Op", operation).value if adds else 0


def _refitted(graph: RuleGraph, edge: Edge, marks: set[int], most: dict[int, int]) -> Edge | None:
    """Return the edge, with a bound that can still be met; None if it can never be passed."""
    operation = edge.label
    if not isinstance(operation, ir.Op):
        return edge
    if operation.code == ir.MARKED and operation.value not in marks:
        return None
    count = most.get(operation.slot)
    if count is None or count >= operation.value:
        return edge
    if operation.code == ir.AT_LEAST:
        return None
    if operation.code == ir.LESS and count and not _ends_without(graph, edge.target, operation.slot):
        return replace(edge, label=ir.Op(ir.LESS, operation.slot, count))
    return edge


def _raised_after(graph: RuleGraph, node: int) -> list[int]:
    """Return the counters raised by one in the operations that follow a node without a choice."""
    slots: list[int] = []
    seen: set[int] = set()
    while len(graph.edges[node]) == 1 and node not in seen:
        seen.add(node)
        edge = graph.edges[node][0]
        if isinstance(edge.label, ir.Op) and edge.label.code == ir.ADD and edge.label.value == 1:
            slots.append(edge.label.slot)
        elif edge.label is not None:
            break
        node = edge.target
    return slots


def _ends_without(graph: RuleGraph, node: int, slot: int) -> bool:
    """Return whether the rule can end from a node without raising a counter."""
    seen = {node}
    stack = [node]
    while stack:
        here = stack.pop()
        if here in graph.finals:
            return True
        for edge in graph.edges[here]:
            if not _added(edge, slot) and edge.target not in seen:
                seen.add(edge.target)
                stack.append(edge.target)
    return False
