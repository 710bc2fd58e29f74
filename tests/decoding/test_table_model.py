import numpy as np
import pytest

from constrain.decoding.table_model import TableModel
from tests.decoding import session_laws
from tests.decoding.doubles import vocabulary

WORDS = vocabulary("a", "b", "ab", "abc")


@pytest.mark.parametrize("seed", range(5))
def test_sessions_depend_on_their_rows_only(seed):
    session_laws.random_walk(TableModel(WORDS), [[0], [1, 2, 3]], 40, seed, 0)


def test_misuse():
    session_laws.misuse(TableModel(WORDS))


def test_logits_depend_on_the_last_tokens_only():
    model = TableModel(WORDS, order=2, seed=1)
    assert np.array_equal(model.next_logits([0, 1, 2]), model.next_logits([3, 1, 2]))
    assert not np.array_equal(model.next_logits([0, 1, 2]), model.next_logits([0, 0, 2]))
    assert not np.array_equal(model.next_logits([1, 2]), TableModel(WORDS, seed=2).next_logits([1, 2]))


def test_calls_are_counted_as_a_cached_model_would_make_them():
    session = TableModel(WORDS).prefill([[0]])
    session.logits()
    session.logits()
    session.append([[1, 2]])
    session.append([[1]])
    session.window([3])
    assert session.model_calls == 2


def test_encode():
    model = TableModel(WORDS)
    assert model.encode("abcab?b") == [3, 2, 1]
    assert model.encode_continuation([], b"ab?b") == [2]
