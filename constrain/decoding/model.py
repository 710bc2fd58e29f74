"""What decoders ask of a language model: two protocols.

A `Model` turns text into tokens and opens a `Session` over some prompts. A session is a batch of token sequences and
nothing else: `append`, `rollback` and `fork` change the sequences, `logits` and `window` say what the model makes of
them. What it computes is a function of the sequences alone, never of how they came about; a cache behind it is the
session's own business, and work is done when logits are asked for, not before. So

- sampling and beams append one token to each row, and fork rows to reorder, duplicate or drop them;
- particles fork rows by resampled indices;
- speculation appends a draft, reads `window` for all its positions at once, and rolls back what was refused.

`table_model.py` implements both for tests, `backends/` for real models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from constrain.vocabulary import Vocabulary

Message = Mapping[str, Any]
Prompt = str | Sequence[Message]


class Session(Protocol):
    """Token sequences (rows) that grow, shrink, and are copied, and the model's logits after them."""

    @property
    def rows(self) -> Sequence[Sequence[int]]:
        """The token ids of each row, the prompt's included. Not to be changed by the caller."""

    @property
    def model_calls(self) -> int:
        """How many forward passes there have been, for reports."""

    def logits(self) -> npt.NDArray[np.float32]:
        """Return float32[rows, vocab_size]: the logits of the token after each row."""

    def window(self, counts: Sequence[int]) -> list[npt.NDArray[np.float32]]:
        """Return, for each row, float32[count, vocab_size]: the logits that follow each of its last `count` tokens.

        The last of them are those of `logits()`. A count of 0 asks nothing of a row.

        Raises:
            ValueError: a count exceeds the length of its row.
        """

    def append(self, tokens: Sequence[Sequence[int]]) -> None:
        """Append token ids to each row; the numbers may differ and may be 0."""

    def rollback(self, num_tokens: Sequence[int]) -> None:
        """Remove that many tokens from the end of each row.

        Raises:
            ValueError: a row would be left empty.
        """

    def fork(self, rows: Sequence[int]) -> None:
        """Make row i a copy of what row `rows[i]` was. Rows that are not named are dropped."""


class Model(Protocol):
    """A language model with its tokenizer."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Its tokens; `vocab_size` is the width of the logits."""

    @property
    def context_size(self) -> int | None:
        """The most tokens a row may have, or None where there is no such bound."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a prompt as the tokenizer writes prompts, a beginning-of-text token included."""

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of a conversation up to where the answer begins.

        Raises:
            ValueError: the model has no chat template, or the template refuses the messages.
        """

    def encode_continuation(self, context: Sequence[int], data: bytes) -> list[int]:
        """Return the tokens with which the tokenizer would write `data` after the answer tokens `context`.

        Their bytes are `data`, or less where the tokenizer cannot spell it; callers verify.
        """

    def prefill(self, prompts: Sequence[Sequence[int]]) -> Session:
        """Open a session with one row for each prompt.

        Raises:
            ValueError: a prompt has no tokens, or a token id is out of range.
        """


def check_prompts(prompts: Sequence[Sequence[int]], vocab_size: int) -> None:
    """Raise ValueError unless every prompt has tokens, all in range."""
    for prompt in prompts:
        if not prompt:
            raise ValueError("a prompt has no tokens; expected at least one (a space, or a beginning-of-text token)")
        wrong = next((token for token in prompt if not 0 <= token < vocab_size), None)
        if wrong is not None:
            raise ValueError(f"token_id={wrong} in a prompt; expected 0 to {vocab_size - 1}, the model's vocabulary")
