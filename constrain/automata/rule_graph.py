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

    def shorten(self) -> None:
        """Lead edges past nodes that only lead on: what may follow there is what may follow at the next.

        So the first item of a list and the later ones return to the same node, and lists in lists to the same kernels.
        """
        for node in range(len(self.edges)):
            for edge in self.edges[node]:
                edge.target = self._onward(edge.target)
        self.start = self._onward(self.start)

    def _onward(self, node: int) -> int:
        seen = {node}
        while node not in self.finals and len(self.edges[node]) == 1 and self.edges[node][0].kind == EMPTY:
            node = self.edges[node][0].target
            if node in seen:
                break
            seen.add(node)
        return node


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Name of a rule made for a bounded repeat with large bounds; counted by register 0 of that rule."""

    body: ir.Node
    minimum: int
    maximum: int | None


def copy_name(rule: Counted) -> Hashable:
    """Return the name of the rule for one copy of a counted repeat's body."""
    return ("copy", rule)
