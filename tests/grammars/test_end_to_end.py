"""Front ends through the engine: the same cases, compiled over a vocabulary of bytes and a few longer tokens."""

import re

import pytest
from test_json_schema import CASES
from test_regex import PATTERNS, TEXTS

import constrain
from constrain.vocabulary import Vocabulary

TOKENS = [bytes([byte]) for byte in range(256)] + [b'{"', b'":', b'", "', b"},", b"]}", b"true", b"ab", b"\\u00", None]


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary.from_tokens(TOKENS, eos_token_ids=[len(TOKENS) - 1])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regex(pattern, vocabulary):
    try:
        compiled = constrain.compile(constrain.regex(pattern), vocabulary)
    except constrain.EmptyLanguageError:
        assert not any(re.fullmatch(pattern, text) for text in TEXTS)
        return
    for text in TEXTS[::4]:
        if text or r"\B" not in pattern:
            assert compiled.accepts(text.encode()) == bool(re.fullmatch(pattern, text)), (pattern, text)


@pytest.mark.parametrize(("schema", "good", "bad"), CASES)
def test_json_schema(schema, good, bad, vocabulary):
    compiled = constrain.compile(constrain.json_schema(schema), vocabulary)
    assert [text for text in good if not compiled.accepts(text.encode())] == []
    assert [text for text in bad if compiled.accepts(text.encode())] == []


def test_choice(vocabulary):
    compiled = constrain.compile(constrain.choice(["", "a", "ab", "é"]), vocabulary)
    assert [text for text in ["", "a", "ab", "é", "b", "aba"] if compiled.accepts(text.encode())] == [
        "",
        "a",
        "ab",
        "é",
    ]
