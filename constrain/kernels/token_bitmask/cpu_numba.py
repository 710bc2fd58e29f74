"""Applying a bitmask to NumPy logits in compiled code. Same signature as `reference.py`, no checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit


def apply_bitmask(
    logits: npt.NDArray[np.floating[Any]], bitmask: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> None:
    """See `reference.apply_bitmask`."""
    _apply(logits, np.asarray(bitmask), rows)


@njit(cache=True, nogil=True)
def _apply(logits: Any, bitmask: Any, rows: Any) -> None:
    size = logits.shape[1]
    for row in rows:
        for word in range((size + 31) // 32):
            bits = bitmask[row, word]
            if bits == -1:
                continue
            first = 32 * word
            for offset in range(min(32, size - first)):
                if (bits >> offset) & 1 == 0:
                    logits[row, first + offset] = -np.inf
