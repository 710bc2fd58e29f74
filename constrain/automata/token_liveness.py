"""Which states tokens can finish, for vocabularies that hold tokens without their parts.

The machine reads bytes, so its states are live when bytes that occur in tokens can finish the text. Where the
vocabulary is closed (see `vocabularies.units`) tokens can do what bytes can. Elsewhere a state is live iff the text may
end there or some token leads to a live state, and that takes a search over tokens, the state nearest to the end first:

- when it meets a state that may end, each state from which a known token leads there is live, and remembers that token;
- when nothing is left to search, all that was searched is dead;
- a state whose shortest completion in bytes can be cut into tokens is live at once.

A state is a text at the end of a token. In a rule-based constraint the states may be infinitely many; what a rule can
never finish is found by `token_reach` before anything is searched.
"""

from __future__ import annotations

import heapq
import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from constrain.automata.text_tokens import allowed_tokens, text_tokens
from constrain.deadline import check
from constrain.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from constrain.automata.machine import Machine

_TOKENS_A_STEP = 32
_MAX_EDGES = 2_000_000


class _Reading(NamedTuple):
    """A token being read: where it began in the text, and which it may still be, with the states after."""

    start: int
    tokens: dict[bytes, int]


class TokenLiveness:
    """Decides for the states of one machine whether tokens can finish them; remembers them. Safe to share."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lock = threading.RLock()
        self._live: dict[int, bool] = {0: False, 1: True}
        # For each live state a token and the live state it leads to; none where the text may end or bytes lead on.
        self._links: dict[int, tuple[int, int]] = {}
        self._spelled: dict[int, tuple[int, ...]] = {}
        # What has been searched: distinct states after a state, and for each state the (token, state) that lead there.
        self._after: dict[int, list[int]] = {}
        self._before: dict[int, list[tuple[int, int]]] = {}
        self._edges = 0
        self._is_guided = True

    def is_live(self, state: int) -> bool:
        """Return whether some sequence of tokens finishes the text.

        Raises:
            LimitExceededError: `max_emptiness_steps` were searched without an answer; a step is a state, or 32 tokens.
        """
        found = self._live.get(state)
        if found is None:
            with self._lock:
                found = self._live[state] if state in self._live else self._search(state)
        return found

    def way(self, state: int) -> tuple[int, ...]:
        """Return tokens that finish the text from a live state, without an end token."""
        out: list[int] = []
        with self._lock:
            if not self.is_live(state):
                raise ValueError(f"state={state}; expected one that tokens can finish")
            while state in self._links:
                token_id, state = self._links[state]
                out.append(token_id)
            return (*out, *self._spelled.get(state, ()))

    def learn(self, state: int, way: tuple[int, ...]) -> None:
        """Take note of tokens that finish the text from a state."""
        with self._lock:
            if state not in self._live:
                self._live[state] = True
                self._spelled[state] = way

    def prune(self, states: Sequence[int], rows: npt.NDArray[np.int32]) -> None:
        """Take the tokens that lead to dead states out of the masks of `states`."""
        for state, row in zip(states, rows, strict=True):
            token_ids = text_tokens(self._machine, row)
            after, inverse = np.unique(self._machine.successors(state, token_ids), return_inverse=True)
            dead = np.array([not self.is_live(found) for found in after.tolist()], dtype=bool)
            for token_id in token_ids[dead[inverse]].tolist():
                row[token_id >> 5] &= ~np.uint32(1 << (token_id & 31)).view(np.int32)

    # Bytes

    def first_bytes(self, row: npt.NDArray[np.int32]) -> frozenset[int]:
        """Return the first bytes of the tokens of a mask."""
        vocabulary = self._machine.vocabulary
        starts = vocabulary.offsets[text_tokens(self._machine, row)]
        return frozenset(np.frombuffer(vocabulary.data, dtype=np.uint8)[starts].tolist())

    def forced_bytes(self, state: int, limit: int) -> bytes:
        """Return the bytes (at most `limit`) with which every completion begins, however it is cut into tokens."""
        out = bytearray()
        readings = [self._reading(state, 0)]
        while len(out) < limit and not (state and self._machine.is_accepting(state)):
            options = {token[len(out) - start] for start, tokens in readings for token in tokens}
            if len(options) != 1:
                break
            out += bytes(options)
            readings, state = _read_on(readings, bytes(out))
            if state:
                readings.append(self._reading(state, len(out)))
        return bytes(out)

    def _reading(self, state: int, start: int) -> _Reading:
        vocabulary = self._machine.vocabulary
        token_ids = allowed_tokens(self._machine, state)
        after = self._machine.successors(state, token_ids)
        pairs = zip(token_ids.tolist(), after.tolist(), strict=True)
        return _Reading(start, {vocabulary.token_bytes(i) or b"": to for i, to in pairs if self.is_live(to)})

    # Search

    def _search(self, root: int) -> bool:
        if self._edges > _MAX_EDGES:
            self._after.clear()
            self._before.clear()
            self._edges = 0
        limit = self._machine.limits.max_emptiness_steps
        seen, heap, steps = {root}, [(self._machine.completer.costs.estimate(root), root)], 0
        while heap:
            check()
            _, state = heapq.heappop(heap)
            if self._ends(state):
                self._mark(state)
                return True
            if steps > limit:
                raise LimitExceededError("max_emptiness_steps", limit, "deciding whether tokens can finish a text")
            following, cost = self._expand(state)
            steps += cost
            for after in following:
                known = self._live.get(after)
                if known:
                    self._mark(after)
                    return True
                if known is None and after not in seen:
                    seen.add(after)
                    heapq.heappush(heap, (self._machine.completer.costs.estimate(after), after))
        self._live.update(dict.fromkeys(seen, False))
        return False

    def _ends(self, state: int) -> bool:
        """Return whether a state is live without a search, and remember the tokens that finish it."""
        if self._machine.is_accepting(state):
            return True
        if state not in self._spelled and self._is_guided:
            try:
                found = self._machine.vocabulary.fewest_tokens(self._machine.completer.text(state))
            except LimitExceededError:
                # Keys whose text must be new may make the search for bytes as long as one for tokens.
                self._is_guided, found = False, None
            if found:
                self._spelled[state] = tuple(found)
        return state in self._spelled

    def _expand(self, state: int) -> tuple[list[int], int]:
        """Return the distinct states that tokens lead to, and the steps that took."""
        found = self._after.get(state)
        if found is not None:
            return found, 1
        token_ids = allowed_tokens(self._machine, state)
        states, first = np.unique(self._machine.successors(state, token_ids), return_index=True)
        found = self._after[state] = [after for after in states.tolist() if after]
        self._edges += len(found)
        for after, token_id in zip(states.tolist(), token_ids[first].tolist(), strict=True):
            if after:
                self._before.setdefault(after, []).append((token_id, state))
        return found, 1 + len(token_ids) // _TOKENS_A_STEP

    def _mark(self, state: int) -> None:
        """Mark a state live, and all from which tokens are known to lead there, nearest first."""
        self._live[state] = True
        queue = [state]
        for here in queue:
            for token_id, before in self._before.get(here, ()):
                if before not in self._live:
                    self._live[before] = True
                    self._links[before] = token_id, here
                    queue.append(before)


def _read_on(readings: list[_Reading], text: bytes) -> tuple[list[_Reading], int]:
    """Return the readings that the last byte of `text` leaves, and the state if a token ends there, else 0."""
    kept, state = [], 0
    for start, tokens in readings:
        at = len(text) - start
        fitting = {token: after for token, after in tokens.items() if token[at - 1] == text[-1]}
        # The same bytes lead to the same state, whichever tokens they are.
        state = fitting.pop(text[start:], state)
        if fitting:
            kept.append(_Reading(start, fitting))
    return kept, state
