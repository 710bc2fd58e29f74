"""Random logits and bitmasks of the shapes that have gone wrong somewhere, and what the reference makes of them."""

import numpy as np
from hypothesis import strategies as st

from constrain.kernels.token_bitmask import bitmask_width, reference


def case(batch, vocab_size, seed, extra=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(batch, vocab_size)).astype(np.float32)
    bitmask = rng.integers(-(2**31), 2**31, size=(batch, bitmask_width(vocab_size) + extra)).astype(np.int32)
    return logits, bitmask


@st.composite
def cases(draw):
    """(logits, bitmask, rows, the logits that the reference leaves)"""
    batch = draw(st.integers(0, 4))
    vocab_size = draw(st.sampled_from([1, 31, 32, 33, 63, 64, 65, 100]))
    logits, bitmask = case(batch, vocab_size, draw(st.integers(0, 1000)), draw(st.integers(0, 2)))
    rows = np.array(draw(st.lists(st.integers(0, batch - 1), unique=True)) if batch else [], dtype=np.int64)
    expected = logits.copy()
    reference.apply_bitmask(expected, bitmask, rows)
    return logits, bitmask, rows, expected
