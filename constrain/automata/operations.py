"""Operations on registers, seen from a rule's graph: what they leave open without reading, and what pruning undoes.

A front end promises that its operations never strand a text: what must be marked can be marked, what must be counted
can be counted, and a comma is offered only while a member is left. Pruning (a value that nothing matches, a key that
the vocabulary cannot spell) takes members away, and the operations have to follow.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from constrain import ir
from constrain.errors import LimitExceededError
from constrain.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from constrain.automata.graph import Edge, RuleGraph

Registers = tuple[frozenset[object], tuple[int, int, int]]
FRESH: Registers = (frozenset(), (0, 0, 0))


def apply(operation: ir.Op, registers: Registers) -> Registers | None:
    """Return the registers after an operation, None if it forbids going on."""
    marks, counters = registers
    here = counters[operation.slot]
    mark = ("mark", operation.value)
    if operation.code == ir.LESS:
        return registers if here < operation.value else None
    if operation.code == ir.AT_LEAST:
        return registers if here >= operation.value else None
    if operation.code == ir.MARKED:
        return registers if mark in marks else None
    if operation.code == ir.UNMARKED:
        return None if mark in marks else registers
    if operation.code == ir.MARK:
        return None if mark in marks else (marks | {mark}, counters)
    if operation.code == ir.INSERT:
        return marks | {text.decode() for text in operation.texts}, counters
    raised = [*counters]
    raised[operation.slot] += operation.value
    return marks, (raised[0], raised[1], raised[2])


def unread(graph: RuleGraph, is_free: Callable[[Edge], bool]) -> set[int]:
    """Return the nodes that are reached from the start over operations that allow it and edges that are free."""
    stack = [(graph.start, FRESH)]
    seen = {stack[0]}
    while stack:
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
    nothing raises stays 0.
    """
    marks: set[int] = set()
    raised_by: dict[int, set[int]] = {}
    raisers: dict[int, int] = {}
    bound: dict[int, int] = {}
    reached = _reached(graph)
    if not any(isinstance(edge.label, ir.Op) for node in reached for edge in graph.edges[node]):
        return False
    for node in reached:
        for edge in graph.edges[node]:
            if isinstance(edge.label, ir.Op) and edge.label.code == ir.MARK:
                marks.add(edge.label.value)
                for slot in _raised_after(graph, edge.target):
                    raised_by.setdefault(slot, set()).add(edge.label.value)
                    bound[slot] = bound.get(slot, 0) + 1
            elif isinstance(edge.label, ir.Op) and edge.label.code == ir.ADD and edge.label.value:
                raisers[edge.label.slot] = raisers.get(edge.label.slot, 0) + 1
    changed = False
    for node in reached:
        kept = []
        for edge in graph.edges[node]:
            label = edge.label
            if isinstance(label, ir.Op):
                # Marks, where no other edge raises the count.
                most = len(raised_by[label.slot]) if bound.get(label.slot) == raisers.get(label.slot, 0) else None
                most = 0 if not raisers.get(label.slot) else most
                if label.code == ir.MARKED and label.value not in marks:
                    changed = True
                    continue
                if label.code == ir.AT_LEAST and most is not None and most < label.value:
                    changed = True
                    continue
                if (
                    label.code == ir.LESS
                    and most
                    and most < label.value
                    and not _ends_without(graph, edge.target, label.slot)
                ):
                    changed = True
                    edge = type(edge)(edge.kind, ir.Op(ir.LESS, label.slot, most), edge.target)
            kept.append(edge)
        graph.edges[node] = kept
    return changed


def _reached(graph: RuleGraph) -> list[int]:
    order, seen = [graph.start], {graph.start}
    for node in order:
        for edge in graph.edges[node]:
            if edge.target not in seen:
                seen.add(edge.target)
                order.append(edge.target)
    return order


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
    seen: set[Hashable] = {node}
    stack = [node]
    while stack:
        here = stack.pop()
        if here in graph.finals:
            return True
        for edge in graph.edges[here]:
            raises = isinstance(edge.label, ir.Op) and edge.label.code == ir.ADD and edge.label.slot == slot
            if not raises and edge.target not in seen:
                seen.add(edge.target)
                stack.append(edge.target)
    return False
