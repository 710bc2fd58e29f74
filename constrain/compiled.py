"""A grammar compiled for a vocabulary: token-level states, masks and transitions.

States are ints: 0 is DEAD, 1 is TERMINATED (an end token was taken), others are interned configurations of the
machine. Everything is lazy and memoised; nothing a caller can see changes, so threads may share one object.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from constrain import ir
from constrain.arguments import instance, items, octets, shown, whole
from constrain.deadline import within
from constrain.errors import EmptyLanguageError
from constrain.kernels.token_bitmask.rows import copy_row, set_bit, writable
from constrain.limits import Limits, checked
from constrain.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from constrain.automata.machine import Machine
    from constrain.automata.tables import Tables
    from constrain.matcher import Matcher

    Array = npt.NDArray[np.int32]

DEAD = 0
TERMINATED = 1
_ROW_MEMORY = 32 << 20
_MAX_TRANSITIONS = 1 << 16
_GENERATION = 32  # bits of a state below the number of its generation


class CompiledGrammar:
    """Automaton of a grammar over the tokens of a vocabulary. Make one with `constrain.compile`.

    Attributes:
        grammar: what was compiled.
        vocabulary: the tokens.
        limits: the limits it was compiled under.
    """

    grammar: ir.Grammar
    vocabulary: Vocabulary
    limits: Limits
    _lock: threading.RLock
    _tables: Tables
    _rows: OrderedDict[int, Array]
    _max_rows: int
    _transitions: dict[tuple[int, int], int]
    _words: int
    _eos: tuple[int, ...]
    _eos_row: Array
    _data: npt.NDArray[np.uint8]
    _offsets: npt.NDArray[np.int64]
    _special: frozenset[int]

    def __init__(self, grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        from constrain.automata.tables import Tables
        from constrain.automata.warmup import warm

        instance("grammar", grammar, ir.Grammar, "a Grammar: constrain.regex(...), choice(...) or json_schema(...)")
        instance("vocabulary", vocabulary, Vocabulary, "a constrain.Vocabulary")
        self._set(grammar=grammar, vocabulary=vocabulary, limits=checked(limits))
        warm()
        with within(self.limits.max_compile_seconds):
            ir.verify(grammar)
            self._set(**_internals(Tables(grammar, vocabulary, self.limits), vocabulary))
            # The first set of items must be closable, so that a language without a member is an error here.
            start, _held = self.begin()
            if not self.is_accepting(start) and not self.next_bytes(start):
                raise EmptyLanguageError(grammar.name, "no sequence of the vocabulary's tokens spells a text of it")

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}={shown(value)}; a compiled grammar cannot be changed, compile another")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} cannot be deleted: a compiled grammar cannot be changed")

    def __copy__(self) -> CompiledGrammar:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledGrammar:
        return self

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

    # Tables, which grow with what has been met, and are begun anew before they meet a limit.

    @property
    def start(self) -> int:
        """Return the state before the first token; whoever goes on from it for long calls `begin` instead."""
        return self._tables.begin()[0]

    @property
    def machine(self) -> Machine:
        """Return the tables that new texts begin in."""
        return self._tables.machine

    def begin(self) -> tuple[int, Machine]:
        """Return the state before the first token, and its tables: states stay valid while those are held."""
        return self._tables.begin()

    def renew(self) -> None:
        """Begin new tables. States of the old ones stay valid while a matcher, or who called `begin`, holds them."""
        self._tables.renew()

    # Masks

    def _row(self, state: int) -> Array:
        """Return the cached mask of a state, end tokens included."""
        if type(state) is not int:  # as a key, True is 1
            state = whole("state", state)
        row = self._rows.get(state)
        return self._new_rows((state,))[0] if row is None else row

    def _new_rows(self, states: Sequence[int]) -> Array:
        """Compute the masks of states of one machine in one call, and keep them."""
        located = [self._tables.locate(state) for state in states]
        rows = np.empty((len(states), self._words), dtype=np.int32)
        machine, inside = located[0][0], [here for _, here in located]
        machine.fill(inside, rows)
        if machine.liveness is not None:
            machine.liveness.prune(inside, rows)
        rows.flags.writeable = False
        with self._lock:
            for state, row in zip(states, rows, strict=True):
                # A view would keep the whole batch alive.
                self._rows[state] = row if len(states) == 1 else row.copy()
                if len(self._rows) > self._max_rows:
                    self._rows.popitem(last=False)
        return rows

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
            TypeError: `bitmask` is no array.
            ValueError: it is not int32[batch, at least the vocabulary's words], is read-only, or has no such row.
        Cost: one row copy for a state met before (about 1 us), else a walk of the tokens that may cross a terminal.
        """
        array = writable(bitmask, self._words)
        mask = self._row(state)
        copy_row(mask, array, row)
        return not self._forbids_nothing(mask)

    def _forbids_nothing(self, mask: Array) -> bool:
        # Special tokens are never allowed, so only a vocabulary without any can be wholly open.
        return bool(mask[0] == -1) and bool((mask[:-1] == -1).all()) and not self._special

    def fill_bitmasks(self, states: Sequence[int], bitmask: Any, rows: Iterable[int] | None = None) -> None:
        """Write the masks of many states, one row each (rows 0, 1, ... unless `rows` says otherwise).

        Masks that are not known yet are computed in one call of the kernel, which releases the GIL, as copying does.
        """
        array = writable(bitmask, self._words)
        states = [whole("state", state) for state in items("states", states, "a list of states")]
        targets = list(range(len(states)) if rows is None else items("rows", rows, "a list of rows"))
        if len(targets) != len(states):
            raise ValueError(f"{len(states)} states for {len(targets)} rows; expected one row for each state")
        for row in targets:
            whole("row", row, 0, len(array))
        made = {state: self._rows.get(state) for state in states}
        missing: dict[int, list[int]] = {}
        for state, mask in made.items():
            if mask is None:
                missing.setdefault(state >> _GENERATION if state > TERMINATED else -1, []).append(state)
        for group in missing.values():
            made.update(zip(group, self._new_rows(group), strict=True))
        for state, row in zip(states, targets, strict=True):
            copy_row(cast("Array", made[state]), array, row)

    # Transitions

    def advance(self, state: int, token_id: int) -> int:
        """Return the state after a token; DEAD (0) if the token is forbidden.

        Raises:
            ValueError: `token_id` is not in the vocabulary.
        """
        if type(token_id) is not int or type(state) is not int:  # as keys, True and 1.0 are 1
            state, token_id = whole("state", state), whole("token_id", token_id)
        after = self._transitions.get((state, token_id))
        if after is not None:
            return after
        if not 0 <= token_id < self.vocabulary.vocab_size:
            raise ValueError(f"token_id={token_id}; expected 0 <= token_id < {self.vocabulary.vocab_size}")
        after = self._advance(state, token_id)
        if len(self._transitions) >= _MAX_TRANSITIONS:
            self._transitions.clear()
        self._transitions[state, token_id] = after
        return after

    def _advance(self, state: int, token_id: int) -> int:
        if token_id in self._eos:
            return TERMINATED if self.is_accepting(state) else DEAD
        start, stop = int(self._offsets[token_id]), int(self._offsets[token_id + 1])
        machine, here = self._tables.locate(state)
        if here <= TERMINATED or start == stop or token_id in self._special:
            return DEAD
        return self._over(state, machine, here, self._data, start, stop)

    def _over(self, state: int, machine: Machine, here: int, data: npt.NDArray[np.uint8], start: int, stop: int) -> int:
        after = machine.advance(here, data, start, stop)
        if not after or (machine.liveness is not None and not machine.liveness.is_live(after)):
            return DEAD
        return after | (int(state) >> _GENERATION << _GENERATION)

    def advance_bytes(self, state: int, data: bytes) -> int:
        """Return the state after some bytes, however they are cut into tokens; DEAD (0) if they are forbidden."""
        if type(data) is not bytes:
            data = octets("data", data)
        machine, here = self._tables.locate(state)
        if not data:
            return int(state)
        if here <= TERMINATED:
            return DEAD
        return self._over(state, machine, here, np.frombuffer(data, dtype=np.uint8), 0, len(data))

    def is_accepting(self, state: int) -> bool:
        """Return whether the text may end in this state."""
        machine, here = self._tables.locate(state)
        return machine.is_accepting(here) if here > TERMINATED else here == TERMINATED

    def accepts(self, data: bytes) -> bool:
        """Return whether `data` as a whole satisfies the constraint."""
        start, _held = self.begin()
        return self.is_accepting(self.advance_bytes(start, data))

    def next_bytes(self, state: int) -> frozenset[int]:
        """Return the bytes that may come next."""
        machine, here = self._tables.locate(state)
        if here <= TERMINATED:
            return frozenset()
        if machine.liveness is not None:
            return machine.liveness.first_bytes(self._row(state))
        return frozenset(np.flatnonzero(machine.next_bytes(here)).tolist())

    def forced_bytes(self, state: int, limit: int = 4096) -> bytes:
        """Return the bytes (at most `limit`) with which every completion begins."""
        limit = whole("limit", limit, 0)
        machine, here = self._tables.locate(state)
        if here <= TERMINATED:
            return b""
        if machine.liveness is not None:
            return machine.liveness.forced_bytes(here, limit)
        out = bytearray()
        while len(out) < limit and not self.is_accepting(state):
            options = self.next_bytes(state)
            if len(options) != 1:
                break
            out += bytes(options)
            state = self.advance_bytes(state, bytes(out[-1:]))
        return bytes(out)

    # Ends

    def distance(self, state: int) -> int:
        """Return a number of tokens that suffice to end, the end token counted (1 in an accepting state).

        It is the least number for regular constraints (`regex`, `choice`), within a bound on the search; elsewhere it
        is what the shortest completion in bytes takes.

        Raises:
            LimitExceededError: no completion was found within `max_emptiness_steps`.
        """
        return len(self.completion(state))

    def completion(self, state: int) -> list[int]:
        """Return token ids, an end token last, that complete the text; `distance(state)` of them.

        Where the vocabulary has no end token, -1 stands for it.
        """
        machine, here = self._tables.locate(state)
        if here == TERMINATED:
            return []
        if here == DEAD:
            raise ValueError("state=0 is DEAD; expected a state from which the constraint can be completed")
        end = self._eos[:1] or (-1,)
        return list(end) if machine.is_accepting(here) else [*machine.completer.fewest(here), *end]

    def allowed_within(self, state: int, budget: int) -> Array:
        """Return the mask of tokens after which the text can still be ended in time.

        Args:
            budget: tokens left, this one and the end token counted.
        Returns:
            int32[words]: a subset of `bitmask(state)`; not empty if `distance(state) <= budget`, except where all that
            is left is an end token, and the vocabulary has none. Where a mask leads to very many states, only the
            likeliest to be needed are examined (see docs/completion.md).
        """
        budget = whole("budget", budget)
        machine, here = self._tables.locate(state)
        row = np.zeros(self._words, dtype=np.int32)
        if budget >= 1 and self.is_accepting(state):
            row |= self._eos_row
        if here > TERMINATED and budget >= 2:
            plan = self.completion(state)
            if len(plan) <= budget and plan[0] >= 0 and plan[0] not in self._eos:
                set_bit(row, plan[0])
            machine.completer.allow(here, budget, self._row(state), row)
        return row

    def matcher(self) -> Matcher:
        """Return a cursor at the start."""
        from constrain.matcher import Matcher

        return Matcher(self)


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
        TypeError: an argument is of a wrong kind.
    """
    from constrain.automata.warmup import warm

    limits = checked(limits)
    instance("vocabulary", vocabulary, Vocabulary, "a constrain.Vocabulary")
    warm()  # what is done once on a machine is not the constraint's time
    with within(limits.max_compile_seconds):
        try:
            return CompiledGrammar(grammar, vocabulary, limits)
        except EmptyLanguageError as error:
            from constrain.automata.missing import missing_character

            missing = missing_character(grammar, vocabulary, limits)
            if missing is None:
                raise
            reason = f"the vocabulary has no tokens for {missing}, which a shortest text of it needs"
            raise EmptyLanguageError(grammar.name, reason) from error


def _internals(tables: Tables, vocabulary: Vocabulary) -> dict[str, Any]:
    words = (vocabulary.vocab_size + 31) // 32
    eos_row = np.zeros(words, dtype=np.int32)
    for token_id in vocabulary.eos_token_ids:
        set_bit(eos_row, token_id)
    return {
        "_lock": threading.RLock(),
        "_tables": tables,
        "_rows": OrderedDict(),
        "_max_rows": max(16, _ROW_MEMORY // (4 * words)),
        "_transitions": {},
        "_words": words,
        "_eos": vocabulary.eos_token_ids,
        "_eos_row": eos_row,
        "_data": np.frombuffer(vocabulary.data, dtype=np.uint8),
        "_offsets": vocabulary.offsets,
        "_special": vocabulary.special_ids,
    }
