"""Applying a bitmask to torch logits on any device. Same signature as `reference.py`, no checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch


def apply_bitmask(logits: torch.Tensor, bitmask: Any, rows: npt.NDArray[np.int64]) -> None:
    """See `reference.apply_bitmask`; the packed words are moved, and unpacked on the device of the logits."""
    words = bitmask if isinstance(bitmask, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(bitmask))
    words = words.to(logits.device)
    everything = len(rows) == logits.shape[0] and bool((rows == np.arange(len(rows))).all())
    index = None if everything else torch.from_numpy(rows).to(logits.device)
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    bits = ((words if index is None else words[index])[:, :, None] >> shifts) & 1
    forbidden = (bits == 0).flatten(1)[:, : logits.shape[1]]
    if index is None:
        logits.masked_fill_(forbidden, -torch.inf)
    else:
        logits[index] = logits[index].masked_fill(forbidden, -torch.inf)
