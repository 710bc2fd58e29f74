"""What applying a bitmask means, in NumPy: the definition that the other implementations are held to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def apply_bitmask(
    logits: npt.NDArray[np.floating[Any]], bitmask: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> None:
    """Set `logits[row, i]` to minus infinity where bit `i` of `bitmask[row]` is 0.

    Args:
        logits: float[batch, vocab_size], written in place.
        bitmask: int32[batch, width], 32 * width >= vocab_size.
        rows: int64[n], the rows to mask, in range.
    """
    tokens = np.arange(logits.shape[1])
    for row in rows:
        bits = np.asarray(bitmask)[row, tokens // 32] >> (tokens % 32) & 1
        logits[row, bits == 0] = -np.inf
