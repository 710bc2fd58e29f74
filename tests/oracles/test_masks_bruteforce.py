"""Masks are what brute force says: random grammars, patterns and schemas over random vocabularies, bit by bit.

`CONSTRAIN_SEED` moves the seeds, `-m acceptance` runs many more of them.
"""

import os
import random
import re

import pytest
from oracles import naive, samples
from oracles.mask_laws import Tally, check_many, check_masks, check_matcher
from oracles.validator import Validator

from constrain.compiled import compile_grammar
from constrain.errors import EmptyLanguageError
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex

BASE = int(os.environ.get("CONSTRAIN_SEED", "0"))
TALLY = Tally()


def seeds(count):
    return range(BASE, BASE + count)


@pytest.fixture(scope="module", autouse=True)
def total():
    yield
    print(f"\nmasks against brute force: {TALLY}")
    assert TALLY.grammars < 50 or TALLY.bits >= 10_000


def against_ir(grammar, rng, alphabet=b"abc", texts=samples.SPLIT, prefixes=10):
    """Check one grammar against the naive oracle; an empty language must be refused as such."""
    vocabulary = samples.vocabulary(rng, alphabet, texts)
    spelled = frozenset(byte for token in vocabulary.tokens() if token for byte in token)
    language = naive.Language(grammar, spelled)
    try:
        compiled = compile_grammar(grammar, vocabulary)
    except EmptyLanguageError:
        assert not language.is_viable_prefix(b""), "refused as empty, but it is not"
        return
    assert language.is_viable_prefix(b""), "the language is empty, and was compiled"
    check_masks(compiled, language.is_viable_prefix, language.matches, rng, TALLY, prefixes=prefixes)
    check_matcher(compiled, language.is_viable_prefix, rng)


def check_regular(seed):
    rng = random.Random(f"regular {seed}")
    node = samples.regular(rng, 3)
    against_ir(samples.ir.Grammar(samples.ir.Lexeme(node)), rng)


def check_grammar(seed):
    rng = random.Random(f"grammar {seed}")
    against_ir(samples.grammar(rng), rng, prefixes=8)


def check_keyed(seed):
    rng = random.Random(f"keyed {seed}")
    against_ir(samples.keyed(rng), rng, alphabet=b'ab",[]\\u0061n', texts=(), prefixes=8)


def check_pattern(seed):
    """The pattern as Python reads it; prefixes by interegular's reading of the same pattern where it has one."""
    rng = random.Random(f"pattern {seed}")
    text = samples.pattern(rng)
    vocabulary = samples.vocabulary(rng, b"abc1 \n", samples.SPLIT)
    spelled = frozenset(byte for token in vocabulary.tokens() if token for byte in token)
    grammar = regex(text)
    language = naive.Language(grammar, spelled)
    compiled = compile_grammar(grammar, vocabulary)
    python = re.compile(text)

    def member(data):
        try:
            said = python.fullmatch(data.decode()) is not None
        except UnicodeDecodeError:
            said = False
        assert language.matches(data) == said, f"pattern {text!r} on {data!r}: re says {said}"
        return said

    check_masks(compiled, language.is_viable_prefix, member, rng, TALLY, prefixes=10)
    check_matcher(compiled, language.is_viable_prefix, rng)


def check_schema(seed):
    """Every document there is, listed and judged by the validator: no part of ours is in this oracle."""
    rng = random.Random(f"schema {seed}")
    numbers = rng.random() < 0.5
    schema = samples.closed_schema(rng, numbers=numbers)
    alphabet = '[]{},:"ab' + ("012nulé" if numbers else "nultrfsé")
    if not numbers:
        alphabet += "e"
    validator = Validator(schema)
    documents = {text.encode() for text in samples.universe(alphabet, numbers=numbers) if validator.accepts(text)}
    starts = {document[:size] for document in documents for size in range(len(document) + 1)}
    ascii_part = "".join(char for char in alphabet if char < "\x7f").encode()
    vocabulary = samples.vocabulary(rng, ascii_part, ("é",), size=30)
    try:
        compiled = compile_grammar(json_schema(schema, whitespace="compact", property_order="any"), vocabulary)
    except EmptyLanguageError:
        assert not documents, f"{schema} is refused as empty, but has {min(documents)!r}"
        return
    assert documents, f"{schema} has no document, and was compiled"
    try:
        check_masks(compiled, starts.__contains__, documents.__contains__, rng, TALLY, prefixes=12, longest=12)
        check_matcher(compiled, starts.__contains__, rng)
    except AssertionError as error:
        raise AssertionError(f"schema {schema}: {error}") from error


def check_schema_ir(seed):
    """Flexible whitespace, open objects, recursion: the engine against the naive reading of the front end's IR."""
    rng = random.Random(f"schema ir {seed}")
    schema = rng.choice(OPEN_SCHEMAS)
    options = {
        "whitespace": rng.choice(("flexible", "compact", 1)),
        "max_whitespace": rng.randint(1, 2),
        "property_order": rng.choice(("schema", "any")),
        "string_spelling": rng.choice(("plain", "any")),
        "max_digits": (2, 1, 1),
    }
    against_ir(json_schema(schema, **options), rng, alphabet=b'{}[]":,ab1-.e \n\\u06', texts=("é",), prefixes=6)


OPEN_SCHEMAS = (
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "integer"}},
    {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}, "required": ["b"], "additionalProperties": False},
    {"type": "object", "required": ["ab", "1"], "properties": {"a": {"const": 1}}},
    {"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 2}}},
    {"anyOf": [{"type": "string", "minLength": 2, "maxLength": 3}, {"type": "array", "minItems": 1, "items": {"const": "a"}}]},
    {"type": "string", "pattern": "a+b"},
    {"type": "number", "minimum": -1.5, "exclusiveMaximum": 11},
    {"$defs": {"t": {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "additionalProperties": False}}, "$ref": "#/$defs/t"},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"enum": ["a", "aa", 1]}], "items": False, "minItems": 2},
)  # fmt: skip

CHECKS = {
    "regular": (check_regular, 40),
    "grammar": (check_grammar, 60),
    "keyed": (check_keyed, 15),
    "pattern": (check_pattern, 40),
    "schema": (check_schema, 30),
    "schema_ir": (check_schema_ir, 12),
}
CASES = [(kind, seed) for kind, (_, count) in CHECKS.items() for seed in seeds(count)]


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_masks(kind, seed):
    CHECKS[kind][0](seed)


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", CHECKS)
def test_many_masks(kind):
    check, count = CHECKS[kind]
    check_many(kind, check, 20 * count)
