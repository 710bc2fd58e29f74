"""Token bitmasks: allocate them, and apply them to logits.

A bitmask is int32[batch, ceil(vocab_size / 32)]; bit `i % 32` of word `i // 32` is 1 when token `i` may come next.
The public functions check their arguments once and pick an implementation; `reference.py` defines what is right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from constrain.arguments import items, refuse, whole

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["allocate_token_bitmask", "apply_token_bitmask_inplace", "bitmask_width", "unpack_bitmask"]


def bitmask_width(vocab_size: int) -> int:
    """Return how many int32 words a row for `vocab_size` tokens has."""
    return (vocab_size + 31) // 32


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """Return a bitmask int32[batch_size, ceil(vocab_size / 32)] that forbids nothing (all bits 1)."""
    width = bitmask_width(whole("vocab_size", vocab_size, 0))
    return np.full((whole("batch_size", batch_size, 0), width), -1, dtype=np.int32)


def unpack_bitmask(row: Any, vocab_size: int) -> npt.NDArray[np.bool_]:
    """Return bool[..., vocab_size]: which tokens the words in `row` (int32[..., width]) allow."""
    if not isinstance(row, np.ndarray) or row.dtype != np.int32:
        refuse("row", row, "an array of int32")
    if whole("vocab_size", vocab_size, 0) > 32 * row.shape[-1]:
        raise ValueError(f"vocab_size={vocab_size}; expected at most {32 * row.shape[-1]}, the bits of a row")
    words = np.ascontiguousarray(row).astype("<i4", copy=False)
    return np.unpackbits(words.view(np.uint8), axis=-1, count=vocab_size, bitorder="little").view(np.bool_)


def apply_token_bitmask_inplace(logits: Any, bitmask: Any, rows: Sequence[int] | None = None) -> None:
    """Set the logits of forbidden tokens to minus infinity.

    Args:
        logits: float[batch, vocab_size] or float[vocab_size], numpy array or torch tensor on any device; written.
        bitmask: int32[batch, width] or int32[width], numpy array or torch tensor, 32 * width >= vocab_size.
        rows: which rows to mask, each by the row of `bitmask` of the same number; None: all. Others stay as they are.
    Raises:
        ValueError: the mask is narrower than the logits or has another number of rows.
        TypeError: the mask is not int32, or the logits are not floating point.
    Cost: one pass over the logits; NumPy arrays in float32 or float64 go through a compiled loop.
    """
    _check(logits, bitmask)
    if logits.ndim == 1:
        logits, bitmask = logits[None], bitmask[None]
    batch = logits.shape[0]
    if rows is not None:
        rows = [whole("row", row, 0, batch) for row in items("rows", rows, "a list of rows, or None")]
    _implementation(logits)(logits, bitmask, np.asarray(range(batch) if rows is None else rows, dtype=np.int64))


def _implementation(logits: Any) -> Callable[[Any, Any, Any], None]:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        from constrain.kernels.token_bitmask import any_torch

        return any_torch.apply_bitmask
    if logits.dtype in (np.float32, np.float64):
        from constrain.kernels.token_bitmask import cpu_numba

        return cpu_numba.apply_bitmask
    from constrain.kernels.token_bitmask import reference

    return reference.apply_bitmask


def _check(logits: Any, bitmask: Any) -> None:
    for name, array in (("logits", logits), ("bitmask", bitmask)):
        if not hasattr(array, "dtype") or not hasattr(array, "ndim"):
            refuse(name, array, "an array of NumPy or torch")
    if not str(bitmask.dtype).endswith("int32") or "uint" in str(bitmask.dtype):
        raise TypeError(f"bitmask.dtype={bitmask.dtype}; expected int32")
    if "float" not in str(logits.dtype):
        raise TypeError(f"logits.dtype={logits.dtype}; expected a floating-point type")
    if (
        logits.ndim not in (1, 2)
        or bitmask.ndim != logits.ndim
        or tuple(logits.shape[:-1]) != tuple(bitmask.shape[:-1])
    ):
        raise ValueError(
            f"logits{list(logits.shape)} and bitmask{list(bitmask.shape)} do not go together; expected as many rows"
        )
    if 32 * bitmask.shape[-1] < logits.shape[-1]:
        raise ValueError(
            f"the bitmask has {32 * bitmask.shape[-1]} bits a row, the logits {logits.shape[-1]} tokens; "
            "expected a mask at least as wide: allocate_token_bitmask(batch_size, vocab_size=logits.shape[-1])"
        )
