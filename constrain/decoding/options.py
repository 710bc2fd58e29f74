"""How to decode: the options of `generate` and its relatives, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from typing_extensions import TypedDict

from constrain.arguments import instance, items, whole, within


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
        stop = [self.stop] if isinstance(self.stop, str) else items("stop", self.stop, "a text or a list of texts")
        object.__setattr__(self, "stop", tuple(stop))
        for name in ("max_tokens", "top_k", "logprobs", "seed"):
            value = getattr(self, name)
            if value is not None or name in {"max_tokens", "top_k"}:
                object.__setattr__(self, name, whole(name, value, 0))
        within("temperature", self.temperature, lambda t: 0 <= t < math.inf, "0 (greedy) or a positive number")
        within("top_p", self.top_p, lambda p: 0 < p <= 1, "a probability above 0, at most 1")
        within("min_p", self.min_p, lambda p: 0 <= p <= 1, "a probability")
        penalty = self.repetition_penalty
        within("repetition_penalty", penalty, lambda x: 0 < x < math.inf, "a positive number, 1 for none")
        instance("forced", self.forced, bool, "True or False")
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


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


OPTION_NAMES = frozenset(item.name for item in fields(Options))
