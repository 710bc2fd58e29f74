"""Each implementation of token bitmasks equals the reference, on every shape that has gone wrong somewhere."""

import numpy as np
import pytest
from hypothesis import given

from constrain.kernels.token_bitmask import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    cpu_numba,
    reference,
    unpack_bitmask,
)
from tests.kernels.bitmask_cases import case, cases


@given(cases())
def test_implementations_agree(one):
    logits, bitmask, rows, expected = one
    compiled = logits.copy()
    cpu_numba.apply_bitmask(compiled, bitmask, rows)
    assert np.array_equal(compiled, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_numpy_types_and_single_rows(dtype):
    logits, bitmask = case(1, 70, 2)
    row = logits[0].astype(dtype)
    apply_token_bitmask_inplace(row, bitmask[0])
    assert np.array_equal(np.isinf(row), ~unpack_bitmask(bitmask[0], 70))


def test_strided_logits_and_masks():
    logits, bitmask = case(3, 65, 3)
    wide, spread = np.zeros((3, 130), np.float32), np.zeros((6, bitmask.shape[1]), np.int32)
    wide[:, ::2], spread[::2] = logits, bitmask
    apply_token_bitmask_inplace(wide[:, ::2], spread[::2])
    reference.apply_bitmask(logits, bitmask, np.arange(3))
    assert np.array_equal(wide[:, ::2], logits)
    assert not wide[:, 1::2].any()


def test_full_and_empty_masks_and_rows_left_alone():
    logits = np.ones((3, 40), np.float32)
    bitmask = allocate_token_bitmask(3, 40)
    bitmask[1:] = 0
    apply_token_bitmask_inplace(logits, bitmask, rows=[0, 1])
    assert (logits[0] == 1).all()
    assert np.isneginf(logits[1]).all()
    assert (logits[2] == 1).all()


@pytest.mark.parametrize(
    ("logits", "bitmask", "error", "match"),
    [
        (np.zeros((1, 33), np.float32), np.zeros((1, 1), np.int32), ValueError, "32 bits a row, the logits 33 tokens"),
        (np.zeros((2, 8), np.float32), np.zeros((1, 1), np.int32), ValueError, "as many rows"),
        (np.zeros((1, 8), np.float32), np.zeros((1, 1), np.int64), TypeError, "expected int32"),
        (np.zeros((1, 8), np.float32), np.zeros((1, 1), np.uint32), TypeError, "expected int32"),
        (np.zeros((1, 8), np.int64), np.zeros((1, 1), np.int32), TypeError, "floating-point"),
    ],
)
def test_misuse_is_an_error(logits, bitmask, error, match):
    with pytest.raises(error, match=match):
        apply_token_bitmask_inplace(logits, bitmask)


def test_rows_out_of_range():
    with pytest.raises(ValueError, match="row=1; expected 0 <= row < 1"):
        apply_token_bitmask_inplace(np.zeros((1, 8), np.float32), np.zeros((1, 1), np.int32), rows=[1])
