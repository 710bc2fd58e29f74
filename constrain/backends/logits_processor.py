"""`LogitsProcessor`: a constraint inside transformers' own `model.generate`.

`generate` hands over all rows' tokens so far and the scores of the next ones, but says neither where the prompt ends
nor which row continues which: beams are reordered and duplicated between calls, assisted generation comes with drafts
and takes them back, and the same object may serve the next generation. So a row's state is looked up by its tokens.
The prefixes met in the last calls are the keys of a dictionary, all their tokens, so that they are compared and not
only hashed; a step costs each row one look-up and one `advance`, however long the answer is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import transformers

from constrain.arguments import instance, refuse, whole
from constrain.errors import VocabularyError
from constrain.kernels.token_bitmask import allocate_token_bitmask, apply_token_bitmask_inplace

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.automata.machine import Machine
    from constrain.compiled import CompiledGrammar

DEAD, TERMINATED = 0, 1
_EXPECTED = "constrain.compile(grammar, vocabulary), or a list of such (None for a free prompt)"
# Bytes of prefixes kept, and calls whose prefixes are always kept. Drafts and their assistants look back a few calls.
KEPT_BYTES = 16 << 20
KEPT_CALLS = 4
_MAX_PADDING = 1024  # logits beyond the vocabulary; models pad to round numbers
# How far back a row that grew by several tokens is searched for a known prefix.
LOOK_BACK = 64


class LogitsProcessor(transformers.LogitsProcessor):  # type: ignore[misc,name-defined,unused-ignore]
    """Constrain `model.generate(..., logits_processor=[LogitsProcessor(compiled)])`.

    Works with greedy search, sampling, beams, several return sequences, batches and assisted generation. A finished
    row may only take end tokens; a row that the constraint did not see through (a draft that breaks it) too.

    Args:
        compiled: the constraint (`constrain.compile(grammar, model_vocabulary)`), or one for each prompt of the batch,
            None for a prompt that is free.
        prompt_length: where the answers begin; None takes the length at the first call of each generation.
    """

    supports_continuous_batching = False

    def __init__(
        self, compiled: CompiledGrammar | Sequence[CompiledGrammar | None], prompt_length: int | None = None
    ) -> None:
        several: Any = compiled if isinstance(compiled, Sequence) else None
        given: list[Any] = [compiled] if several is None else list(several)
        for item in given:
            if not (hasattr(item, "fill_bitmask") or (item is None and several is not None)):
                refuse("compiled", item, _EXPECTED)
        if not given:
            raise ValueError(f"compiled=[]; expected {_EXPECTED}")
        self._items: list[CompiledGrammar | None] = given
        self._prompt_length = None if prompt_length is None else whole("prompt_length", prompt_length, 0)
        self._bitmask: npt.NDArray[np.int32] = allocate_token_bitmask(0, 0)
        self.reset()

    def reset(self) -> None:
        """Forget all rows.

        A new generation is noticed without it, unless its prompt is the text of the last one's last call and a few
        tokens that may be taken for its answer or for a draft.
        """
        self._known: OrderedDict[tuple[int, bytes], int] = OrderedDict()
        self._last: frozenset[tuple[int, bytes]] = frozenset()
        self._bytes = 0
        self._tables: set[Machine] = set()  # held, so that the states stay valid

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores with those of forbidden tokens at minus infinity."""
        instance("input_ids", input_ids, torch.Tensor, "a tensor")
        instance("scores", scores, torch.Tensor, "a tensor")
        if input_ids.ndim != 2 or scores.ndim != 2:
            raise ValueError(
                f"input_ids{list(input_ids.shape)}, scores{list(scores.shape)}; expected [rows, tokens] and "
                "[rows, vocab_size]"
            )
        ids = np.ascontiguousarray(input_ids.detach().to("cpu", torch.int64).numpy())
        share = self._share(len(ids))
        masked = [row for row in range(len(ids)) if self._items[row // share] is not None]
        width = int(scores.shape[1])
        self._check_width(width)
        states = self._states(ids, masked, share)
        bitmask = self._rows(len(ids), width)
        for row in masked:
            item = self._items[row // share]
            assert item is not None
            item.fill_bitmask(states[row] or TERMINATED, bitmask, row)
        scores = scores.clone()
        apply_token_bitmask_inplace(scores, bitmask, masked)
        return scores

    def _check_width(self, width: int) -> None:
        """Raise where the logits cannot be those of the constraints' vocabularies."""
        for size in {item.vocabulary.vocab_size for item in self._items if item is not None}:
            if size > width:
                raise VocabularyError(
                    f"the constraint's vocab_size={size} exceeds the model's {width} logits; compile it with the "
                    "model's vocabulary"
                )
            if width - size > max(_MAX_PADDING, size // 8):
                raise VocabularyError(
                    f"the constraint's vocab_size={size} leaves {width - size} of the model's {width} logits without "
                    f"a token; compile it with the model's vocabulary, or, if these are padding, with "
                    f"vocabulary.with_size({width})"
                )

    def _share(self, rows: int) -> int:
        """Return how many rows belong to each prompt: beams and samples of a prompt are neighbours."""
        share, rest = divmod(rows, len(self._items))
        if len(self._items) == 1:
            return rows
        if rest or not share:
            raise ValueError(f"{rows} rows for {len(self._items)} constraints; expected as many prompts as constraints")
        return share

    def _rows(self, batch: int, width: int) -> npt.NDArray[np.int32]:
        if self._bitmask.shape != (batch, -(-width // 32)):
            self._bitmask = allocate_token_bitmask(batch, width)
        return self._bitmask

    def _states(self, ids: npt.NDArray[np.int64], rows: Sequence[int], share: int) -> dict[int, int]:
        """Return the state of each row; begin a new generation where the rows do not continue the last one."""
        found = {row: self._find(row // share, ids[row]) for row in rows}
        if any(state is None for state in found.values()):
            self.reset()
            found = {row: self._begin(row // share, ids[row]) for row in rows}
        states = {row: state for row, state in found.items() if state is not None}
        self._last = frozenset((row // share, ids[row].tobytes()) for row in states)
        for row, state in states.items():
            self._remember((row // share, ids[row].tobytes()), state)
        while self._bytes > KEPT_BYTES and len(self._known) > KEPT_CALLS * len(rows):
            (_, key), _ = self._known.popitem(last=False)
            self._bytes -= len(key)
        return states

    def _remember(self, key: tuple[int, bytes], state: int) -> None:
        if key not in self._known:
            self._bytes += len(key[1])
        self._known[key] = state
        self._known.move_to_end(key)

    def _find(self, item: int, row: npt.NDArray[np.int64]) -> int | None:
        """Return the state after a row by the longest known prefix of it, or None if it belongs to no known one."""
        for back in range(min(LOOK_BACK, len(row)) + 1):
            key = row[: len(row) - back].tobytes()
            state = self._known.get((item, key))
            if state is not None:
                after = self._advance(item, state, row[len(row) - back :])
                if after != DEAD:
                    return after
                if not self._last & {(item, row.tobytes()), (item, row[:-1].tobytes())}:
                    return None  # a new prompt
                # A draft that breaks the constraint, now or in an earlier generation, or a pad after the end: these
                # come one token at a time.
                return TERMINATED if state == TERMINATED else DEAD
        return None

    def _begin(self, item: int, row: npt.NDArray[np.int64]) -> int:
        """Return the state after a row whose answer begins at the prompt's length."""
        compiled = self._items[item]
        assert compiled is not None
        length = len(row) if self._prompt_length is None else self._prompt_length
        if length > len(row):
            raise ValueError(f"prompt_length={length} for rows of {len(row)} tokens; expected the length with padding")
        start, tables = compiled.begin()
        self._tables.add(tables)
        return self._advance(item, start, row[length:])

    def _advance(self, item: int, state: int, tokens: npt.NDArray[np.int64]) -> int:
        compiled = self._items[item]
        assert compiled is not None
        size = compiled.vocabulary.vocab_size
        for token in tokens.tolist():
            state = compiled.advance(state, token) if token < size and state != TERMINATED else DEAD
        return state
