"""A rule of a grammar as a small graph: the readable form, from which the machine's table is written."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from constrain import ir

EMPTY, TERMINAL, CALL, OP = range(4)
NODES_PER_SIZE = 10  # graph nodes that one unit of `max_regex_size` pays for


@dataclass(slots=True)
class Edge:
    """One edge. `label`: the terminal's IR node, the rule's name, or the Op."""

    kind: int
    label: Hashable
    target: int


@dataclass(slots=True)
class RuleGraph:
    """Nodes 0..n-1, each with its edges; text may end at `finals`."""

    edges: list[list[Edge]] = field(default_factory=list)
    start: int = 0
    finals: set[int] = field(default_factory=set)

    def node(self) -> int:
        """Add a node."""
        self.edges.append([])
        return len(self.edges) - 1

    def add(self, source: int, kind: int, label: Hashable, target: int) -> None:
        """Add an edge."""
        self.edges[source].append(Edge(kind, label, target))

    def reachable(self) -> list[int]:
        """Return the nodes that can be reached from the start, breadth first."""
        order, seen = [self.start], {self.start}
        for node in order:
            for edge in self.edges[node]:
                if edge.target not in seen:
                    seen.add(edge.target)
                    order.append(edge.target)
        return order


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Name of a rule made for a bounded repeat with large bounds; counted by register 0 of that rule."""

    body: ir.Node
    minimum: int
    maximum: int | None


def copy_name(rule: Counted) -> Hashable:
    """Return the name of the rule for one copy of a counted repeat's body."""
    return ("copy", rule)
