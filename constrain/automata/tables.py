"""The machines of one compiled grammar, one after another: tables are begun anew before they meet a limit.

A token-level state is a machine's state with the number of that machine, its generation, above it. States 0 (dead) and
1 (terminated) are the same in all of them.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from constrain.arguments import whole
from constrain.automata.machine import Machine
from constrain.errors import LimitExceededError

if TYPE_CHECKING:
    from constrain import ir
    from constrain.limits import Limits
    from constrain.vocabulary import Vocabulary

GENERATION = 32  # bits of a state below the number of its generation
STATE = (1 << GENERATION) - 1
_FIXED = 1  # the last state that all generations share
_MAX_KNOWN = 1 << 16


class Tables:
    """Machines by generation. Those that were replaced stay for as long as someone holds them."""

    def __init__(self, grammar: ir.Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        self._arguments = grammar, vocabulary, limits
        self._lock = threading.RLock()
        # One attribute, so that a machine and its generation are always read together.
        self._current = Machine(*self._arguments), 0
        self._known: set[int] = set()
        self._older: weakref.WeakValueDictionary[int, Machine] = weakref.WeakValueDictionary()

    @property
    def machine(self) -> Machine:
        """Return the machine that new texts begin in."""
        return self._current[0]

    def begin(self) -> tuple[int, Machine]:
        """Return the state before the first token, and its machine."""
        current = self._current
        if current[0].is_crowded:
            with self._lock:
                if self._current is current:
                    self.renew()
                current = self._current
        machine, generation = current
        return machine.start | generation << GENERATION, machine

    def renew(self) -> None:
        """Begin a new machine."""
        with self._lock:
            machine, generation = self._current
            fresh = Machine(*self._arguments)
            self._older[generation] = machine
            self._current = fresh, generation + 1

    def locate(self, state: int) -> tuple[Machine, int]:
        """Return the machine of a state and the state's number there.

        Raises:
            TypeError, ValueError: it is no state.
            LimitExceededError: its machine was replaced, and nobody held it.
        """
        if type(state) is not int:
            state = whole("state", state)
        machine: Machine | None
        machine, newest = self._current
        if 0 <= state <= _FIXED:
            return machine, state
        generation = state >> GENERATION
        if generation != newest:
            machine = self._older.get(generation)
            if machine is None and 0 <= generation <= self._current[1]:
                limit = self._arguments[2].max_states
                raise LimitExceededError(
                    "max_states", limit, f"and state={state} went with the tables that were replaced"
                )
        if machine is None or (state not in self._known and not self._verify(machine, state)):
            raise ValueError(f"state={state}; expected `start`, or a state that `advance` has returned")
        return machine, state & STATE

    def _verify(self, machine: Machine, state: int) -> bool:
        """Return whether a state is one, and remember it: kernels trust what they are given."""
        if not machine.holds_state(state & STATE):
            return False
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known.add(state)
        return True
