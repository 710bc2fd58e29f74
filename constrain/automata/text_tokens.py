"""The tokens of masks that match text, for searches over tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from constrain.kernels.token_bitmask import unpack_bitmask

if TYPE_CHECKING:
    import numpy.typing as npt

    from constrain.automata.machine import Machine


def text_tokens(machine: Machine, row: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return the tokens of a mask without end tokens."""
    token_ids = np.flatnonzero(unpack_bitmask(row, machine.vocabulary.vocab_size))
    offsets = machine.vocabulary.offsets
    return token_ids[offsets[token_ids + 1] > offsets[token_ids]]


def allowed_tokens(machine: Machine, state: int) -> npt.NDArray[np.int64]:
    """Return the tokens after which bytes can finish the text, without end tokens."""
    row = np.zeros((1, machine.lexicon.words), dtype=np.int32)
    machine.fill([state], row)
    return text_tokens(machine, row[0])
