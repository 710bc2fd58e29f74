"""The torch implementation of token bitmasks equals the reference; without torch this file is skipped."""

import numpy as np
import pytest
from hypothesis import given

from constrain.kernels.token_bitmask import apply_token_bitmask_inplace, unpack_bitmask
from tests.kernels.bitmask_cases import case, cases

torch = pytest.importorskip("torch", reason="needs torch")


@given(cases())
def test_torch_agrees(one):
    from constrain.kernels.token_bitmask import any_torch

    logits, bitmask, rows, expected = one
    tensor = torch.from_numpy(logits.copy())
    any_torch.apply_bitmask(tensor, bitmask, rows)
    assert np.array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_torch_types(dtype):
    logits, bitmask = case(2, 70, 1)
    tensor = torch.from_numpy(logits).to(dtype)
    apply_token_bitmask_inplace(tensor, torch.from_numpy(bitmask))
    assert np.array_equal(torch.isinf(tensor).numpy(), ~unpack_bitmask(bitmask, 70))


def test_a_narrow_mask_is_an_error():
    with pytest.raises(ValueError, match="64 bits a row"):
        apply_token_bitmask_inplace(torch.zeros((1, 65)), torch.zeros((1, 2), dtype=torch.int32))
