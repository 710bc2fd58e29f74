"""The compiled machine against its readable reference."""

import random

import numpy as np
import pytest
from oracles import samples

from constrain.automata.machine import Machine
from constrain.automata.reference import ReferenceMachine
from constrain.errors import EmptyLanguageError
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.limits import Limits
from constrain.vocabulary import Vocabulary


def agree(grammar, vocabulary, rng, walks, steps):
    """Walk both machines along random allowed tokens; masks, ends and next bytes are equal everywhere."""
    try:
        machine = Machine(grammar, vocabulary, Limits())
    except EmptyLanguageError:
        with pytest.raises(EmptyLanguageError):
            ReferenceMachine(grammar, vocabulary)
        return 0
    reference = ReferenceMachine(grammar, vocabulary)
    # Garbage must not survive.
    row = rng.integers(-(2**31), 2**31, (2, -(-vocabulary.vocab_size // 32)), dtype=np.int32)
    compared = 0
    for _ in range(walks):
        fast, slow = machine.start, reference.start
        for _ in range(steps):
            machine.fill([0, fast], row)
            expected = reference.bitmask(slow)
            assert (row[1] == expected).all()
            assert not row[0].any()
            assert machine.is_accepting(fast) == reference.is_accepting(slow)
            assert set(np.flatnonzero(machine.next_bytes(fast)).tolist()) == reference.next_bytes(slow)
            compared += 1
            allowed = np.flatnonzero(np.unpackbits(expected.view(np.uint8), bitorder="little"))
            allowed = allowed[~np.isin(allowed, vocabulary.eos_token_ids)]
            if not len(allowed):
                break
            token = vocabulary.token_bytes(int(rng.choice(allowed)))
            fast = machine.advance(fast, np.frombuffer(token, dtype=np.uint8), 0, len(token))
            slow = reference.advance(slow, token)
            assert (fast == 0) == (not slow)
    return compared


@pytest.mark.parametrize("seed", range(40))
def test_random_grammars(seed):
    rng = random.Random(seed)
    make = (samples.grammar, samples.keyed)[seed % 2]
    vocabulary = samples.vocabulary(rng, b'abc,"[]\\u0061n', samples.SPLIT, size=40)
    agree(make(rng), vocabulary, np.random.default_rng(seed), walks=3, steps=6)


def test_a_token_may_hold_two_keys():
    """A key that ends inside a token and the same key again: the shared stand-in for new texts must not hide it."""
    schema = {"type": "object", "additionalProperties": {"const": 1}}
    tokens = [bytes((byte,)) for byte in b'{}":,1ab'] + [b'a":1,"a"', b'a":1,"b"', b'":1,"a', b'{"a":1,"a":1}']
    vocabulary = Vocabulary.from_tokens([*tokens, None], eos_token_ids=[len(tokens)])
    grammar = json_schema(schema, whitespace="compact")
    agree(grammar, vocabulary, np.random.default_rng(0), walks=60, steps=6)
    machine = Machine(grammar, vocabulary, Limits())
    row = np.zeros((1, 1), dtype=np.int32)
    text = np.frombuffer(b'{"', dtype=np.uint8)
    machine.fill([machine.advance(machine.start, text, 0, 2)], row)
    allowed = {tokens[i] for i in range(len(tokens)) if row[0, 0] >> i & 1}
    assert b'a":1,"b"' in allowed
    assert b'a":1,"a"' not in allowed


SCHEMAS = (
    {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}, "b": {"type": "number"}}, "required": ["b"]},
    {"type": "array", "items": {"enum": ["red", "green", 12, None]}, "minItems": 2, "maxItems": 40},
    {"anyOf": [{"type": "string", "pattern": "^[a-z]+-[0-9]{2,}$"}, {"type": "array", "items": {"$ref": "#"}}]},
    {"type": "object", "additionalProperties": {"type": "integer", "minimum": -5}},
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_schemas_on_a_real_vocabulary(schema, llama_vocabulary):
    order = "any" if "required" in schema else "schema"
    agree(json_schema(schema, property_order=order), llama_vocabulary, np.random.default_rng(1), walks=1, steps=5)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [r"(a|ab)*\d{1,300}x", r"[^\n]{0,40}é?", r"(?!ab)\w+"])
def test_patterns_on_a_real_vocabulary(pattern, llama_vocabulary):
    agree(regex(pattern), llama_vocabulary, np.random.default_rng(2), walks=2, steps=6)


@pytest.mark.acceptance
def test_a_thousand_states_of_a_real_vocabulary(llama_vocabulary):
    compared = 0
    for seed in range(30):
        for schema in SCHEMAS:
            compared += agree(json_schema(schema), llama_vocabulary, np.random.default_rng(seed), walks=2, steps=8)
    print(f"{compared} masks on 128k tokens equal the reference")
    assert compared >= 1000
