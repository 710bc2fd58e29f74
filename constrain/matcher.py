"""The cursor: the only object with a position, one per sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constrain.arguments import instance, whole
from constrain.compiled import DEAD, TERMINATED, CompiledGrammar
from constrain.errors import LimitExceededError, TokenRejectedError

if TYPE_CHECKING:
    from constrain.automata.machine import Machine


class Matcher:
    """Walks one sequence of tokens through a compiled grammar. Copying and rolling back are cheap.

    Attributes:
        compiled: the grammar, shared by all its matchers.
        token_ids: the tokens accepted so far.
    """

    __slots__ = ("_machine", "_states", "compiled", "token_ids")
    compiled: CompiledGrammar
    token_ids: list[int]
    _states: list[int]
    _machine: Machine  # held, so that the states stay valid

    def __init__(self, compiled: CompiledGrammar) -> None:
        self.compiled = instance("compiled", compiled, CompiledGrammar, "constrain.compile(grammar, vocabulary)")
        self.reset()

    def __repr__(self) -> str:
        return f"<Matcher of {self.compiled.grammar.name}, {len(self.token_ids)} tokens so far>"

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
            TypeError, ValueError: `token_id` is no token of the vocabulary.
        """
        if not self.try_accept_token(token_id):
            raise TokenRejectedError(token_id, self.compiled.vocabulary.token_bytes(token_id), self._expected())

    def try_accept_token(self, token_id: int) -> bool:
        """Advance over a token if it is allowed; return whether it was. On False nothing has changed.

        Raises:
            TypeError, ValueError: `token_id` is no token of the vocabulary.
        """
        if type(token_id) is not int:
            token_id = whole("token_id", token_id)
        try:
            after = self.compiled.advance(self._states[-1], token_id)
        except LimitExceededError as error:
            self._move(error)
            after = self.compiled.advance(self._states[-1], token_id)
        if after == DEAD or self._states[-1] == TERMINATED:
            return False
        self._states.append(after)
        self.token_ids.append(token_id)
        return True

    def _move(self, error: LimitExceededError) -> None:
        """Walk this text again in new tables: what filled the old ones was other texts, or masks of this one."""
        if error.limit not in {"max_states", "max_memory", "max_lexer_states"} or not self.token_ids:
            raise error
        self.compiled.renew()
        start, machine = self.compiled.begin()
        states = [start]
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
        if type(num_tokens) is not int or not 0 <= num_tokens <= len(self.token_ids):
            num_tokens = whole("num_tokens", num_tokens, 0, len(self.token_ids) + 1)
        if num_tokens:
            del self._states[-num_tokens:]
            del self.token_ids[-num_tokens:]

    def copy(self) -> Matcher:
        """Return an independent matcher at the same position."""
        other = Matcher.__new__(Matcher)
        other.compiled, other.token_ids = self.compiled, self.token_ids.copy()
        other._states, other._machine = self._states.copy(), self._machine  # noqa: SLF001 its own class
        return other

    def __copy__(self) -> Matcher:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Matcher:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        # States are numbers of this process's tables; the tokens lead to them anew.
        return _walked, (self.compiled, tuple(self.token_ids))

    def reset(self) -> None:
        """Go back to the start."""
        start, self._machine = self.compiled.begin()
        self._states = [start]
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


def _walked(compiled: CompiledGrammar, token_ids: tuple[int, ...]) -> Matcher:
    """Return a matcher that has accepted some tokens."""
    matcher = Matcher(compiled)
    for token_id in token_ids:
        matcher.accept_token(token_id)
    return matcher
