"""A tiny deterministic model for tests: logits from a table, or from a hash of the last few tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from constrain.decoding.model import Message, check_prompts

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.vocabulary import Vocabulary


class TableModel:
    """Logits that depend on the last `order` tokens only, the same on every machine.

    Args:
        vocabulary: its tokens.
        order: how many last tokens count.
        seed: another seed, another model.
        scale: standard deviation of the logits.
        table: logits by the tuple of the last `order` tokens, float[vocab_size]; what is not in it is hashed.
        context_size: the most tokens a row may have, or None.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        order: int = 2,
        seed: int = 0,
        scale: float = 2.0,
        table: Mapping[tuple[int, ...], Sequence[float]] | None = None,
        context_size: int | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.order = order
        self.seed = seed
        self.scale = scale
        self.context_size = context_size
        self._table = {key: np.asarray(row, dtype=np.float32) for key, row in (table or {}).items()}
        self._ids: dict[bytes, int] = {}
        for token_id in range(vocabulary.vocab_size):
            data = vocabulary.token_bytes(token_id)
            if data:
                self._ids.setdefault(data, token_id)
        self._longest = max(map(len, self._ids), default=0)

    def next_logits(self, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return float32[vocab_size]: the logits after a sequence of tokens."""
        key = tuple(tokens[-self.order :]) if self.order else ()
        row = self._table.get(key)
        if row is None:
            rng = np.random.default_rng([self.seed, len(key), *key])
            row = (self.scale * rng.standard_normal(self.vocabulary.vocab_size)).astype(np.float32)
            self._table[key] = row
        return row

    def encode(self, text: str) -> list[int]:
        """Return the longest tokens that spell the text, from the left; what no token spells is left out."""
        return self._split(text.encode(), skip=True)

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of the contents, a line each."""
        return self.encode("".join(f"{message.get('content', '')}\n" for message in messages))

    def encode_continuation(self, context: Sequence[int], data: bytes) -> list[int]:  # noqa: ARG002
        """Return the longest tokens that spell `data`, up to a byte that no token spells."""
        return self._split(data, skip=False)

    def _split(self, data: bytes, *, skip: bool) -> list[int]:
        found, at = [], 0
        while at < len(data):
            longest = range(min(self._longest, len(data) - at), 0, -1)
            size = next((size for size in longest if data[at : at + size] in self._ids), 0)
            if size:
                found.append(self._ids[data[at : at + size]])
            elif not skip:
                break
            at += size or 1
        return found

    def prefill(self, prompts: Sequence[Sequence[int]]) -> TableSession:
        """Open a session with one row for each prompt."""
        check_prompts(prompts, self.vocabulary.vocab_size)
        return TableSession(self, prompts)


class TableSession:
    """A session of a `TableModel`. `model_calls` counts the calls that a cached model would have made."""

    def __init__(self, model: TableModel, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        self.rows: list[list[int]] = [list(prompt) for prompt in prompts]
        self.model_calls = 0
        self._changed = True

    def logits(self) -> npt.NDArray[np.float32]:
        """Return float32[rows, vocab_size]: the logits of the token after each row."""
        return np.concatenate(self.window([1] * len(self.rows)))

    def window(self, counts: Sequence[int]) -> list[npt.NDArray[np.float32]]:
        """Return, for each row, the logits that follow each of its last `count` tokens."""
        self.model_calls += self._changed
        self._changed = False
        return [self._after(row, count) for row, count in zip(self.rows, counts, strict=True)]

    def _after(self, row: list[int], count: int) -> npt.NDArray[np.float32]:
        if not 0 <= count <= len(row):
            raise ValueError(f"count={count} for a row of {len(row)} tokens")
        ends = range(len(row) - count + 1, len(row) + 1)
        found = [self._model.next_logits(row[:end]) for end in ends]
        return np.stack(found) if found else np.zeros((0, self._model.vocabulary.vocab_size), dtype=np.float32)

    def append(self, tokens: Sequence[Sequence[int]]) -> None:
        """Append token ids to each row."""
        for row, new in zip(self.rows, tokens, strict=True):
            row.extend(new)
            self._changed |= bool(new)

    def rollback(self, num_tokens: Sequence[int]) -> None:
        """Remove that many tokens from the end of each row."""
        for row, count in zip(self.rows, num_tokens, strict=True):
            if not 0 <= count < len(row):
                raise ValueError(f"num_tokens={count} for a row of {len(row)} tokens")
            del row[len(row) - count :]
            self._changed |= bool(count)

    def fork(self, rows: Sequence[int]) -> None:
        """Make row i a copy of what row `rows[i]` was."""
        self.rows = [list(self.rows[row]) for row in rows]
