"""One answer while it is being written: where it stands in the constraint, its tokens, its text, its budget."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.decoding.forced import DEAD, TERMINATED, forced_run
from constrain.decoding.result import Event, FinishReason, Reader, Report, Result, TokenLogprob
from constrain.decoding.sampling import choose, choose_within, score
from constrain.decoding.text import TextBuffer
from constrain.errors import ConstrainError, LimitExceededError
from constrain.kernels.token_bitmask import unpack_bitmask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from constrain.automata.machine import Machine
    from constrain.compiled import CompiledGrammar
    from constrain.decoding.constraint import Constraint
    from constrain.decoding.model import Model
    from constrain.decoding.options import Options


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One prompt of a batch, ready to run.

    Attributes:
        index: its number in the batch.
        prompt: its token ids.
        constraint: what its answers must match, or None.
        options: how to decode.
        budget: the most tokens of an answer, the end token counted.
        n: how many answers.
    """

    index: int
    prompt: tuple[int, ...]
    constraint: Constraint | None
    options: Options
    budget: int
    n: int = 1


class Answer:
    """One sample of a job. `finish_reason` is None while it runs."""

    def __init__(self, model: Model, job: Job, sample: int) -> None:
        self.job = job
        self.sample = sample
        self.finish_reason: FinishReason | None = None
        self.tokens: list[int] = []
        self._model = model
        self._compiled: CompiledGrammar | None = None if job.constraint is None else job.constraint.compiled
        # The tables are held, so that the states stay valid.
        self._state, self._tables = self._begin()
        self._end_ids = frozenset(model.vocabulary.eos_token_ids)
        seed = job.options.seed
        self._rng = np.random.default_rng(None if seed is None else [seed, job.index, sample])
        self._logprobs: list[TokenLogprob] = []
        self._buffer = TextBuffer(job.options.stops)
        self._unscored: list[int] = []
        self._forced = 0
        self._ending: list[int] | None = None  # once a limit was met: what is still to be written
        self._mask_seconds = 0.0
        self._new_text, self._new_tokens = "", 0
        if job.budget == 0:
            self.finish("length")
        elif self._is_complete():
            self.finish("end")

    def _begin(self) -> tuple[int, Machine | None]:
        return (TERMINATED, None) if self._compiled is None else self._compiled.begin()

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.finish_reason is not None

    @property
    def remaining(self) -> int:
        """How many tokens the answer may still have, the end token counted."""
        return self.job.budget - len(self.tokens)

    @property
    def window(self) -> int:
        """How many of the last positions' logits `take` needs."""
        return 1 + len(self._unscored)

    def force(self) -> list[int]:
        """Append what the constraint leaves no choice about; return it."""
        if self._ending is not None and not self.finished:
            return self._append_run(self._ending)
        if self._compiled is None or not self.job.options.forced:
            return []
        accepted: list[int] = []
        while not self.finished and (run := self._forced_run(self._compiled)):
            accepted += self._append_run(run)
        return accepted

    def _append_run(self, run: list[int]) -> list[int]:
        """Append a forced run, up to a stop text inside it; return what was appended."""
        for count, token in enumerate(run):
            if self.finished:
                return run[:count]
            self._forced += 1
            if self.job.options.logprobs is not None:
                self._unscored.append(token)
            self._accept(token)
        return run

    def _forced_run(self, compiled: CompiledGrammar) -> list[int]:
        began = time.perf_counter()
        try:
            run = forced_run(self._model, compiled, self._state, self.tokens, self.remaining)
        except LimitExceededError as error:
            run = self._ending = self._end_early(error)
        self._mask_seconds += time.perf_counter() - began
        return run

    def take(self, window: npt.NDArray[np.float32]) -> int:
        """Choose the next token by float32[self.window, vocab_size], append and return it."""
        alternatives = self.job.options.logprobs
        for token, logits in zip(self._unscored, window[:-1], strict=True):
            self._logprobs.append(score(logits, token, None, alternatives or 0, forced=True))
        self._unscored.clear()
        try:
            token, allowed = self._choose(window[-1])
        except LimitExceededError as error:
            token, *self._ending = self._end_early(error)
            allowed = None
        if alternatives is not None:
            self._logprobs.append(score(window[-1], token, allowed, alternatives))
        self._accept(token)
        return token

    def _end_early(self, error: LimitExceededError) -> list[int]:
        """Return the tokens of the shortest completion, which has been known since the state was entered."""
        if self._compiled is None:
            raise error
        plan = [token for token in self._compiled.completion(self._state) if token >= 0]
        if not plan:  # the text may end here, and no token says so
            raise error
        return plan

    def _choose(self, logits: npt.NDArray[np.float32]) -> tuple[int, npt.NDArray[np.int64] | None]:
        """Return a token and the ids it was chosen from (None: any, or not known)."""
        options = self.job.options
        seen = [*self.job.prompt, *self.tokens] if options.repetition_penalty != 1.0 else ()
        compiled = self._compiled
        if compiled is None:
            return choose(logits, None, options, self._rng, seen), None
        if options.optimistic:
            token = choose(logits, None, options, self._rng, seen)
            if self._fits(compiled, token):
                return token, None
        allowed = self._ids(compiled, compiled.bitmask)
        found = self._first_draw(compiled, logits, allowed, seen)
        if found is not None:
            return found, allowed
        allowed = self._ids(compiled, lambda state: compiled.allowed_within(state, self.remaining))
        return choose(logits, allowed, options, self._rng, seen), allowed

    def _first_draw(
        self,
        compiled: CompiledGrammar,
        logits: npt.NDArray[np.float32],
        allowed: npt.NDArray[np.int64],
        seen: Sequence[int],
    ) -> int | None:
        """Return a token drawn from the constraint's mask, None where that shows the budget's mask to be needed."""
        if self.job.options.truncated:
            fits = partial(self._fits, compiled)
            return choose_within(logits, allowed, self.job.options, self._rng, seen, fits)
        token = choose(logits, allowed, self.job.options, self._rng, seen)
        return token if self._fits(compiled, token) else None

    def _fits(self, compiled: CompiledGrammar, token: int) -> bool:
        """Whether the token is allowed and leaves enough of the budget to finish."""
        began = time.perf_counter()
        state = compiled.advance(self._state, token)
        fits = state == TERMINATED or (state != DEAD and compiled.distance(state) < self.remaining)
        self._mask_seconds += time.perf_counter() - began
        return fits

    def _ids(self, compiled: CompiledGrammar, mask: Callable[[int], npt.NDArray[np.int32]]) -> npt.NDArray[np.int64]:
        """Return the ids in the row that `mask` gives for the state."""
        began = time.perf_counter()
        ids = np.flatnonzero(unpack_bitmask(mask(self._state), compiled.vocabulary.vocab_size))
        self._mask_seconds += time.perf_counter() - began
        if not len(ids):
            raise ConstrainError(
                f"no token is allowed after {self._buffer.text!r} with {self.remaining} tokens left; this is a bug of "
                "the engine: please report it with the constraint"
            )
        return ids

    def _accept(self, token: int) -> None:
        self.tokens.append(token)
        if self._compiled is not None:
            self._state = self._compiled.advance(self._state, token)
            assert self._state != DEAD
            ended = self._state == TERMINATED
        else:
            ended = token in self._end_ids
        if ended:
            self.finish("end")
            return
        self._new_text += self._buffer.feed(self._model.vocabulary.token_bytes(token) or b"")
        if self._buffer.stopped:
            self.finish("stop")
        elif self._is_complete():
            self.finish("end")
        elif not self.remaining:
            self.finish("length")

    def _is_complete(self) -> bool:
        """Whether the constraint leaves nothing to write, not even an end, for the vocabulary has no end token."""
        compiled, state = self._compiled, self._state
        return (
            compiled is not None
            and not self._end_ids
            and compiled.is_accepting(state)
            and (self._ending is not None or not compiled.next_bytes(state))
        )

    def finish(self, reason: FinishReason) -> None:
        """End the answer."""
        self.finish_reason = "limit" if self._ending is not None and reason == "end" else reason
        self._new_text += self._buffer.close()
        for token in self._unscored:
            self._logprobs.append(TokenLogprob(token, None, 0.0, None, forced=True))
        self._unscored.clear()

    def event(self, costs: dict[str, Any]) -> Event[Any] | None:
        """Return what is new since the last event, with the result if there is one; None if nothing is."""
        tokens = tuple(self.tokens[self._new_tokens :])
        if not tokens and not self._new_text and self.finish_reason is None:
            return None
        text, self._new_text, self._new_tokens = self._new_text, "", len(self.tokens)
        return Event(text, tokens, self.job.index, self.sample, self._result(costs))

    def _result(self, costs: dict[str, Any]) -> Result[Any] | None:
        if self.finish_reason is None:
            return None
        constraint = self.job.constraint
        report = Report(
            constraint=() if constraint is None else tuple(constraint.compiled.grammar.report),
            prompt_tokens=len(self.job.prompt),
            sampled_tokens=len(self.tokens) - self._forced,
            forced_tokens=self._forced,
            compile_seconds=0.0 if constraint is None else constraint.seconds,
            mask_seconds=self._mask_seconds,
            **costs,
        )
        reader = Reader() if constraint is None else constraint.reader
        logprobs, tokens = tuple(self._logprobs), tuple(self.tokens)
        return Result(self._buffer.text, tokens, logprobs, self.finish_reason, report, reader)
