"""Compare masks with an oracle, bit by bit, over prefixes that tokens reach.

`viable(text)` says whether some member of the language starts with `text` (and can be spelled), `member(text)` whether
`text` is one. All single bytes of a sample vocabulary are tokens, so what bytes can finish tokens can finish.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from constrain.compiled import CompiledGrammar
from constrain.errors import LimitExceededError
from constrain.vocabulary import Vocabulary


class Masker(Protocol):
    """What is tested of `CompiledGrammar`."""

    vocabulary: Vocabulary
    start: int

    def bitmask(self, state: int) -> npt.NDArray[np.int32]: ...
    def advance(self, state: int, token_id: int) -> int: ...
    def advance_bytes(self, state: int, data: bytes) -> int: ...
    def is_accepting(self, state: int) -> bool: ...


@dataclass
class Tally:
    """How much was compared."""

    grammars: int = 0
    prefixes: int = 0
    bits: int = 0
    ones: int = 0


def bits(row: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.bool_]:
    """Return a row as bool[size]."""
    index = np.arange(size)
    return (row[index >> 5] >> (index & 31) & 1).astype(np.bool_)


def check_masks(
    compiled: Masker,
    viable: Callable[[bytes], bool],
    member: Callable[[bytes], bool],
    rng: random.Random,
    tally: Tally,
    *,
    prefixes: int = 12,
    longest: int = 8,
) -> None:
    """Assert that every bit of the masks after up to `prefixes` distinct texts is what the oracle says.

    Raises:
        AssertionError: with the prefix, the token and what each side says.
    """
    vocabulary = compiled.vocabulary
    ends = set(vocabulary.eos_token_ids)
    tally.grammars += 1
    seen: set[bytes] = set()
    todo = [(b"", compiled.start)]
    known: dict[bytes, bool] = {}

    def alive(text: bytes) -> bool:
        if text not in known:
            known[text] = viable(text)
        return known[text]

    while todo and len(seen) < prefixes:
        text, state = todo.pop(rng.randrange(len(todo)))
        if text in seen:
            continue
        seen.add(text)
        tally.prefixes += 1
        row = compiled.bitmask(state)
        mask = bits(row, len(row) * 32)
        assert not mask[vocabulary.vocab_size :].any(), f"bits past the vocabulary after {text!r}"
        is_member = member(text)
        assert compiled.is_accepting(state) == is_member, f"is_accepting after {text!r}: oracle says {is_member}"
        for token_id in range(vocabulary.vocab_size):
            token = vocabulary.token_bytes(token_id)
            expected = is_member if token_id in ends else token is not None and alive(text + token)
            said = f"after {text!r} token {token_id} {token!r}: oracle {expected}"
            assert bool(mask[token_id]) == expected, f"mask {said}"
            following = compiled.advance(state, token_id)
            assert (following != 0) == expected, f"advance gives {following} {said}"
            if token is not None:
                by_bytes = compiled.advance_bytes(state, token)
                assert (by_bytes != 0) == expected, f"advance_bytes gives {by_bytes} {said}"
                assert by_bytes == following, f"states differ: {by_bytes} by bytes, {following} {said}"
                if expected and len(text) + len(token) <= longest:
                    todo.append((text + token, following))
            tally.bits += 1
            tally.ones += expected


def check_matcher(
    compiled: CompiledGrammar, viable: Callable[[bytes], bool], rng: random.Random, steps: int = 12
) -> None:
    """Assert that a matcher agrees with its masks along a random walk, and that a refusal changes nothing."""
    matcher, vocabulary = compiled.matcher(), compiled.vocabulary
    words = (vocabulary.vocab_size + 31) // 32
    text = b""
    for _ in range(steps):
        row = np.full((2, words + 1), 0x5A5A5A5A, dtype=np.int32)
        matcher.fill_next_token_bitmask(row, 1)
        assert (row[0] == 0x5A5A5A5A).all(), "another row was written"
        mask = bits(row[1], row.shape[1] * 32)
        assert not mask[vocabulary.vocab_size :].any()
        before = matcher.state
        if matcher.is_terminated():
            # The row holds the end tokens only, so that padded batches go on; the matcher itself takes nothing more.
            assert {int(token_id) for token_id in np.flatnonzero(mask)} == set(vocabulary.eos_token_ids)
            assert not any(matcher.copy().try_accept_token(token_id) for token_id in range(vocabulary.vocab_size))
            return
        for token_id in rng.sample(range(vocabulary.vocab_size), min(8, vocabulary.vocab_size)):
            trial = matcher.copy()
            assert trial.try_accept_token(token_id) == bool(mask[token_id]), (text, token_id)
            if not mask[token_id]:
                assert trial.state == before
                assert trial.num_tokens == matcher.num_tokens
        allowed = np.flatnonzero(mask)
        assert len(allowed), f"a dead end after {text!r}"
        token_id = int(rng.choice(list(allowed)))
        matcher.accept_token(token_id)
        matcher.rollback(1)
        assert matcher.state == before
        matcher.accept_token(token_id)
        text += vocabulary.token_bytes(token_id) or b""
        assert matcher.is_terminated() or viable(text)


def check_many(kind: str, check: Callable[[int], None], count: int) -> None:
    """Run a check for many seeds; grammars beyond a limit are counted, the others must all agree with their oracle."""
    refused, failures = 0, []
    for seed in range(10_000, 10_000 + count):
        try:
            check(seed)
        except LimitExceededError:
            refused += 1
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}")
    print(f"{kind}: {count} grammars, {refused} beyond a limit, {len(failures)} differ\n" + "\n".join(failures[:20]))
    assert not failures
