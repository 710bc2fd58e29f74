"""Sessions of transformers' models: token rows over a key-value cache.

A *lane* is one cache and the rows in it. Its slots (positions along the cache) are the same for all rows, so rows of
different lengths have dead slots: on the left of a shorter prompt, and wherever a row appended or kept fewer tokens
than another. Dead slots are masked out of the attention, and positions are counted without them, so each row's logits
are what they would be alone. Where that does not hold, rows get lanes of their own: recurrent layers read dead slots,
and a sliding window counts them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from constrain.decoding.model import check_prompts

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.backends.transformers import TransformersModel

    Logits = npt.NDArray[np.float32]

# A lane with more dead slots than this, and than live ones, is computed anew.
SPARE_SLOTS = 64


class TransformersSession:
    """A `constrain.decoding.model.Session` over a transformers model."""

    def __init__(self, model: TransformersModel, prompts: Sequence[Sequence[int]]) -> None:
        check_prompts(prompts, model.vocabulary.vocab_size)
        self._model = model
        self.model_calls = 0
        rows = [list(prompt) for prompt in prompts]
        self._lanes = [_Lane(model, [row]) for row in rows] if model.recurrent else [_Lane(model, rows)]

    @property
    def rows(self) -> list[list[int]]:
        """The token ids of each row."""
        return [row for lane in self._lanes for row in lane.rows]

    def logits(self) -> Logits:
        """Return float32[rows, vocab_size]: the logits of the token after each row."""
        return np.concatenate(self.window([1] * len(self.rows)))

    @torch.inference_mode()
    def window(self, counts: Sequence[int]) -> list[Logits]:
        """Return, for each row, the logits that follow each of its last `count` tokens."""
        for row, count in zip(self.rows, counts, strict=True):
            if not 0 <= count <= len(row):
                raise ValueError(f"count={count} for a row of {len(row)} tokens")
        self._separate(counts)
        found: list[Logits] = []
        for lane, wanted in zip(self._lanes, self._by_lane(counts), strict=True):
            windows, calls = lane.window(wanted)
            found += windows
            self.model_calls += calls
        return found

    def append(self, tokens: Sequence[Sequence[int]]) -> None:
        """Append token ids to each row."""
        for lane, new in zip(self._lanes, self._by_lane(tokens), strict=True):
            lane.append(new)

    def rollback(self, num_tokens: Sequence[int]) -> None:
        """Remove that many tokens from the end of each row."""
        for row, count in zip(self.rows, num_tokens, strict=True):
            if not 0 <= count < len(row):
                raise ValueError(f"num_tokens={count} for a row of {len(row)} tokens")
        for lane, counts in zip(self._lanes, self._by_lane(num_tokens), strict=True):
            lane.rollback(counts)

    @torch.inference_mode()
    def fork(self, rows: Sequence[int]) -> None:
        """Make row i a copy of what row `rows[i]` was."""
        if len(self._lanes) == 1:
            self._lanes[0].select(rows)
            return
        taken: set[int] = set()
        lanes = []
        for row in rows:
            lanes.append(self._lanes[row].copy() if row in taken else self._lanes[row])
            taken.add(row)
        self._lanes = lanes

    def _by_lane(self, items: Sequence[Any]) -> list[Sequence[Any]]:
        if len(items) != len(self.rows):
            raise ValueError(f"{len(items)} items for {len(self.rows)} rows")
        if len(self._lanes) == 1:
            return [items]
        return [[item] for item in items]

    def _separate(self, counts: Sequence[int]) -> None:
        """Give each row a lane of its own, from nothing, where a sliding window would count dead slots."""
        window = self._model.sliding_window
        lane = self._lanes[0]
        if window is not None and len(lane.rows) > 1 and lane.has_holes_beyond(window, counts):
            self._lanes = [_Lane(self._model, [row]) for row in lane.rows]


class _Lane:
    """Rows that share a cache.

    The live slots of a row hold its first `_cached` tokens, of which the first `_valid` are still the row's.
    """

    def __init__(self, model: TransformersModel, rows: list[list[int]]) -> None:
        self.rows = rows
        self._model = model
        self._last = np.zeros((len(rows), model.vocabulary.vocab_size), dtype=np.float32)
        self._fresh = [False] * len(rows)
        self._forget()

    def _forget(self) -> None:
        self._cache: Any = None
        self._slots = np.zeros((len(self.rows), 0), dtype=np.bool_)
        self._valid = [0] * len(self.rows)

    @property
    def _cached(self) -> list[int]:
        return [int(count) for count in self._slots.sum(axis=1)]

    def append(self, tokens: Sequence[Sequence[int]]) -> None:
        for i, new in enumerate(tokens):
            self.rows[i].extend(new)
            self._fresh[i] &= not new

    def rollback(self, num_tokens: Sequence[int]) -> None:
        for i, count in enumerate(num_tokens):
            row = self.rows[i]
            del row[len(row) - count :]
            self._valid[i] = min(self._valid[i], len(row))
            self._fresh[i] &= not count

    def select(self, rows: Sequence[int]) -> None:
        if list(rows) == list(range(len(self.rows))):
            return
        self.rows = [list(self.rows[row]) for row in rows]
        self._last = self._last[list(rows)]
        self._fresh = [self._fresh[row] for row in rows]
        self._valid = [self._valid[row] for row in rows]
        self._slots = self._slots[list(rows)]
        if self._cache is not None:
            if hasattr(self._cache, "reorder_cache"):
                self._cache.reorder_cache(torch.tensor(list(rows), device=self._model.device))
            else:
                self._forget()

    def copy(self) -> _Lane:
        made = copy.copy(self)
        made.rows = [list(row) for row in self.rows]
        made._last, made._slots = self._last.copy(), self._slots.copy()  # noqa: SLF001 - its own class
        made._fresh, made._valid = list(self._fresh), list(self._valid)  # noqa: SLF001
        made._cache = copy.deepcopy(self._cache)  # noqa: SLF001
        return made

    def _keeps(self, counts: Sequence[int]) -> list[int | None]:
        """Return how many cached tokens of each row to build on; None for a row that needs no computing."""
        return [
            None if not count or (count == 1 and fresh) else min(valid, len(row) - count)
            for row, count, fresh, valid in zip(self.rows, counts, self._fresh, self._valid, strict=True)
        ]

    def has_holes_beyond(self, window: int, counts: Sequence[int]) -> bool:
        """Whether dead slots would lie between live ones once the slots outgrow a sliding window."""
        keeps = self._keeps(counts)
        fed = [0 if keep is None else len(row) - keep for row, keep in zip(self.rows, keeps, strict=True)]
        if self._slots.shape[1] + max(fed) <= window:
            return False
        filled = [i for i, slots in enumerate(self._slots) if slots.any()]
        inner = any(not self._slots[i, int(np.argmax(self._slots[i])) :].all() for i in filled)
        return inner or any(0 < fed[i] != max(fed) for i in filled) or any(not fed[i] for i in filled)

    def window(self, counts: Sequence[int]) -> tuple[list[Logits], int]:
        """Return the logits asked for, and the number of forward passes."""
        keeps = self._keeps(counts)
        calls = 0
        windows: dict[int, Logits] = {}
        if any(keep is not None for keep in keeps):
            windows = self._compute(keeps, counts)
            calls = 1
        empty = self._last[:0]
        return [
            windows[i] if i in windows else self._last[i : i + 1] if count else empty for i, count in enumerate(counts)
        ], calls

    def _compute(self, keeps: list[int | None], counts: Sequence[int]) -> dict[int, Logits]:
        feeds = self._rewind(keeps)
        width = max(len(feed) for feed in feeds)
        last = max(count for feed, count in zip(feeds, counts, strict=True) if feed)
        stepwise = self._model.recurrent and self._cache is not None and width > 1
        logits = self._one_by_one(feeds[0])[:, -last:] if stepwise else self._forward(feeds, width, last)
        windows = {}
        for i, feed in enumerate(feeds):
            if feed:
                self._valid[i] = 0 if self._cache is None else len(self.rows[i])
                self._fresh[i] = True
                self._last[i] = logits[i, -1]
                if counts[i]:
                    windows[i] = logits[i, logits.shape[1] - counts[i] :]
        return windows

    def _rewind(self, keeps: list[int | None]) -> list[list[int]]:
        """Drop what is cached beyond `keeps`; return the tokens to feed."""
        spoiled = False
        for i, (cached, valid) in enumerate(zip(self._cached, list(self._valid), strict=True)):
            keep = valid if keeps[i] is None else min(valid, keeps[i] or 0)
            if keep < cached:
                self._slots[i, np.flatnonzero(self._slots[i])[keep:]] = False
                spoiled = True
            self._valid[i] = keep
        live = np.flatnonzero(self._slots.any(axis=0))
        size = int(live[-1]) + 1 if len(live) else 0
        sparse = size > 2 * max(self._cached, default=0) + SPARE_SLOTS
        if self._cache is not None and (sparse or (spoiled and not self._crop(size))):
            self._forget()
            return [list(row) for row in self.rows]
        return [[] if keep is None else row[keep:] for row, keep in zip(self.rows, keeps, strict=True)]

    def _crop(self, size: int) -> bool:
        """Cut the cache to its first `size` slots; False where it cannot be undone."""
        surplus = self._slots.shape[1] - size
        if not surplus:
            return True
        if not size or self._model.recurrent or not getattr(self._cache, "is_croppable", True):
            return False
        try:
            self._cache.crop(-surplus)
        except (AttributeError, NotImplementedError, RuntimeError, ValueError):
            return False  # a sliding window has let go of what would be needed
        self._slots = self._slots[:, :size]
        return True

    def _one_by_one(self, feed: list[int]) -> Logits:
        """Run the model token by token over a lane of one row: recurrent layers of 4.x continue only so."""
        parts = []
        for token in feed:
            parts.append(self._forward([[token]], 1, 1))
            self._valid[0] += 1
        return np.concatenate(parts, axis=1)

    def _forward(self, feeds: list[list[int]], width: int, last: int) -> Logits:
        """Run the model over the tokens, padded on the left; return float32[rows, last, vocab_size]."""
        ids = np.zeros((len(feeds), width), dtype=np.int64)
        positions = np.zeros_like(ids)
        block = np.zeros(ids.shape, dtype=np.bool_)
        for i, feed in enumerate(feeds):
            if feed:
                ids[i, width - len(feed) :] = feed
                block[i, width - len(feed) :] = True
                positions[i, width - len(feed) :] = np.arange(len(feed)) + self._valid[i]
        mask = np.concatenate([self._slots, block], axis=1)
        logits, self._cache = self._model.forward(ids, mask, positions, self._cache, last)
        if self._cache is None:
            self._forget()
        else:
            self._slots = mask
        return logits
