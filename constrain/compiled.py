"""A grammar compiled for a vocabulary: token-level states, masks and transitions.

States are ints: 0 is DEAD, 1 is TERMINATED (an end token was taken), others are interned configurations of the
machine. Everything is lazy and memoised; nothing a caller can see changes, so threads may share one object.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain import ir
from constrain.errors import EmptyLanguageError, LimitExceededError
from constrain.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from constrain.matcher import Matcher
    from constrain.vocabulary import Vocabulary

    Array = npt.NDArray[np.int32]

DEAD = 0
TERMINATED = 1
_ROW_MEMORY = 32 << 20
_MAX_TRANSITIONS = 1 << 16


class CompiledGrammar:
    """Automaton of a grammar over the tokens of a vocabulary. Make one with `constrain.compile`.

    Attributes:
        grammar: what was compiled.
        vocabulary: the tokens.
        limits: the limits it was compiled under.
        start: the state before the first token.
    """

    def __init__(self, grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        from constrain.automata.machine import Machine
        from constrain.automata.warmup import warm

        warm()
        began = time.perf_counter()
        ir.verify(grammar)
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.limits = limits
        self.machine = Machine(grammar, vocabulary, limits)
        self.start = self.machine.start
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._words = (vocabulary.vocab_size + 31) // 32
        self._eos = tuple(vocabulary.eos_token_ids)
        self._eos_row = np.zeros(self._words, dtype=np.int32)
        for token_id in self._eos:
            self._eos_row[token_id >> 5] |= np.int32(np.uint32(1 << (token_id & 31)).view(np.int32))
        self._data = np.frombuffer(vocabulary.data, dtype=np.uint8)
        self._offsets = vocabulary.offsets
        self._special = vocabulary.special_ids
        self._rows: OrderedDict[int, Array] = OrderedDict()
        self._max_rows = max(16, _ROW_MEMORY // (4 * self._words))
        self._transitions: dict[tuple[int, int], int] = {}
        # The first set of items must be closable, so that a language without a member is an error here.
        if not self.machine.is_accepting(self.start) and not self.machine.next_bytes(self.start).any():
            raise EmptyLanguageError(grammar.name, "no text that the vocabulary can spell matches it")
        if time.perf_counter() - began > limits.max_compile_seconds:
            raise LimitExceededError("max_compile_seconds", limits.max_compile_seconds, "while compiling")

    def __reduce__(self) -> tuple[Any, ...]:
        return compile_grammar, (self.grammar, self.vocabulary, self.limits)

    def __repr__(self) -> str:
        return f"<CompiledGrammar of {self.grammar.name}, {self.num_states} states so far>"

    @property
    def num_states(self) -> int:
        """Return how many token-level states have been met so far."""
        return self.machine.num_states

    @property
    def report(self) -> tuple[ir.ReportItem, ...]:
        """Return what is enforced and how (see `Grammar.report`)."""
        return self.grammar.report

    # Masks

    def _row(self, state: int) -> Array:
        """Return the cached mask of a state, end tokens included."""
        row = self._rows.get(state)
        if row is not None:
            return row
        with self._lock:
            row = np.zeros((1, self._words), dtype=np.int32)
            if state == TERMINATED:
                row[0] = self._eos_row
            elif state != DEAD:
                self.machine.fill(state, row, 0)
                if self.machine.is_accepting(state):
                    row[0] |= self._eos_row
            out: Array = row[0]
            out.flags.writeable = False
            self._rows[state] = out
            if len(self._rows) > self._max_rows:
                self._rows.popitem(last=False)
            return out

    def bitmask(self, state: int) -> Array:
        """Return the mask of a state.

        Returns:
            int32[ceil(vocab_size / 32)]: bit `i % 32` of word `i // 32` is 1 when token i may come next; a copy.
        """
        return self._row(state).copy()

    def fill_bitmask(self, state: int, bitmask: Any, row: int = 0) -> bool:
        """Write the mask of a state into a row of `bitmask`.

        Args:
            bitmask: int32[batch, words], NumPy or torch (CPU, memory is shared); words beyond the vocabulary become 0.
            row: row of `bitmask`.
        Returns:
            False when the row forbids nothing, so that it need not be applied.
        Raises:
            ValueError: `bitmask` is not int32, not two-dimensional, or narrower than the vocabulary.
        Cost: one row copy for a state met before (about 1 us), else a walk of the tokens that may cross a terminal.
        """
        array = _as_array(bitmask, self._words)
        mask = self._row(state)
        array[row, : self._words] = mask
        if array.shape[1] > self._words:
            array[row, self._words :] = 0
        return not self._forbids_nothing(mask)

    def _forbids_nothing(self, mask: Array) -> bool:
        # Special tokens are never allowed, so only a vocabulary without any can be wholly open.
        return bool(mask[0] == -1) and bool((mask[:-1] == -1).all()) and not self._special

    def fill_bitmasks(self, states: Sequence[int], bitmask: Any, rows: Iterable[int] | None = None) -> None:
        """Write the masks of many states, one row each (rows 0, 1, ... unless `rows` says otherwise)."""
        array = _as_array(bitmask, self._words)
        for state, row in zip(states, range(len(states)) if rows is None else rows, strict=True):
            array[row, : self._words] = self._row(state)
            if array.shape[1] > self._words:
                array[row, self._words :] = 0

    # Transitions

    def advance(self, state: int, token_id: int) -> int:
        """Return the state after a token; DEAD (0) if the token is forbidden.

        Raises:
            ValueError: `token_id` is not in the vocabulary.
        """
        found = self._transitions.get((state, token_id))
        if found is not None:
            return found
        if not 0 <= token_id < self.vocabulary.vocab_size:
            raise ValueError(f"token_id={token_id}; expected 0 <= token_id < {self.vocabulary.vocab_size}")
        after = self._advance(state, token_id)
        if len(self._transitions) >= _MAX_TRANSITIONS:
            self._transitions.clear()
        self._transitions[state, token_id] = after
        return after

    def _advance(self, state: int, token_id: int) -> int:
        if token_id in self._eos:
            ends = state == TERMINATED or (state != DEAD and self.machine.is_accepting(state))
            return TERMINATED if ends else DEAD
        start, stop = int(self._offsets[token_id]), int(self._offsets[token_id + 1])
        if state in (DEAD, TERMINATED) or start == stop or token_id in self._special:
            return DEAD
        return self.machine.advance(state, self._data, start, stop)

    def advance_bytes(self, state: int, data: bytes) -> int:
        """Return the state after some bytes, however they are cut into tokens; DEAD (0) if they are forbidden."""
        if state in (DEAD, TERMINATED):
            return state if not data else DEAD
        return self.machine.advance(state, np.frombuffer(data, dtype=np.uint8), 0, len(data)) if data else state

    def is_accepting(self, state: int) -> bool:
        """Return whether the text may end in this state."""
        return state == TERMINATED or (state != DEAD and self.machine.is_accepting(state))

    def accepts(self, data: bytes) -> bool:
        """Return whether `data` as a whole satisfies the constraint."""
        return self.is_accepting(self.advance_bytes(self.start, data))

    def next_bytes(self, state: int) -> frozenset[int]:
        """Return the bytes that may come next."""
        if state in (DEAD, TERMINATED):
            return frozenset()
        return frozenset(np.flatnonzero(self.machine.next_bytes(state)).tolist())

    def forced_bytes(self, state: int, limit: int = 4096) -> bytes:
        """Return the bytes (at most `limit`) with which every completion begins."""
        out = bytearray()
        while state > TERMINATED and len(out) < limit and not self.machine.is_accepting(state):
            options = np.flatnonzero(self.machine.next_bytes(state))
            if len(options) != 1:
                break
            out.append(int(options[0]))
            state = self.advance_bytes(state, bytes(out[-1:]))
        return bytes(out)

    # Ends

    @property
    def _completer(self) -> Any:
        from constrain.automata.completion import Completer

        found = self.__dict__.get("_made_completer")
        if found is None:
            found = self.__dict__["_made_completer"] = Completer(self.machine)
        return found

    def distance(self, state: int) -> int:
        """Return a number of tokens that suffice to end, the end token counted (1 in an accepting state).

        Raises:
            LimitExceededError: no completion was found within `max_emptiness_steps`.
        """
        return len(self.completion(state)) if state != TERMINATED else 0

    def completion(self, state: int) -> list[int]:
        """Return token ids, an end token last, that complete the text; `distance(state)` of them."""
        if state == TERMINATED:
            return []
        if state == DEAD:
            raise ValueError("state=0 is DEAD; expected a state from which the constraint can be completed")
        end = self._eos[:1]
        if self.machine.is_accepting(state):
            return list(end) or [-1]
        return [*self._completer.tokens(state), *(end or (-1,))]

    def allowed_within(self, state: int, budget: int) -> Array:
        """Return the mask of tokens after which the text can still be ended in time.

        Args:
            budget: tokens left, this one and the end token counted.
        Returns:
            int32[words]: a subset of `bitmask(state)`; not empty if `distance(state) <= budget`. Where a mask leads to
            very many states, only the likeliest to be needed are examined (see docs/completion.md).
        """
        row = np.zeros(self._words, dtype=np.int32)
        if budget >= 1 and self.is_accepting(state):
            row |= self._eos_row
        if state > TERMINATED and budget >= 2:
            plan = self.completion(state)
            if len(plan) <= budget and plan[0] not in self._eos:
                _set_bit(row, plan[0])
            self._completer.allow(state, budget, self._row(state) & ~self._eos_row, row)
        return row

    def matcher(self) -> Matcher:
        """Return a cursor at the start."""
        from constrain.matcher import Matcher

        return Matcher(self)


def _set_bit(row: Array, token_id: int) -> None:
    row[token_id >> 5] |= np.uint32(1 << (token_id & 31)).view(np.int32)


def _as_array(bitmask: Any, words: int) -> Array:
    """Return a bitmask as a NumPy array that shares its memory, checked."""
    array = bitmask if isinstance(bitmask, np.ndarray) else np.asarray(bitmask)
    if array.dtype != np.int32 or array.ndim != 2:
        raise ValueError(f"bitmask is {array.dtype}{list(array.shape)}; expected int32[batch, words]")
    if array.shape[1] < words:
        raise ValueError(
            f"bitmask has {array.shape[1]} words a row, narrower than the vocabulary; expected at least {words}"
        )
    return array


def compile_grammar(grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits | None = None) -> CompiledGrammar:
    """Compile a constraint for a vocabulary.

    Args:
        grammar: from `json_schema`, `regex`, `choice`, ...
        vocabulary: the model's tokens.
        limits: named limits; defaults are generous.
    Returns:
        A `CompiledGrammar`; most of the work is put off until states are met.
    Raises:
        EmptyLanguageError: nothing satisfies the constraint, or nothing that the vocabulary can spell.
        LimitExceededError: a named limit was met.
    """
    return CompiledGrammar(grammar, vocabulary, limits or DEFAULT_LIMITS)
