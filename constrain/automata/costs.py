"""About how many bytes are still needed: per graph node, per set of items, per state.

What registers demand (members that must come, counts that must be reached) is added per rule, see `demands`.
Source: Knuth 1977 (cheapest derivations).
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from constrain.automata import demands
from constrain.automata.demands import FAR, Edge
from constrain.kernels.machine import layout as at

if TYPE_CHECKING:
    from constrain.automata.machine import Machine
    from constrain.automata.rests import Rests

_MOST_ROUNDS = 64
_MANY = 16


class Costs:
    """Estimates for the states of one machine; remembered."""

    def __init__(self, machine: Machine, rests: Rests) -> None:
        self._machine = machine
        self._rests = rests
        self._node_cost: dict[int, int] = {}
        self._needs: dict[int, tuple[int, demands.Demands]] = {}
        self._of_kernel: dict[int, int] = {0: 0}

    def _solve(self) -> None:
        """Compute about the least number of bytes from each graph node to the end of its rule.

        What registers demand (members that must come, counts that must be reached) is added per rule; rounds carry
        those demands from rules to their callers, until nothing changes.
        """
        self._machine.expand_all()
        edges = self._machine.all_edges()
        finals = set(self._machine.final_nodes())
        blocks: dict[int, list[Edge]] = {}
        for edge in edges:
            blocks.setdefault(self._machine.block(edge[0]), []).append(edge)
        demanding = [
            block
            for block in blocks.values()
            if any(kind == at.EDGE_OP and a & 255 in (at.OP_MARKED, at.OP_AT_LEAST) for _, kind, a, _, _ in block)
        ]
        starts = [self._machine.rule_start(a) for _, kind, a, _, _ in edges if kind == at.EDGE_CALL]
        before: list[int] = []
        for _ in range(_MOST_ROUNDS):
            self._solve_nodes(edges, finals)
            costs = [self._item_cost(start, 0) for start in starts] if demanding else before
            if costs == before:
                break
            before = costs
            for block in demanding:
                self._needs.update(demands.of_rule(block, finals, self._edge_cost))

    def _edge_cost(self, edge: Edge) -> int:
        """Return the least number of bytes that an edge reads."""
        _, kind, a, _, _ = edge
        if kind == at.EDGE_TERMINAL:
            return self._rests.cost(a)
        return self._item_cost(self._machine.rule_start(a), 0) if kind == at.EDGE_CALL else 0

    def _solve_nodes(self, edges: list[Edge], finals: set[int]) -> None:
        into: dict[int, list[tuple[int, int, int]]] = {}
        callers: dict[int, list[tuple[int, int]]] = {}
        for source, kind, a, _, target in edges:
            weight = self._rests.cost(a) if kind == at.EDGE_TERMINAL else 0
            start = self._machine.rule_start(a) if kind == at.EDGE_CALL else -1
            into.setdefault(target, []).append((source, weight, start))
            if start >= 0:
                callers.setdefault(start, []).append((source, target))
        cost: dict[int, int] = {}
        heap = [(0, node) for node in finals]
        while heap:
            here, node = heapq.heappop(heap)
            if node in cost:
                continue
            cost[node] = here
            for source, weight, start in into.get(node, ()):
                if start < 0:
                    heapq.heappush(heap, (here + weight, source))
                elif start in cost:
                    heapq.heappush(heap, (here + self._rule_cost(start, cost), source))
            for source, target in callers.get(node, ()):
                if target in cost:
                    heapq.heappush(heap, (self._rule_cost(node, cost) + cost[target], source))
        self._node_cost = cost

    def _rule_cost(self, start: int, cost: dict[int, int]) -> int:
        """Return the bytes of a whole rule, given the plain costs of its nodes."""
        needed = self._needs.get(start)
        return max(cost[start], self._item_cost(start, 0)) if needed else cost[start]

    def _item_cost(self, node: int, registers: int) -> int:
        """Return about how many bytes lead from a node to the end of its rule, with these registers."""
        needed = self._needs.get(node)
        if needed:
            free, demanded = needed
            total = demanded.unmet.get(registers)
            if total is None:
                total = demanded.unmet[registers] = self._unmet(demanded, registers)
            if total:
                return free + total
        return self._node_cost.get(node, FAR)

    def _unmet(self, demanded: demands.Demands, registers: int) -> int:
        """Return the bytes of what is demanded and has not come."""
        tree, *counters = self._machine.content(registers).tolist() if registers else (0, 0, 0, 0)
        total = sum(max(value - counters[slot], 0) * price for slot, value, price in demanded.counts)
        if demanded.marks:
            total += demanded.price_of_marks - self._met(demanded, tree)
        return total

    def _met(self, demanded: demands.Demands, root: int) -> int:
        """Return the bytes of the demanded marks in a set; sets share their parts, so a new one costs its new parts."""
        met = demanded.met
        stack = [root]
        while stack:
            tree = stack[-1]
            if tree in met:
                stack.pop()
                continue
            parts = self._machine.content(tree).tolist()
            if len(parts) == 1:
                met[tree] = 0 if parts[0] & 1 else demanded.marks.get(parts[0] >> 1, 0)
                continue
            missing = [part for part in parts[2:] if part not in met]
            stack.extend(missing)
            if not missing:
                met[tree] = met[parts[2]] + met[parts[3]]
        return met[root]

    def of_kernel(self, kernel: int) -> int:
        """Return the least number of bytes to the end once a kernel is entered."""
        costs = self._of_kernel
        stack = [kernel]
        while stack:
            top = stack[-1]
            if top in costs:
                stack.pop()
                continue
            items = self._machine.content(top).reshape(-1, 3).tolist()
            missing = [back for _, back, _ in items if back not in costs]
            if missing:
                stack.extend(missing)
                continue
            costs[top] = min((self._item_cost(node, regs) + costs[back] for node, back, regs in items), default=FAR)
            stack.pop()
        return costs[kernel]

    def of_kernels(self, kernels: list[int]) -> list[int]:
        """Return `of_kernel` of many kernels; those with one item, as the keys of an object have, all at a time."""
        if len(kernels) < _MANY:
            return [self.of_kernel(kernel) for kernel in kernels]
        items, single = self._machine.single_items(kernels)
        out = np.zeros(len(kernels), dtype=np.int64)
        around = items[:, 1].astype(np.int64) << 32 | items[:, 2]
        for one in np.unique(around[single]).tolist():
            here = np.flatnonzero(single & (around == one))
            back = self.of_kernel(one >> 32)
            registers = one & 0xFFFFFFFF
            out[here] = [back + self._item_cost(node, registers) for node in items[here, 0].tolist()]
        for i in np.flatnonzero(~single).tolist():
            out[i] = self.of_kernel(kernels[i])
        costs: list[int] = out.tolist()
        return costs

    def estimate(self, state: int) -> int:
        """Return about how many bytes are still needed in a state, rarely more than that."""
        if not self._node_cost:
            self._solve()
        lexers, kernels = self._machine.content(state).reshape(-1, 2).T.tolist()
        costs = self.of_kernels(kernels)
        return min(
            (cost + (self._rests.cost(lexer) if lexer else 0) for lexer, cost in zip(lexers, costs, strict=True)),
            default=FAR,
        )
