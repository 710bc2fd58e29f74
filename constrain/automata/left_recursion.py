"""Left recursion becomes a loop, so that closing a set of items always ends.

Source: the left-corner closure of a set of mutually left-recursive rules read as a regular loop; own.
"""

from __future__ import annotations

from collections.abc import Hashable

from constrain.automata.components import strongly_connected
from constrain.automata.operations import unread
from constrain.automata.rule_graph import CALL, EMPTY, NODES_PER_SIZE, TERMINAL, Edge, RuleGraph
from constrain.errors import LimitExceededError
from constrain.limits import Limits


def reach_empty(graph: RuleGraph, nullable: set[Hashable]) -> set[int]:
    """Return the nodes reached from the start without reading anything."""
    return unread(graph, lambda edge: edge.kind == EMPTY or (edge.kind == CALL and edge.label in nullable))


def layered(graph: RuleGraph, cut: frozenset[Hashable]) -> RuleGraph:
    """Return two copies of a graph: nothing read yet (nodes 0..n-1), something read (n..2n-1).

    Only in the second may the text end. In the first, calls of rules in `cut` are left out.
    """
    size = len(graph.edges)
    out = RuleGraph([[] for _ in range(2 * size)], graph.start, {size + final for final in graph.finals})
    for node, edges in enumerate(graph.edges):
        for edge in edges:
            if edge.kind != CALL or edge.label not in cut:
                reads = edge.kind in (TERMINAL, CALL)
                out.add(node, edge.kind, edge.label, edge.target + (size if reads else 0))
            out.add(size + node, edge.kind, edge.label, size + edge.target)
    return out


def left_calls(graph: RuleGraph) -> set[Hashable]:
    return {e.label for node in reach_empty(graph, set()) for e in graph.edges[node] if e.kind == CALL}


def without_left_recursion(graphs: dict[Hashable, RuleGraph], limits: Limits) -> None:
    """Replace the graphs of left-recursive rules by graphs with loops, in place.

    In a set C of mutually left-recursive rules, a text of A is a *seed*, some rule's text that begins otherwise, after
    which "we have a B" can become "we have a D" by reading what follows B in a rule of D that begins with B.
    """
    calls = {name: {c for c in left_calls(graph) if c in graphs} for name, graph in graphs.items()}
    for component in strongly_connected(calls):
        if len(component) == 1 and component[0] not in calls[component[0]]:
            continue
        members = frozenset(component)
        size = len(component) * sum(len(graphs[member].edges) for member in component)
        if size > NODES_PER_SIZE * limits.max_regex_size:
            raise LimitExceededError("max_regex_size", limits.max_regex_size, "in mutually left-recursive rules")
        made = {entry: _climb(graphs, component, members, entry) for entry in component}
        graphs.update(made)


def _climb(
    graphs: dict[Hashable, RuleGraph], component: list[Hashable], members: frozenset[Hashable], entry: Hashable
) -> RuleGraph:
    out = RuleGraph()
    start = out.node()
    have = {name: out.node() for name in component}
    for name in component:
        part = layered(graphs[name], members)
        base, size = len(out.edges), len(graphs[name].edges)
        for edges in part.edges:
            out.edges.append([Edge(e.kind, e.label, base + e.target) for e in edges])
        out.add(start, EMPTY, None, base + part.start)
        for final in part.finals:
            out.add(base + final, EMPTY, None, have[name])
        for node in reach_empty(graphs[name], set()):
            for edge in graphs[name].edges[node]:
                if edge.kind == CALL and edge.label in members:
                    out.add(have[edge.label], EMPTY, None, base + size + edge.target)
    out.start = start
    out.finals = {have[entry]}
    return out
