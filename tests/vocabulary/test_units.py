"""Vocabularies whose characters are whole tokens: what cannot be spelled is never begun."""

import random

import numpy as np
import pytest

import constrain
from constrain.errors import EmptyLanguageError
from constrain.vocabularies.units import is_spelled
from constrain.vocabulary import Vocabulary

# U+00E8 and U+0388 make the bytes C3 A8, CE 88; the character of C3 88 is in no token.
TOKENS = [*'abc"{}:,[] ', "è", "Έ", "aè", "bb", "èè"]
WORDS = Vocabulary.from_tokens([*(token.encode() for token in TOKENS), None], eos_token_ids=[len(TOKENS)])
E_GRAVE = "\u00c8"


def test_units():
    assert WORDS.characters == ((0xE8, 0xE8), (0x388, 0x388))
    assert is_spelled("aèΈ".encode(), WORDS)
    assert not is_spelled(E_GRAVE.encode(), WORDS)
    assert not is_spelled(b"\xc3", WORDS)
    assert WORDS.is_closed


def test_a_character_without_a_token_is_named():
    for grammar in (constrain.choice([E_GRAVE]), constrain.regex(f"a+{E_GRAVE}c")):
        with pytest.raises(EmptyLanguageError, match=f"no tokens for '{E_GRAVE}' .bytes c3 88."):
            constrain.compile(grammar, WORDS)
    assert constrain.compile(constrain.choice([E_GRAVE, "a"]), WORDS).accepts(b"a")


def test_tokens_that_cut_characters_are_never_allowed():
    cut = [*TOKENS, "aè".encode()[:2], b"c"]
    vocabulary = Vocabulary.from_tokens(
        [token if isinstance(token, bytes) else token.encode() for token in cut] + [None], eos_token_ids=[len(cut)]
    )
    compiled = constrain.compile(constrain.regex("a[è]c"), vocabulary)
    assert compiled.advance(compiled.start, len(TOKENS)) == 0
    assert compiled.advance(compiled.start, TOKENS.index("a")) > 0
    assert compiled.distance(compiled.start) == 3


@pytest.mark.parametrize("pattern", [".{3,5}", "[^a]*b", "(è|È)+a", '"[^"]*"', "[\\u00c0-\\u03ff]{2}"])
def test_walks_never_strand(pattern):
    compiled = constrain.compile(constrain.regex(pattern), WORDS)
    rng = random.Random(0)
    for _ in range(30):
        state = compiled.start
        for _ in range(12):
            row = compiled.bitmask(state)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            assert len(allowed)
            state = compiled.advance(state, int(rng.choice(allowed)))
            assert state
            if state == 1:
                break
        assert compiled.distance(state) < 10


ONE = {"const": 1}
MEMBERS = {"type": "object", "properties": {"a": ONE, "b": ONE}, "required": ["a", "b"], "additionalProperties": False}
NEED_A_COMMA = [
    MEMBERS,
    {"type": "array", "items": ONE, "minItems": 2, "maxItems": 3},
    {"type": "array", "items": ONE, "minItems": 20},
    {"type": "object", "properties": {"a": ONE}, "required": ["a", "bc"], "additionalProperties": ONE},
    {"type": "object", "required": ["a", "b"]},
    {"type": "object", "properties": {"a": ONE, "c": MEMBERS}, "required": ["c"], "additionalProperties": False},
]


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("schema", NEED_A_COMMA)
def test_what_a_missing_comma_makes_impossible_is_never_begun(schema, order):
    texts = '{}[]":ab1c'
    vocabulary = Vocabulary.from_tokens([*(text.encode() for text in texts), None], eos_token_ids=[len(texts)])
    grammar = constrain.json_schema({"anyOf": [ONE, schema]}, property_order=order)
    compiled = constrain.compile(grammar, vocabulary)
    assert compiled.next_bytes(compiled.start) == {ord("1")}
    with pytest.raises(EmptyLanguageError, match="no tokens for ','"):
        constrain.compile(constrain.json_schema(schema, property_order=order), vocabulary)
