"""What every compiled constraint must do, as functions over one. For grammars of ours and for any later implementation."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from oracles.mask_laws import bits


def allowed(compiled: Any, row: Any) -> list[int]:
    return [int(token_id) for token_id in np.flatnonzero(bits(row, compiled.vocabulary.vocab_size))]


def some_states(compiled: Any, rng: random.Random, count: int = 12) -> list[int]:
    """Return states that random walks reach, the start first."""
    states, state = [compiled.start], compiled.start
    while len(states) < count:
        choice = [
            token_id
            for token_id in allowed(compiled, compiled.bitmask(state))
            if token_id not in compiled.vocabulary.eos_token_ids
        ]
        state = compiled.advance(state, rng.choice(choice)) if choice else compiled.start
        states.append(state)
    return states


def check_ends(compiled: Any, state: int) -> None:
    """Dead and terminated states; end tokens are allowed exactly in accepting ones."""
    ends = set(compiled.vocabulary.eos_token_ids)
    mask = set(allowed(compiled, compiled.bitmask(state)))
    assert (ends <= mask) if compiled.is_accepting(state) else not ends & mask
    assert not allowed(compiled, compiled.bitmask(0))
    assert set(allowed(compiled, compiled.bitmask(1))) == ends
    for end in ends:
        assert compiled.advance(state, end) == (1 if compiled.is_accepting(state) else 0)
        assert compiled.advance(0, end) == 0


def check_distance(compiled: Any, state: int) -> None:
    """`distance` is realised by `completion` and falls by one along it; budgets below it are not promised."""
    tokens = compiled.completion(state)
    assert len(tokens) == compiled.distance(state)
    assert tokens[-1] in compiled.vocabulary.eos_token_ids
    assert (compiled.distance(state) == 1) == compiled.is_accepting(state)
    for index, token_id in enumerate(tokens):
        left = len(tokens) - index
        assert compiled.distance(state) <= left
        assert token_id in allowed(compiled, compiled.allowed_within(state, left))
        state = compiled.advance(state, token_id)
    assert state == 1


def check_budgets(compiled: Any, state: int) -> None:
    """What a budget allows is allowed, grows with the budget, and leaves enough for the end."""
    mask = set(allowed(compiled, compiled.bitmask(state)))
    least = compiled.distance(state)
    before: set[int] = set()
    for budget in (least, least + 1, least + 3, 10_000):
        within = set(allowed(compiled, compiled.allowed_within(state, budget)))
        assert before <= within <= mask, budget
        assert within, budget
        for token_id in within:
            following = compiled.advance(state, token_id)
            assert following == 1 or compiled.distance(following) <= budget - 1, (token_id, budget)
        left_out = [token_id for token_id in mask - within if compiled.advance(state, token_id) != 1]
        assert all(compiled.distance(compiled.advance(state, token_id)) > budget - 1 for token_id in left_out)
        before = within


def check_forced(compiled: Any, state: int, rng: random.Random) -> None:
    """Every completion starts with the forced bytes, and where they stop there is a choice or an end."""
    forced = compiled.forced_bytes(state)
    text = compiled.vocabulary.decode(compiled.completion(state)[:-1])
    assert text.startswith(forced)
    here = state
    for byte in forced:
        assert compiled.next_bytes(here) == {byte}
        assert not compiled.is_accepting(here)
        here = compiled.advance_bytes(here, bytes((byte,)))
    assert compiled.is_accepting(here) or len(compiled.next_bytes(here)) != 1 or len(forced) >= 4096


def check_bytes(compiled: Any, state: int) -> None:
    """Bytes and tokens are one automaton; `next_bytes` are the bytes that lead on."""
    for byte in range(256):
        assert (compiled.advance_bytes(state, bytes((byte,))) != 0) == (byte in compiled.next_bytes(state))
    assert compiled.advance_bytes(state, b"") == state
    for token_id in allowed(compiled, compiled.bitmask(state)):
        token = compiled.vocabulary.token_bytes(token_id)
        if token is not None:
            assert compiled.advance(state, token_id) == compiled.advance_bytes(state, token)
            assert token[0] in compiled.next_bytes(state)


def check_rows(compiled: Any, states: list[int]) -> None:
    """One call for many rows is many calls for one row; wider rows are cleared, narrower ones refused."""
    words = (compiled.vocabulary.vocab_size + 31) // 32
    batch = np.full((len(states) + 1, words + 2), -1, dtype=np.int32)
    compiled.fill_bitmasks(states, batch, list(range(1, len(states) + 1)))
    assert (batch[0] == -1).all()
    for row, state in zip(batch[1:], states, strict=True):
        assert (row[:words] == compiled.bitmask(state)).all()
        assert not row[words:].any()
    if words > 1:
        try:
            compiled.fill_bitmask(states[0], np.zeros((1, words - 1), dtype=np.int32))
        except ValueError:
            return
        raise AssertionError("a narrow row was taken")


def check_matcher_laws(compiled: Any, rng: random.Random, steps: int = 15) -> None:
    """accept then rollback is nothing; a copy is independent; reset is the beginning."""
    matcher = compiled.matcher()
    history = [matcher.state]
    for _ in range(steps):
        if len(history) > 1 and rng.random() < 0.3:
            count = rng.randint(1, len(history) - 1)
            matcher.rollback(count)
            del history[-count:]
        else:
            choice = allowed(compiled, compiled.bitmask(matcher.state))
            if not choice or matcher.is_terminated():
                matcher.rollback(1)
                history.pop()
                continue
            token_id = rng.choice(choice)
            other = matcher.copy()
            matcher.accept_token(token_id)
            history.append(matcher.state)
            assert other.state == history[-2]
            assert other.num_tokens == len(history) - 2
        assert matcher.state == history[-1]
        assert matcher.num_tokens == len(history) - 1
        assert matcher.is_accepting() == compiled.is_accepting(matcher.state) or matcher.is_terminated()
    matcher.reset()
    assert matcher.state == compiled.start
    assert matcher.num_tokens == 0
    try:
        matcher.rollback(1)
    except ValueError:
        return
    raise AssertionError("rolled back past the beginning")
