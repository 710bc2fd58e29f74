"""How to decode: the options of `generate` and its relatives, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from typing_extensions import TypedDict


class OptionsDict(TypedDict, total=False):
    """The keyword arguments that make an `Options`."""

    max_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    seed: int | None
    stop: str | Sequence[str]
    forced: bool
    logprobs: int | None


@dataclass(frozen=True, slots=True)
class Options:
    """How one answer is decoded.

    The order is fixed: the constraint's mask, the repetition penalty, the temperature, then top-k, top-p and min-p.

    Attributes:
        max_tokens: the most tokens of the answer, the end token counted.
        temperature: 0 takes the most probable token each time (greedy); 1 samples the model's own law.
        top_k: keep the k most probable tokens; 0 keeps all.
        top_p: keep the fewest tokens that have this probability together; 1 keeps all.
        min_p: drop tokens less probable than this times the most probable one; 0 drops none.
        repetition_penalty: divide positive logits of tokens already seen by it, multiply negative ones; 1 is off.
        seed: makes sampling repeatable; None takes fresh randomness.
        stop: texts before which the answer is cut. They cut a constrained answer too, which then is not whole.
        forced: append text that the constraint leaves no choice about without asking the model.
        logprobs: how many alternatives to report beside each token; 0: the token alone; None: nothing.
    """

    max_tokens: int = 256
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: str | Sequence[str] = ()
    forced: bool = True
    logprobs: int | None = 0

    def __post_init__(self) -> None:
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
        object.__setattr__(self, "stop", stop)
        _whole("max_tokens", self.max_tokens)
        _whole("top_k", self.top_k)
        if self.logprobs is not None:
            _whole("logprobs", self.logprobs)
        if self.seed is not None:
            _whole("seed", self.seed)
        if not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature={self.temperature!r}; expected 0 (greedy) or a positive number")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p={self.top_p!r}; expected a probability above 0, at most 1")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p={self.min_p!r}; expected a probability")
        if not 0 < self.repetition_penalty < math.inf:
            raise ValueError(f"repetition_penalty={self.repetition_penalty!r}; expected a positive number, 1 for none")
        if not all(_is_text(text) for text in stop):
            raise ValueError(f"stop={self.stop!r}; expected non-empty texts")

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop texts."""
        return tuple(self.stop)

    @property
    def optimistic(self) -> bool:
        """Whether a token may be drawn first and tested then: the law stays the masked one (docs/decoding.md)."""
        return self.logprobs is None and not self.truncated

    @property
    def truncated(self) -> bool:
        """Whether top-k, top-p or min-p drop tokens before the draw."""
        return self.temperature > 0 and (self.top_k > 0 or self.top_p < 1 or self.min_p > 0)


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(name: str, value: Any) -> None:
    if not is_whole(value) or value < 0:
        raise ValueError(f"{name}={value!r}; expected a whole number, 0 or more")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


OPTION_NAMES = frozenset(item.name for item in fields(Options))
