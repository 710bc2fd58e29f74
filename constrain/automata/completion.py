"""The shortest way to finish a text, and so how many tokens suffice.

`distance` must be *realisable*: if it says k, then k tokens (the end token counted) really end the text. So it is the
length of an actual completion: a shortest one in bytes, found by A* over the machine's states, then cut into the
fewest tokens. The estimate that guides A* is the cost of finishing each item when registers forbid nothing (one
fixpoint over rules and lexer states), which is exact for most grammars, so the search goes straight to the end.

Source: Knuth 1977 (cheapest derivations); Hart, Nilsson, Raphael 1968 (A*).
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from constrain.automata import demands
from constrain.automata import lexicon as lex
from constrain.automata.demands import Edge
from constrain.automata.fewest import fewest_tokens
from constrain.errors import LimitExceededError, VocabularyError
from constrain.kernels.machine import layout as at
from constrain.kernels.token_bitmask import unpack_bitmask

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.automata.machine import Machine

_FAR = demands.FAR
_ROUNDS = 3
# An estimate that is exact leads to a shortest completion under any weight; one that is a little low (keys whose text
# must be new) makes plain A* try every text of equal length, and a weight above 1 prevents that.
_WEIGHT = 2
_MAX_PLANS = 100_000
_MAX_EXAMINED = 256
_MAX_ESTIMATED = 1024
_MAX_TRIED = 1_000_000
_CERTAIN = 1 << 62
_MAX_WORK = 20_000  # transitions tried for one budgeted mask, about half a second
_PREFERRED = b'aeiou0123456789bcdfghjklmnpqrstvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]}),.:;[{( -_'
_RANK = np.full(256, 255, dtype=np.int64)
_RANK[np.frombuffer(_PREFERRED, dtype=np.uint8)] = np.arange(len(_PREFERRED))
_KEY_CHOICES = 24


class Completer:
    """Finds completions for the states of one machine; remembers them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lexicon = machine.lexicon
        self._node_cost: dict[int, int] = {}
        self._needs: dict[int, tuple[int, tuple[demands.Demand, ...]]] = {}
        self._kernel_cost: dict[int, int] = {0: 0}
        self._lexer_cost: dict[int, int] = {}
        self._work = 0  # transitions tried, ever
        self._choices: dict[int, list[int]] = {}
        self._links: dict[int, tuple[bytes, int]] = {}
        self._plans: dict[int, tuple[tuple[int, ...], int]] = {}  # tokens, and from where on they are the state's
        self._tried: dict[int, int] = {}  # how many tokens were tried for fewer, by state
        self._effort = 0  # tokens tried, ever
        grammar = machine.grammar
        # The states of a grammar without rules are those of its terminals.
        self._is_regular = grammar.expand is None and not grammar.rules

    # Costs

    def _solve(self) -> None:
        """Compute about the least number of bytes from each graph node to the end of its rule.

        What registers demand (members that must come, counts that must be reached) is added per rule; a few rounds
        carry those demands from rules to their callers.
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
        for _ in range(_ROUNDS if demanding else 1):
            self._solve_nodes(edges, finals)
            for block in demanding:
                self._needs.update(demands.of_rule(block, finals, self._edge_cost))

    def _edge_cost(self, edge: Edge) -> int:
        """Return the least number of bytes that an edge reads."""
        _, kind, a, _, _ = edge
        if kind == at.EDGE_TERMINAL:
            return self._terminal_cost(a)
        return self._item_cost(self._machine.rule_start(a), 0) if kind == at.EDGE_CALL else 0

    def _solve_nodes(self, edges: list[Edge], finals: set[int]) -> None:
        into: dict[int, list[tuple[int, int, int]]] = {}
        callers: dict[int, list[tuple[int, int]]] = {}
        for source, kind, a, _, target in edges:
            weight = self._terminal_cost(a) if kind == at.EDGE_TERMINAL else 0
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
                    heapq.heappush(heap, (here + self._rule_cost(node, cost) + cost[target], source))
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
            counters = self._machine.content(registers).tolist()[1:] if registers else (0, 0, 0)
            total = 0
            for is_count, what, value, price in demanded:
                if is_count:
                    total += max(value - counters[what], 0) * price
                elif not self._machine.has_mark(registers, what):
                    total += price
            if total:
                return free + total
        return self._node_cost.get(node, _FAR)

    def _terminal_cost(self, state: int) -> int:
        """Return the least number of bytes, at least one, from a lexer state to the end of its terminal."""
        found = self._lexer_cost.get(state)
        if found is None:
            found = self._lexer_cost[state] = self._measure(state)
        return found

    def _measure(self, state: int) -> int:
        lexicon = self._lexicon
        if lex.KEY <= state < lex.COUNT:
            return self._terminal_cost(self._machine.key_parts(state - lex.KEY)[0])
        state, count = self._machine.uncounted(state)
        if state >= lex.TRIE:
            return self._trie_cost(state - lex.TRIE)
        if state >= lex.LITERAL:
            literals = lexicon.arena["literals"]
            first = state - lex.LITERAL
            length = 0
            while literals[first + length] >= 0:
                length += 1
            return length
        return 0 if state <= lex.LEX_END else lexicon.least_bytes(state, count)

    def _trie_cost(self, node: int) -> int:
        trie = self._lexicon.arena["trie"].reshape(-1, 4)
        end = int(trie[node, 2])
        inside = trie[node + 1 : end + 1]
        members = np.flatnonzero(inside[1:, 3] > inside[:-1, 3])
        return int(inside[members, 1].min() - trie[node, 1]) if len(members) else _FAR

    def kernel_cost(self, kernel: int) -> int:
        """Return the least number of bytes to the end once a kernel is entered."""
        costs = self._kernel_cost
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
            costs[top] = min((self._item_cost(node, regs) + costs[back] for node, back, regs in items), default=_FAR)
            stack.pop()
        return costs[kernel]

    def estimate(self, state: int) -> int:
        """Return about how many bytes are still needed in a state, rarely more than that."""
        if not self._node_cost:
            self._solve()
        best = _FAR
        for lexer, kernel in self._machine.content(state).reshape(-1, 2).tolist():
            best = min(best, self.kernel_cost(kernel) + (self._terminal_cost(lexer) if lexer else 0))
        return best

    # Search

    def _bytes_to_try(self, lexer: int) -> list[int]:
        """Return one good byte for each way on from a lexer state, several for keys, whose text must be new."""
        found = self._choices.get(lexer)
        if found is not None:
            return found
        lexicon = self._lexicon
        per_target = 1
        inner = lexer
        if lex.KEY <= lexer < lex.COUNT:
            inner, per_target = self._machine.key_parts(lexer - lex.KEY)[0], _KEY_CHOICES
        inner, _ = self._machine.uncounted(inner)
        if inner < lex.LITERAL:
            row = lexicon.transitions(inner)
            order = np.argsort(_RANK, kind="stable")
            taken: dict[int, int] = {}
            found = []
            for byte, target in zip(order.tolist(), row[order].tolist(), strict=True):
                if target and taken.get(target, 0) < per_target:
                    taken[target] = taken.get(target, 0) + 1
                    found.append(byte)
        elif inner < lex.TRIE:
            found = [int(lexicon.arena["literals"][inner - lex.LITERAL])]
        else:
            trie = lexicon.arena["trie"].reshape(-1, 4)
            found, child, end = [], inner - lex.TRIE + 1, int(trie[inner - lex.TRIE, 2])
            while child < end:
                found.append(int(trie[child, 0]))
                child = int(trie[child, 2])
        self._choices[lexer] = found
        return found

    def _ways(self, state: int) -> list[bytes]:
        """Return byte strings to go on with: the rest of a literal as a whole, else single bytes."""
        pairs = self._machine.content(state).reshape(-1, 2).tolist()
        lexers: list[int] = []
        for lexer, kernel in pairs:
            lexers += [lexer] if lexer else self._machine.first_lexers(kernel)
        if len(lexers) == 1 and lex.LITERAL <= lexers[0] < lex.TRIE:
            literals = self._lexicon.arena["literals"]
            first = lexers[0] - lex.LITERAL
            return [bytes(literals[first : first + self._terminal_cost(lexers[0])].tolist())]
        return [bytes((byte,)) for byte in sorted({byte for lexer in lexers for byte in self._bytes_to_try(lexer)})]

    def _search(self, start: int) -> None:
        """Find a shortest completion and remember it as links from state to state."""
        machine = self._machine
        best = {start: 0}
        came: dict[int, tuple[int, bytes]] = {}
        heap = [(_WEIGHT * self.estimate(start), 0, start)]
        for _ in range(machine.limits.max_emptiness_steps):
            if not heap:
                break
            _, minus, state = heapq.heappop(heap)
            if -minus > best[state]:
                continue
            if state in self._links or machine.is_accepting(state):
                while state != start:
                    before, chunk = came[state]
                    self._links[before] = (chunk, state)
                    state = before
                return
            for chunk in self._ways(state):
                self._work += 1
                after = machine.advance(state, np.frombuffer(chunk, dtype=np.uint8), 0, len(chunk))
                cost = best[state] + len(chunk)
                if after and cost < best.get(after, _FAR):
                    best[after] = cost
                    came[after] = (state, chunk)
                    # Ties go to the longer way done: it is nearer the end.
                    heapq.heappush(heap, (cost + _WEIGHT * self.estimate(after), -cost, after))
        raise LimitExceededError(
            "max_emptiness_steps", machine.limits.max_emptiness_steps, "looking for the shortest completion"
        )

    def text(self, state: int) -> bytes:
        """Return the bytes of a short completion."""
        out = []
        while not self._machine.is_accepting(state):
            if state not in self._links:
                self._search(state)
            chunk, state = self._links[state]
            out.append(chunk)
        return b"".join(out)

    def tokens(self, state: int) -> tuple[int, ...]:
        """Return the token ids of a short completion, without an end token.

        Raises:
            VocabularyError: the vocabulary has no tokens to spell it with.
        """
        plan, first = self._plan(state)
        return plan[first:]

    def _plan(self, state: int) -> tuple[tuple[int, ...], int]:
        found = self._plans.get(state)
        if found is None:
            data = self.text(state)
            split = self._machine.vocabulary.fewest_tokens(data)
            if split is None:
                raise VocabularyError(f"the vocabulary cannot spell {data[:60]!r}, which the constraint needs")
            found = tuple(split), 0
            self._remember(state, found[0])
        return found

    def _length(self, state: int) -> int:
        """Return how many tokens `tokens(state)` has."""
        plan, first = self._plan(state)
        return len(plan) - first

    def fewest(self, state: int, at_most: int = _MAX_TRIED) -> tuple[int, ...]:
        """Return the token ids of a completion, without an end token: the fewest, where the constraint is regular.

        Args:
            at_most: tokens to try; if they do not suffice, the completion is one of the fewest bytes.
        """
        plan = self.tokens(state)
        if self._is_regular and len(plan) > 1 and self._tried.get(state, -1) < at_most:
            plan, tried = fewest_tokens(self._machine, state, plan, self.estimate, at_most)
            self._effort += tried
            self._tried[state] = at_most if tried > at_most else _CERTAIN
            self._remember(state, plan)
        return plan

    def _remember(self, state: int, plan: tuple[int, ...]) -> None:
        """Keep a plan, and its rests for the states that it passes, so that following it never gets longer."""
        if len(self._plans) > _MAX_PLANS:
            self._plans.clear()
            self._tried.clear()
        data = np.frombuffer(self._machine.vocabulary.data, dtype=np.uint8)
        offsets = self._machine.vocabulary.offsets
        here = state
        for i, token_id in enumerate(plan):
            known = self._plans.get(here)
            if known is None or len(known[0]) - known[1] > len(plan) - i:
                self._plans[here] = plan, i
            here = self._machine.advance(here, data, int(offsets[token_id]), int(offsets[token_id + 1]))

    def allow(self, state: int, budget: int, mask: npt.NDArray[np.int32], row: npt.NDArray[np.int32]) -> None:
        """Add to `row` the tokens of `mask` after which the text can end with `budget - 1` tokens more.

        Successors are examined state by state, the commonest first: at most _MAX_ESTIMATED are estimated, and
        _MAX_EXAMINED of those completed, while it takes less than _MAX_WORK transitions.
        """
        token_ids = np.flatnonzero(unpack_bitmask(mask, self._machine.vocabulary.vocab_size))
        if len(token_ids) > _MAX_ESTIMATED and self._reads_a_key(state):
            # Every text of a key is a state of its own: look at the shortest tokens only.
            offsets = self._machine.vocabulary.offsets
            lengths = offsets[token_ids + 1] - offsets[token_ids]
            token_ids = np.sort(token_ids[np.argsort(lengths, kind="stable")[:_MAX_ESTIMATED]])
        after = self._machine.successors(state, token_ids)
        states, inverse, counts = np.unique(after, return_inverse=True, return_counts=True)
        good = np.zeros(len(states), dtype=bool)
        examined, enough, tries = 0, self._work + _MAX_WORK, self._effort + _MAX_TRIED
        for i in np.argsort(-counts, kind="stable")[:_MAX_ESTIMATED].tolist():
            if examined >= _MAX_EXAMINED or self._work > enough:
                break
            if states[i] == 0:
                continue
            if self._lower_bound(int(states[i])) > budget - 1:
                continue
            examined += 1
            accepting = self._machine.is_accepting(int(states[i]))
            good[i] = budget >= 2 and (accepting or self._length(int(states[i])) + 1 <= budget - 1)
            if self._is_regular and not good[i] and tries > self._effort:
                good[i] = len(self.fewest(int(states[i]), tries - self._effort)) + 1 <= budget - 1
        chosen = token_ids[good[inverse]]
        words = np.zeros(len(row) * 32, dtype=np.uint8)
        words[chosen] = 1
        row |= np.packbits(words, bitorder="little").view(np.int32)

    def _reads_a_key(self, state: int) -> bool:
        for lexer, kernel in self._machine.content(state).reshape(-1, 2).tolist():
            lexers = [lexer] if lexer else self._machine.first_lexers(kernel)
            if any(lex.KEY <= one < lex.COUNT for one in lexers):
                return True
        return False

    def _lower_bound(self, state: int) -> int:
        longest = self._lexicon.tokens.max_depth
        return 1 + -(-self.estimate(state) // longest)
