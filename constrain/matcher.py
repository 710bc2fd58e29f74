"""The cursor: the only object with a position, one per sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constrain.compiled import DEAD, TERMINATED
from constrain.errors import LimitExceededError, TokenRejectedError

if TYPE_CHECKING:
    from constrain.automata.machine import Machine
    from constrain.compiled import CompiledGrammar


class Matcher:
    """Walks one sequence of tokens through a compiled grammar. Copying and rolling back are cheap.

    Attributes:
        compiled: the grammar, shared by all its matchers.
        token_ids: the tokens accepted so far.
    """

    __slots__ = ("_machine", "_states", "compiled", "token_ids")

    def __init__(self, compiled: CompiledGrammar, like: Matcher | None = None) -> None:
        self.compiled = compiled
        self.token_ids: list[int] = like.token_ids.copy() if like else []
        self._states: list[int] = [compiled.start] if like is None else like._states.copy()  # noqa: SLF001 its own class
        # Held, so that the states stay valid.
        self._machine: Machine = compiled.machine if like is None else like._machine  # noqa: SLF001 as above

    @property
    def state(self) -> int:
        """Return the current state, a plain int that stays valid as long as this matcher."""
        return self._states[-1]

    @property
    def num_tokens(self) -> int:
        """Return how many tokens have been accepted."""
        return len(self.token_ids)

    def accept_token(self, token_id: int) -> None:
        """Advance over a token.

        Raises:
            TokenRejectedError: the token is forbidden here, or the sequence has ended; nothing has changed.
        """
        if not self.try_accept_token(token_id):
            raise TokenRejectedError(token_id, self.compiled.vocabulary.token_bytes(token_id), self._expected())

    def try_accept_token(self, token_id: int) -> bool:
        """Advance over a token if it is allowed; return whether it was. On False nothing has changed."""
        if self._states[-1] == TERMINATED:
            return False
        try:
            after = self.compiled.advance(self._states[-1], token_id)
        except LimitExceededError as error:
            self._move(error)
            after = self.compiled.advance(self._states[-1], token_id)
        if after == DEAD:
            return False
        self._states.append(after)
        self.token_ids.append(token_id)
        return True

    def _move(self, error: LimitExceededError) -> None:
        """Walk this text again in new tables: what filled the old ones was other texts, or masks of this one."""
        if error.limit not in {"max_states", "max_memory", "max_lexer_states"} or not self.token_ids:
            raise error
        self.compiled.renew()
        states, machine = [self.compiled.start], self.compiled.machine
        for token_id in self.token_ids:
            states.append(self.compiled.advance(states[-1], token_id))
        self._states, self._machine = states, machine

    def _expected(self) -> str:
        if self.is_terminated():
            return "nothing, the end token has been taken"
        options = sorted(self.compiled.next_bytes(self.state))
        shown = " ".join(repr(bytes([byte]))[1:] for byte in options[:12]) + (" ..." if len(options) > 12 else "")
        end = "the end, or " if options and self.is_accepting() else ("the end" if self.is_accepting() else "")
        return end + (f"a token beginning with one of {shown}" if options else "")

    def rollback(self, num_tokens: int) -> None:
        """Take back the last `num_tokens` tokens.

        Raises:
            ValueError: fewer tokens have been accepted.
        """
        if not 0 <= num_tokens <= len(self.token_ids):
            raise ValueError(f"num_tokens={num_tokens}; expected 0 <= num_tokens <= {len(self.token_ids)}")
        if num_tokens:
            del self._states[-num_tokens:]
            del self.token_ids[-num_tokens:]

    def copy(self) -> Matcher:
        """Return an independent matcher at the same position."""
        return Matcher(self.compiled, self)

    def reset(self) -> None:
        """Go back to the start."""
        self._states = [self.compiled.start]
        self._machine = self.compiled.machine
        self.token_ids = []

    def is_accepting(self) -> bool:
        """Return whether the text may end here (or has ended)."""
        return self.compiled.is_accepting(self.state)

    def is_terminated(self) -> bool:
        """Return whether an end token has been accepted."""
        return self.state == TERMINATED

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        """Write which tokens may come next into a row of `bitmask`; see `CompiledGrammar.fill_bitmask`."""
        try:
            return self.compiled.fill_bitmask(self._states[-1], bitmask, row)
        except LimitExceededError as error:
            self._move(error)
            return self.compiled.fill_bitmask(self._states[-1], bitmask, row)

    def forced_bytes(self) -> bytes:
        """Return the bytes with which every completion begins."""
        return self.compiled.forced_bytes(self.state)

    def forced_tokens(self) -> list[int]:
        """Return tokens for the forced bytes, without those that a longer token could replace."""
        forced = self.forced_bytes()
        tokens = self.compiled.vocabulary.fewest_tokens(forced) or []
        return tokens[:-1]
