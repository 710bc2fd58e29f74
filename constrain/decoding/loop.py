"""The loop: logits -> mask -> choose -> accept, for a batch of answers over one session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from constrain.decoding.answer import Answer, Job
from constrain.errors import VocabularyError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from constrain.decoding.model import Model, Session
    from constrain.decoding.result import Event

Cancel = Callable[[], bool]


def run(model: Model, jobs: Sequence[Job], cancel: Cancel | None = None) -> Iterator[Event[Any]]:
    """Write all answers of the jobs; yield what is new, each answer's result with its last event.

    Rows of the session are the answers that still run, in order; one that ends is dropped from the batch.
    Closing the iterator ends the work.
    """
    if jobs:
        yield from _Batch(model, jobs, cancel or (lambda: False)).events()


class _Batch:
    """The answers that still run, and the session whose rows they are."""

    def __init__(self, model: Model, jobs: Sequence[Job], cancel: Cancel) -> None:
        self.began = time.perf_counter()
        self.model_seconds = 0.0
        self.cancel = cancel
        self.vocab_size = model.vocabulary.vocab_size
        self.live = [Answer(model, job, sample) for job in jobs for sample in range(job.n)]
        self.session = model.prefill([job.prompt for job in jobs])
        if any(job.n != 1 for job in jobs):
            # Computed once, then copied.
            self.windows([1] * len(jobs))
            self.session.fork([row for row, job in enumerate(jobs) for _ in range(job.n)])

    def events(self) -> Iterator[Event[Any]]:
        """Run to the end."""
        yield from self.report()
        while self.live:
            if self.cancel():
                for answer in self.live:
                    answer.finish("cancelled")
                yield from self.report()
                return
            forced = [answer.force() for answer in self.live]
            self.session.append(forced)
            if any(forced):
                yield from self.report()
            if not self.live:
                return
            windows = self.windows([answer.window for answer in self.live])
            self.session.append([[answer.take(window)] for answer, window in zip(self.live, windows, strict=True)])
            yield from self.report()

    def windows(self, counts: Sequence[int]) -> list[npt.NDArray[np.float32]]:
        """Ask the model, and keep the time."""
        began = time.perf_counter()
        windows = self.session.window(counts)
        self.model_seconds += time.perf_counter() - began
        width = windows[0].shape[1] if windows else self.vocab_size
        if width != self.vocab_size:
            raise VocabularyError(
                f"the model gives {width} logits, its vocabulary has vocab_size={self.vocab_size}; expected the same "
                "number: load the vocabulary with the width of the logits"
            )
        return windows

    def report(self) -> Iterator[Event[Any]]:
        """Yield what is new, then drop the rows of answers that have ended."""
        costs = {
            "model_calls": self.session.model_calls,
            "model_seconds": self.model_seconds,
            "seconds": time.perf_counter() - self.began,
        }
        reported, self.live = self.live, self._drop(self.session)
        for answer in reported:
            event = answer.event(costs)
            if event is not None:
                yield event

    def _drop(self, session: Session) -> list[Answer]:
        keep = [row for row, answer in enumerate(self.live) if answer.finish_reason is None]
        if keep and len(keep) < len(self.live):
            session.fork(keep)
        return [self.live[row] for row in keep]
