"""Writing masks of a vocabulary into the rows of a caller's bitmask, with the checks that this needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.arguments import refuse, whole

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.int32]


def writable(bitmask: Any, words: int) -> Array:
    """Return a bitmask as a NumPy array that shares its memory.

    Raises:
        TypeError: it is no array.
        ValueError: it is not int32[batch, at least words].
    """
    if not isinstance(bitmask, np.ndarray):
        # Of a list, NumPy would make a copy, and what is written would be lost.
        if isinstance(bitmask, (list, tuple)) or not hasattr(bitmask, "__array__"):
            refuse("bitmask", bitmask, "int32[batch, words], of NumPy or torch")
        bitmask = np.asarray(bitmask)
    array: Array = bitmask
    if array.dtype != np.int32 or array.ndim != 2:
        raise ValueError(f"bitmask is {array.dtype}{list(array.shape)}; expected int32[batch, words]")
    if array.shape[1] < words:
        raise ValueError(
            f"bitmask has {array.shape[1]} words a row, narrower than the vocabulary; expected at least {words}"
        )
    return array


def copy_row(mask: Array, array: Array, row: int) -> None:
    """Copy a mask into a row that may be wider; what is beyond the vocabulary becomes 0.

    Raises:
        TypeError, ValueError: there is no such row, or the bitmask is read-only.
    """
    if type(row) is not int or row < 0:
        row = whole("row", row, 0, len(array))
    try:
        array[row, : len(mask)] = mask
    except IndexError:
        raise ValueError(f"row={row}; expected 0 <= row < {len(array)}") from None
    except ValueError:
        raise ValueError("bitmask is read-only; expected one that can be written: bitmask.copy()") from None
    if array.shape[1] > len(mask):
        array[row, len(mask) :] = 0


def set_bit(row: Array, token_id: int) -> None:
    """Allow a token in a mask."""
    row[token_id >> 5] |= np.uint32(1 << (token_id & 31)).view(np.int32)
