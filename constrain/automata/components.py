"""Strongly connected components, without recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strongly_connected(successors: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Return the components of a graph, each before those that lead to it.

    Source: Tarjan 1972, with an explicit stack.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    on_stack: set[Node] = set()
    stack: list[Node] = []
    out: list[list[Node]] = []
    for root in successors:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while node in on_stack:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    out.append(component[::-1])
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(successors.get(following, ()))))
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return out
