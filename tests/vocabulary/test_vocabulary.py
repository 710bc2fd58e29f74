import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.errors import VocabularyError
from constrain.vocabulary import Vocabulary

TABLE = [b"a", None, b"ab", b"", b"a", b"\xc3", b"</s>"]


@pytest.fixture
def vocabulary():
    return Vocabulary.from_tokens(TABLE, eos_token_ids=[6], special_token_ids=[4], name="small")


def test_tokens_are_bytes_or_none(vocabulary):
    assert [vocabulary.token_bytes(i) for i in range(7)] == [b"a", None, b"ab", None, None, b"\xc3", None]
    assert vocabulary.tokens() == [b"a", None, b"ab", None, None, b"\xc3", None]
    assert vocabulary.vocab_size == 7
    assert vocabulary.special_ids == {1, 3, 4, 6}
    assert vocabulary.eos_token_ids == (6,)
    assert repr(vocabulary) == "<Vocabulary small: 7 ids, end [6]>"


def test_special_tokens_add_nothing_to_a_text(vocabulary):
    assert vocabulary.decode([0, 6, 2, 1, 5]) == b"aab\xc3"


def test_byte_masks(vocabulary):
    assert vocabulary.spellable == 1 << ord("a") | 1 << ord("b") | 1 << 0xC3
    assert vocabulary.single_bytes == 1 << ord("a") | 1 << 0xC3


@pytest.mark.parametrize("token_id", [-1, 7, 10**9])
def test_ids_outside_are_refused(vocabulary, token_id):
    with pytest.raises(VocabularyError, match=f"token id {token_id} is outside"):
        vocabulary.token_bytes(token_id)


def test_an_end_never_matches_text(vocabulary):
    other = vocabulary.with_eos([2, 0])
    assert other.eos_token_ids == (0, 2)
    assert other.token_bytes(0) is other.token_bytes(2) is None
    assert other.tokens()[5] == b"\xc3"
    assert vocabulary.token_bytes(2) == b"ab"


def test_more_special_tokens(vocabulary):
    other = vocabulary.with_special([5, 1])
    assert other.special_ids == vocabulary.special_ids | {5}
    assert vocabulary.with_special([1]) is vocabulary


def test_wider_logits(vocabulary):
    other = vocabulary.with_size(40)
    assert other.vocab_size == 40
    assert other.token_bytes(39) is None
    assert other.tokens()[:7] == vocabulary.tokens()
    assert vocabulary.with_size(7) is vocabulary


def test_narrower_logits_lose_special_tokens_only():
    vocabulary = Vocabulary.from_tokens([b"a", None, b"b", None], eos_token_ids=[1])
    assert vocabulary.with_size(3).tokens() == [b"a", None, b"b"]
    with pytest.raises(VocabularyError, match="vocab_size=2 cuts off tokens"):
        vocabulary.with_size(2)
    with pytest.raises(VocabularyError, match="cuts off"):
        vocabulary.with_size(0)
    with pytest.raises(VocabularyError, match="cuts off"):
        Vocabulary.from_tokens([b"a", None], eos_token_ids=[1]).with_size(1)


def test_fingerprints(vocabulary):
    same = Vocabulary.from_tokens(TABLE, eos_token_ids=[6], special_token_ids=[4], name="other")
    assert same.fingerprint == vocabulary.fingerprint
    more = vocabulary.with_eos([6, 1])
    assert more.fingerprint != vocabulary.fingerprint
    assert more.text_fingerprint == vocabulary.text_fingerprint
    assert vocabulary.with_size(8).text_fingerprint != vocabulary.text_fingerprint
    # The same bytes cut differently.
    one, two = Vocabulary.from_tokens([b"ab", b"c"]), Vocabulary.from_tokens([b"a", b"bc"])
    assert one.text_fingerprint != two.text_fingerprint


def test_pickling_keeps_the_fields(vocabulary):
    vocabulary.fewest_tokens(b"a")
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy.fingerprint == vocabulary.fingerprint
    assert "_ids" not in vars(copy)


def test_fields_cannot_be_set(vocabulary):
    with pytest.raises(AttributeError):
        vocabulary.data = b""


@pytest.mark.parametrize(
    ("data", "offsets", "ends", "message"),
    [
        (b"a", np.array([0, 1], dtype=np.int32), (), "offsets are int32"),
        (b"a", np.array([0], dtype=np.int64), (), "expected int64"),
        (b"ab", np.array([0, 1], dtype=np.int64), (), "do not rise"),
        (b"ab", np.array([0, 2, 1, 2], dtype=np.int64), (), "do not rise"),
        (b"a", np.array([0, 1], dtype=np.int64), (0,), "an end has none"),
        (b"a", np.array([0, 1, 1], dtype=np.int64), (1, 1), "expected sorted"),
        (b"a", np.array([0, 1, 1], dtype=np.int64), (2,), "token id 2 is outside"),
    ],
)
def test_fields_are_checked(data, offsets, ends, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(data, offsets, ends)


def test_ends_outside_the_table_are_refused():
    with pytest.raises(VocabularyError, match="token id 3 is outside the table of 1 tokens"):
        Vocabulary.from_tokens([b"a"], eos_token_ids=[3])
    with pytest.raises(VocabularyError, match="expected at least one token"):
        Vocabulary.from_tokens([])


def shortest(tokens, data):
    """Return the length of a shortest split, by breadth."""
    reached, count = {0}, 0
    while len(data) not in reached:
        step = {i + len(t) for i in reached for t in tokens if t and data.startswith(t, i)}
        if step <= reached:
            return None
        reached |= step
        count += 1
    return count


@given(st.lists(st.binary(max_size=4).map(lambda b: bytes(x % 3 for x in b)), max_size=12), st.binary(max_size=14))
def test_fewest_tokens_is_shortest(tokens, raw):
    data = bytes(x % 3 for x in raw)
    vocabulary = Vocabulary.from_tokens([*tokens, None])
    found = vocabulary.fewest_tokens(data)
    assert (None if found is None else len(found)) == shortest(tokens, data)
    assert found is None or vocabulary.decode(found) == data


def test_fewest_tokens_takes_the_lowest_id():
    vocabulary = Vocabulary.from_tokens([None, b"a", b"a", b"aa", b"b"])
    assert vocabulary.fewest_tokens(b"aab") == [3, 4]
    assert vocabulary.fewest_tokens(b"aaa") == [1, 3]
    assert vocabulary.fewest_tokens(b"") == []
    assert vocabulary.fewest_tokens(b"ac") is None
