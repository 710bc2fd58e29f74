"""Text that a constraint leaves no choice about, as the tokens that the tokenizer itself would write.

A run of forced bytes is tokenised in the context of the answer so far, checked token by token against the constraint
and the budget, and healed at its end: a last token is dropped where the tokenizer might write a longer one across
the border, so that the model chooses it. What is left is what a model trained on that tokenizer expects to see.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from constrain.kernels.token_bitmask import unpack_bitmask

if TYPE_CHECKING:
    from constrain.compiled import CompiledGrammar
    from constrain.decoding.model import Model

DEAD, TERMINATED = 0, 1
# Four tokens either way: beyond that no tokenizer at hand writes a border differently (docs/decoding.md).
LOOK_BACK = 4
HEALED = 4


def forced_run(
    model: Model, compiled: CompiledGrammar, state: int, context: Sequence[int], remaining: int
) -> list[int]:
    """Return the tokens to append in `state` without asking the model, maybe none.

    Args:
        context: the answer's tokens so far.
        remaining: how many tokens the answer may still have, the end token counted.
    """
    if compiled.is_accepting(state):
        # Nothing else is left to write: the end is forced as well. Any other text is a choice against the end.
        end_ids = compiled.vocabulary.eos_token_ids
        return [] if not end_ids or compiled.next_bytes(state) else [end_ids[0]]
    data = _whole_characters(compiled.forced_bytes(state))
    if not data:
        return []
    tokens = model.encode_continuation(context[-LOOK_BACK:], data)
    states, ends = _walk(compiled, state, tokens, data, remaining)
    keep = _heal(compiled, states, ends, len(data))
    return tokens[:keep]


def _whole_characters(data: bytes) -> bytes:
    """Drop a character that is not complete at the end."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return b""
    return data[: len(data) - len(decoder.getstate()[0])]


def _walk(
    compiled: CompiledGrammar, state: int, tokens: Sequence[int], data: bytes, remaining: int
) -> tuple[list[int], list[int]]:
    """Return the states along the tokens and where each ends in `data`, as far as text, constraint and budget go."""
    states, ends, end = [state], [0], 0
    for used, token in enumerate(tokens, start=1):
        written = compiled.vocabulary.token_bytes(token)
        if not written or data[end : end + len(written)] != written:
            break
        state = compiled.advance(state, token)
        if state == DEAD or compiled.distance(state) > remaining - used:
            break
        end += len(written)
        states.append(state)
        ends.append(end)
    return states, ends


def _heal(compiled: CompiledGrammar, states: list[int], ends: list[int], size: int) -> int:
    """Return how many tokens to keep: all before the first where an allowed token goes past the end of the run."""
    count = len(states) - 1
    if ends[-1] < size:
        return count
    vocabulary = compiled.vocabulary
    for at in range(max(0, count - HEALED), count):
        allowed = np.flatnonzero(unpack_bitmask(compiled.bitmask(states[at]), vocabulary.vocab_size))
        rest = size - ends[at]
        if any(len(vocabulary.token_bytes(int(token)) or b"") > rest for token in allowed):
            return at
    return count
