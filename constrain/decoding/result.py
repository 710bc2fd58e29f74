"""What generation gives back: results, what happened to each token, and events of a stream."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from typing_extensions import TypeVar

if TYPE_CHECKING:
    from constrain.ir import ReportItem

T = TypeVar("T", default=Any)

FinishReason = Literal["end", "length", "stop", "cancelled", "limit"]
"""Why an answer ended.

`end`: an end token was taken, or the constraint left nothing but the end. `length`: `max_tokens` or the model's
context was used up (never a constrained answer: that one is whole by then). `stop`: a stop text was written; it is not
part of the text. `cancelled`: the caller asked for it; what there is may be half an answer. `limit`: going on met a
limit of the engine, so the answer was ended the shortest way that was known; it satisfies the constraint.
"""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One token of an answer. Logarithms are natural, probabilities those of the model at temperature 1.

    Attributes:
        token_id: the token.
        raw: its log-probability under the model; None where the model was not asked (a forced end of an answer).
        masked: its log-probability among the allowed tokens; 0.0 if it was forced.
        removed: the probability that the mask took away at this step; None where `raw` is.
        forced: it was appended without asking the model.
        top: the most probable tokens of the model with their `raw`, as many as were asked for.
    """

    token_id: int
    raw: float | None
    masked: float
    removed: float | None
    forced: bool = False
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What an answer's constraint enforces, and what the answer cost.

    Attributes:
        constraint: what is enforced and how, one item for each construct that says so.
        prompt_tokens: tokens of the prompt.
        sampled_tokens: tokens chosen from the model's logits.
        forced_tokens: tokens appended without asking the model.
        model_calls: forward passes of the batch the answer was part of, up to its end.
        compile_seconds: making the constraint; 0 where it came from the cache.
        model_seconds: waiting for the model, the batch's.
        mask_seconds: masks, forced text and budgets of this answer.
        seconds: from the start of generation to this answer's end.
    """

    constraint: tuple[ReportItem, ...] = ()
    prompt_tokens: int = 0
    sampled_tokens: int = 0
    forced_tokens: int = 0
    model_calls: int = 0
    compile_seconds: float = 0.0
    model_seconds: float = 0.0
    mask_seconds: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reader:
    """How the value of an answer is read from its text.

    Attributes:
        kind: "text" (as it is), "json" (plain JSON values) or "python" (a type that pydantic can validate).
        type_: the type of kind "python".
    """

    kind: Literal["text", "json", "python"] = "text"
    type_: Any = None

    def read(self, text: str) -> Any:
        """Return the value; pydantic's and json's own errors pass through."""
        if self.kind == "text":
            return text
        if self.kind == "json":
            return json.loads(text)
        from pydantic import TypeAdapter

        return TypeAdapter(self.type_).validate_json(text)


@dataclass(frozen=True)
class Result(Generic[T]):
    """One answer.

    Attributes:
        text: what was written, end token and stop text excluded.
        token_ids: all its tokens, the end token included.
        logprobs: one entry for each token, or none if `logprobs=None` was asked for.
        finish_reason: see `FinishReason`.
        report: what the constraint enforces, and costs.
    """

    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprob, ...]
    finish_reason: FinishReason
    report: Report
    reader: Reader = field(default_factory=Reader, repr=False)
    others: tuple[Result[T], ...] = field(default=(), repr=False)

    @cached_property
    def value(self) -> T:
        """The answer as asked for: an instance of the type, JSON values for a schema, else the text.

        Raises:
            pydantic.ValidationError: a validator of the type is stricter than its schema; `text` stays readable.
            ValueError: the answer was cut by `stop` or cancellation, and is no JSON.
        """
        return cast("T", self.reader.read(self.text))

    @property
    def samples(self) -> tuple[Result[T], ...]:
        """All `n` answers to the prompt, this one first."""
        return (self, *self.others)


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """A piece of a stream.

    Attributes:
        text: the text that is new and final: never half a character, never the beginning of a stop text.
        token_ids: the tokens that are new.
        prompt: number of the prompt in its batch.
        sample: number of the sample, below `n`.
        result: the whole answer, in its last event.
    """

    text: str
    token_ids: tuple[int, ...]
    prompt: int = 0
    sample: int = 0
    result: Result[T] | None = None
