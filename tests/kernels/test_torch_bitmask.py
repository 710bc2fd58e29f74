"""The torch implementation of token bitmasks equals the reference; without torch this file is skipped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.kernels.token_bitmask import apply_token_bitmask_inplace, bitmask_width, reference, unpack_bitmask

torch = pytest.importorskip("torch", reason="needs torch")


def case(batch, vocab_size, seed, extra=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(batch, vocab_size)).astype(np.float32)
    bitmask = rng.integers(-(2**31), 2**31, size=(batch, bitmask_width(vocab_size) + extra)).astype(np.int32)
    return logits, bitmask


@given(
    batch=st.integers(0, 4),
    vocab_size=st.sampled_from([1, 31, 32, 33, 63, 64, 65, 100]),
    seed=st.integers(0, 1000),
    extra=st.integers(0, 2),
    data=st.data(),
)
def test_torch_agrees(batch, vocab_size, seed, extra, data):
    from constrain.kernels.token_bitmask import any_torch

    logits, bitmask = case(batch, vocab_size, seed, extra)
    rows = np.array(data.draw(st.lists(st.integers(0, batch - 1), unique=True)) if batch else [], dtype=np.int64)
    expected, tensor = logits.copy(), torch.from_numpy(logits.copy())
    reference.apply_bitmask(expected, bitmask, rows)
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
