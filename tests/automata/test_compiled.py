"""Tables that are begun anew before a limit stops a text; batches of masks; the fewest tokens to the end."""

import gc
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import samples

import constrain
from constrain import ir
from constrain.errors import LimitExceededError
from constrain.limits import Limits
from constrain.vocabulary import Vocabulary
from tests.byte_tokens import BYTES

UNIQUE_KEYS = {"type": "object", "additionalProperties": {"const": 1}}


def keys(first, count):
    return ("{" + ",".join(f'"{i}":1' for i in range(first, first + count)) + "}").encode()


def walk(matcher, data):
    for byte in data:
        matcher.accept_token(byte)


def test_new_texts_begin_in_new_tables_before_the_limit():
    compiled = constrain.compile(constrain.json_schema(UNIQUE_KEYS), BYTES, limits=Limits(max_states=6000))
    starts = set()
    for first in range(0, 6000, 40):
        matcher = compiled.matcher()
        walk(matcher, keys(first, 40))
        assert matcher.is_accepting()
        starts.add(matcher.compiled.start)
    assert len(starts) > 1


def test_a_text_under_way_moves_to_new_tables():
    compiled = constrain.compile(constrain.json_schema(UNIQUE_KEYS), BYTES, limits=Limits(max_states=6000))
    text = keys(0, 60)
    slow = compiled.matcher()
    bitmask = np.zeros((1, 9), dtype=np.int32)
    at = 0
    for first in range(100, 4000, 40):
        if at < len(text):
            walk(slow, text[at : at + 8])
            slow.fill_next_token_bitmask(bitmask)
            at += 8
        other = compiled.matcher()
        walk(other, keys(first, 40))
    walk(slow, text[at:])
    assert slow.is_accepting()
    assert not slow.try_accept_token(ord("}"))
    slow.rollback(1)
    walk(slow, b',"0')
    assert not slow.try_accept_token(ord('"'))


def test_one_text_alone_may_meet_the_limit_and_the_error_names_it():
    compiled = constrain.compile(constrain.json_schema(UNIQUE_KEYS), BYTES, limits=Limits(max_states=2000))
    with pytest.raises(LimitExceededError, match="max_states"):
        walk(compiled.matcher(), keys(0, 4000))
    assert compiled.machine.num_objects <= 2000


def test_states_of_replaced_tables():
    compiled = constrain.compile(constrain.regex("[ab]{5}"), BYTES)
    matcher = compiled.matcher()
    walk(matcher, b"ab")
    state = matcher.state
    compiled.renew()
    assert compiled.start != matcher.compiled.start >> 1
    walk(matcher, b"aba")
    assert matcher.is_accepting()
    assert compiled.matcher().compiled.accepts(b"ababa")
    fresh = compiled.advance_bytes(compiled.start, b"ab")
    assert fresh != state
    assert (compiled.bitmask(fresh) == compiled.bitmask(state)).all()
    copy = matcher.copy()
    del matcher
    gc.collect()
    assert compiled.advance(state, ord("a"))
    del copy
    gc.collect()
    with pytest.raises(LimitExceededError, match="replaced"):
        compiled.advance_bytes(state, b"aa")


def test_a_batch_holds_masks_of_old_and_new_tables():
    compiled = constrain.compile(constrain.regex("a[bc]d"), BYTES)
    old = compiled.matcher()
    walk(old, b"a")
    compiled.renew()
    new = compiled.matcher()
    bitmask = np.full((5, 12), -1, dtype=np.int32)
    compiled.fill_bitmasks([new.state, old.state, 0, 1, old.state], bitmask, [4, 3, 2, 1, 0])
    expected = [compiled.bitmask(state) for state in (old.state, 1, 0, old.state, new.state)]
    assert (bitmask[:, :9] == expected).all()
    assert not bitmask[:, 9:].any()
    with pytest.raises(ValueError, match="one row for each state"):
        compiled.fill_bitmasks([new.state], bitmask, [0, 1])


def fewest(compiled, vocabulary, most):
    """Return the least number of tokens to the end by trying every token, level by level."""
    level = {compiled.start}
    for depth in range(most):
        if any(compiled.is_accepting(state) for state in level):
            return depth + 1
        level = {
            after
            for state in level
            for token_id in range(vocabulary.vocab_size)
            if (after := compiled.advance(state, token_id))
        }
    return None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_distance_of_a_regular_constraint_is_the_least(seed):
    rng = random.Random(seed)
    vocabulary = samples.vocabulary(rng, b"abc", [], size=12)
    texts = ["".join(rng.choice("abc") for _ in range(rng.randrange(3, 9))) for _ in range(rng.randrange(1, 6))]
    grammar = (
        constrain.choice(texts) if seed % 2 else constrain.regex("|".join(f"{t}(?:ab|c)*{t[::-1]}" for t in texts))
    )
    compiled = constrain.compile(grammar, vocabulary)
    distance = compiled.distance(compiled.start)
    assert distance == fewest(compiled, vocabulary, distance)
    state = compiled.start
    for left, token_id in zip(range(distance, 0, -1), compiled.completion(state), strict=True):
        assert compiled.distance(state) == left
        assert compiled.allowed_within(state, left)[token_id >> 5] >> (token_id & 31) & 1
        state = compiled.advance(state, token_id)
    assert state == 1


def test_a_longer_text_may_need_fewer_tokens():
    tokens = [b"a", b"b", b"c", b"hello", None]
    vocabulary = Vocabulary.from_tokens([*tokens, b"h", b"e", b"l", b"o"], eos_token_ids=[4])
    compiled = constrain.compile(constrain.choice(["abc", "hello"]), vocabulary)
    assert compiled.completion(compiled.start) == [3, 4]


def test_readings_alive_at_once():
    # Each of the ten alternatives reads the same text with an automaton of its own.
    rules = {f"r{i}": ir.Repeat(ir.Lexeme(ir.Repeat(ir.Literal(b"a"), i + 1, None)), 1, None) for i in range(10)}
    rules["start"] = ir.alt([ir.Ref(name) for name in rules])
    grammar = ir.Grammar(ir.Ref("start"), rules)
    assert constrain.compile(grammar, BYTES).accepts(b"a" * 50)
    few = constrain.compile(grammar, BYTES, limits=Limits(max_readings=4))
    with pytest.raises(LimitExceededError, match="max_readings=4"):
        few.accepts(b"a" * 50)


def test_budgets_without_an_end_token():
    vocabulary = Vocabulary.from_tokens([bytes((byte,)) for byte in range(64)])
    compiled = constrain.compile(constrain.regex("\x00*"), vocabulary)
    assert compiled.allowed_within(compiled.start, 3).tolist() == compiled.bitmask(compiled.start).tolist() == [1, 0]
