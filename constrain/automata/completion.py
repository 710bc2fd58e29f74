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

from constrain.automata import lexicon as lex
from constrain.automata.costs import Costs
from constrain.automata.demands import FAR
from constrain.automata.fewest import fewest_tokens
from constrain.automata.rests import Rests, one_of_each
from constrain.automata.text_tokens import text_tokens
from constrain.deadline import check
from constrain.errors import LimitExceededError, VocabularyError

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.automata.machine import Machine

# An estimate that is exact leads to a shortest completion under any weight; one that is a little low (keys whose text
# must be new) makes plain A* try every text of equal length, and a weight above 1 prevents that.
_WEIGHT = 2
_MAX_PLANS = 100_000
_MAX_EXAMINED = 256
_MAX_ESTIMATED = 1024
_MAX_TRIED = 1_000_000
_CERTAIN = 1 << 62
_MAX_OBJECTS = 200_000  # made for one budgeted mask
_MAX_WORK = 20_000  # transitions tried for one budgeted mask, about half a second
_KEY_CHOICES = 24


class Completer:
    """Finds completions for the states of one machine; remembers them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lexicon = machine.lexicon
        self._rests = Rests(machine)
        self.costs = Costs(machine, self._rests)
        self._work = 0  # transitions tried, ever
        self._choices: dict[int, list[int]] = {}
        self._links: dict[int, tuple[bytes, int]] = {}
        self._plans: dict[int, tuple[tuple[int, ...], int]] = {}  # tokens, and from where on they are the state's
        self._tried: dict[int, int] = {}  # how many tokens were tried for fewer, by state
        self._effort = 0  # tokens tried, ever
        grammar = machine.grammar
        # The states of a grammar without rules are those of its terminals.
        self._is_regular = grammar.expand is None and not grammar.rules

    # Search

    def _bytes_to_try(self, lexer: int) -> list[int]:
        """Return one good byte for each way on from a lexer state, several for keys, whose text must be new."""
        lexer, _ = self._machine.uncounted(lexer)  # whatever the count
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
            found = one_of_each(lexicon.transitions(inner), per_target)
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

    def _pairs(self, state: int) -> tuple[list[int], list[int]]:
        """Return the lexer states of a state, and the kernel that each one's end enters."""
        pairs: list[tuple[int, int]] = []
        for lexer, kernel in self._machine.content(state).reshape(-1, 2).tolist():
            pairs += [(lexer, kernel)] if lexer else self._machine.first_pairs(kernel)
        return [lexer for lexer, _ in pairs], [kernel for _, kernel in pairs]

    def _likeliest(self, lexers: list[int], kernels: list[int]) -> bytes | None:
        """Return the rest of the terminal that seems to lead to the end soonest."""
        if not lexers:
            return None
        costs = self.costs.of_kernels(kernels) if len(kernels) > 1 else [0]
        totals = [cost + self._rests.cost(lexer) for lexer, cost in zip(lexers, costs, strict=True)]
        return self._rests.rest(lexers[totals.index(min(totals))])

    def _single_bytes(self, lexers: list[int]) -> list[bytes]:
        return [bytes((byte,)) for byte in sorted({byte for lexer in lexers for byte in self._bytes_to_try(lexer)})]

    def _search(self, start: int) -> None:
        """Find a short completion and remember it as links from state to state.

        A state is taken up twice: for the likeliest rest of a terminal, and, if that did not lead on to the end, for
        every other byte. So a wide state costs one look at each of its pairs, not a state for each.
        """
        machine = self._machine
        best = {start: 0}
        came: dict[int, tuple[int, bytes]] = {}
        heap = [(_WEIGHT * self.costs.estimate(start), 0, start, False)]
        for _ in range(machine.limits.max_emptiness_steps):
            check()
            if not heap:
                break
            total, minus, state, again = heapq.heappop(heap)
            if -minus > best[state]:
                continue
            if state in self._links or machine.is_accepting(state):
                while state != start:
                    before, chunk = came[state]
                    self._links[before] = (chunk, state)
                    state = before
                return
            lexers, kernels = self._pairs(state)
            likeliest = None if again else self._likeliest(lexers, kernels)
            ways = self._single_bytes(lexers) if likeliest is None else [likeliest]
            is_literal = len(lexers) == 1 and lex.LITERAL <= lexers[0] < lex.TRIE  # there is no other way
            if likeliest is not None and not is_literal:
                heapq.heappush(heap, (total, minus, state, True))
            for chunk in ways:
                self._work += 1
                after = machine.advance(state, np.frombuffer(chunk, dtype=np.uint8), 0, len(chunk))
                cost = best[state] + len(chunk)
                if after and cost < best.get(after, FAR):
                    best[after] = cost
                    came[after] = (state, chunk)
                    # Ties go to the longer way done: it is nearer the end.
                    heapq.heappush(heap, (cost + _WEIGHT * self.costs.estimate(after), -cost, after, False))
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
            liveness = self._machine.liveness
            found = (self._split(state) if liveness is None else liveness.way(state)), 0
            self._remember(state, found[0])
        return found

    def _split(self, state: int) -> tuple[int, ...]:
        data = self.text(state)
        found = self._machine.vocabulary.fewest_tokens(data)
        if found is None:
            raise VocabularyError(f"the vocabulary cannot spell {data[:60]!r}, which the constraint needs")
        return tuple(found)

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
            try:
                plan, tried = fewest_tokens(self._machine, state, plan, self.costs.estimate, at_most)
            except LimitExceededError:  # a way to the end is known all the same
                tried = at_most + 1
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
        here, liveness = state, self._machine.liveness
        for i, token_id in enumerate(plan):
            if liveness is not None:
                liveness.learn(here, plan[i:])
            known = self._plans.get(here)
            if known is None or len(known[0]) - known[1] > len(plan) - i:
                self._plans[here] = plan, i
            here = self._machine.advance(here, data, int(offsets[token_id]), int(offsets[token_id + 1]))

    def allow(self, state: int, budget: int, mask: npt.NDArray[np.int32], row: npt.NDArray[np.int32]) -> None:
        """Add to `row` the tokens of `mask` after which the text can end with `budget - 1` tokens more.

        Successors are examined state by state, the commonest first: at most _MAX_ESTIMATED are estimated, and
        _MAX_EXAMINED of those completed, while it takes less than _MAX_WORK transitions.
        """
        token_ids = text_tokens(self._machine, mask)
        if len(token_ids) > _MAX_ESTIMATED and self._reads_a_key(state):
            # Every text of a key is a state of its own: look at the shortest tokens only.
            offsets = self._machine.vocabulary.offsets
            lengths = offsets[token_ids + 1] - offsets[token_ids]
            token_ids = np.sort(token_ids[np.argsort(lengths, kind="stable")[:_MAX_ESTIMATED]])
        after = self._machine.successors(state, token_ids)
        states, inverse, counts = np.unique(after, return_inverse=True, return_counts=True)
        good = np.zeros(len(states), dtype=bool)
        examined, enough, tries = 0, self._work + _MAX_WORK, self._effort + _MAX_TRIED
        room = self._machine.num_objects + _MAX_OBJECTS
        for i in np.argsort(-counts, kind="stable")[:_MAX_ESTIMATED].tolist():
            if examined >= _MAX_EXAMINED or self._work > enough:
                break
            if self._machine.num_objects > room or self._machine.is_crowded:
                break  # the room that is left is for the text itself
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
        return any(lex.KEY <= lexer < lex.COUNT for lexer in self._pairs(state)[0])

    def _lower_bound(self, state: int) -> int:
        longest = self._lexicon.tokens.max_depth
        return 1 + -(-self.costs.estimate(state) // longest)
