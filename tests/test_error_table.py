"""One row for each error and each limit: an input that must trigger it, and what its message must say."""

import dataclasses

import pytest

from constrain import errors
from constrain.compiled import compile_grammar
from constrain.decoding.generate import generate
from constrain.decoding.table_model import TableModel
from constrain.errors import (
    BudgetError,
    EmptyLanguageError,
    GrammarSyntaxError,
    LimitExceededError,
    TokenRejectedError,
    UnsupportedFeatureError,
    VocabularyError,
)
from constrain.grammars.choice import choice
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.ir import Alt, Grammar, Lexeme, Literal, Ref, Repeat
from constrain.limits import Limits
from constrain.vocabulary import Vocabulary
from tests.byte_tokens import BYTES
from tests.raising import raises_exactly

ANY_ORDER = {"type": "object", "required": [f"p{i}" for i in range(20)]}


def compiled(grammar, **limits):
    return compile_grammar(grammar, BYTES, Limits(**limits))


def completed(grammar, **limits):
    made = compiled(grammar, **limits)
    return made.completion(made.start)


ERRORS = [
    (GrammarSyntaxError, r"line 1, column 1\n +\(a\n +\^", lambda: regex("(a")),
    (GrammarSyntaxError, r"#/type must be among", lambda: json_schema({"type": "strnig"})),
    (GrammarSyntaxError, r"lone surrogate", lambda: choice(["\ud800"])),
    (UnsupportedFeatureError, r"'extends' at #/items/extends: .*\nUse", lambda: json_schema({"items": {"extends": {}}})),
    (UnsupportedFeatureError, r"at position", lambda: regex(r"(a)\1")),
    (EmptyLanguageError, r"nothing satisfies #", lambda: json_schema({"type": "integer", "minimum": 5, "maximum": 4})),
    (EmptyLanguageError, r"the choice: it has no texts", lambda: choice([])),
    (EmptyLanguageError, r"the vocabulary has no tokens for 'b'", lambda: compile_grammar(regex("b"), Vocabulary.from_tokens([b"a", None], [1]))),
    (VocabularyError, r"\S", lambda: Vocabulary.from_tokens([b"a"], [7])),
    (TokenRejectedError, r"token 98 \(b'b'\) is not allowed here; expected a token beginning with one of 'a'", lambda: compiled(regex("a")).matcher().accept_token(98)),
    (BudgetError, r"max_tokens=1 .* needs 2 tokens", lambda: generate(TableModel(BYTES, seed=1), "hi", regex="a", max_tokens=1)),
]  # fmt: skip

LIMITS = [
    ("max_states", lambda: compiled(json_schema({}), max_states=100).accepts(b"[" * 3_000)),
    ("max_states", lambda: compiled(regex("a"), max_states=0)),
    ("max_memory", lambda: compiled(json_schema({}), max_memory=10_000).accepts(b"[" * 3_000)),
    ("max_compile_seconds", lambda: compiled(regex("a"), max_compile_seconds=0)),
    ("max_nesting", lambda: regex("(" * 20 + ")" * 20, limits=Limits(max_nesting=10))),
    ("max_nesting", lambda: json_schema('{"items":' * 20 + "true" + "}" * 20, limits=Limits(max_nesting=10))),
    ("max_regex_size", lambda: regex("(?:ab?|[cd]+){2}", limits=Limits(max_regex_size=2))),
    ("max_repeat", lambda: regex("a{50}", limits=Limits(max_repeat=10))),
    ("max_repeat", lambda: json_schema({"minLength": 50}, limits=Limits(max_repeat=10))),
    ("max_schema_nodes", lambda: json_schema({"prefixItems": [{}, {}, {}]}, limits=Limits(max_schema_nodes=2))),
    ("max_emptiness_steps", lambda: json_schema({"type": "string", "allOf": [{"pattern": "ab.{9}c$"}, {"pattern": "^.{9}d"}]}, limits=Limits(max_emptiness_steps=3))),
    ("max_emptiness_steps", lambda: completed(json_schema(ANY_ORDER, property_order="any"), max_emptiness_steps=3)),
    ("max_literals", lambda: choice(["a", "b"], limits=Limits(max_literals=1))),
    ("max_literals", lambda: json_schema({"enum": ["a", "b"]}, limits=Limits(max_literals=1))),
    ("max_readings", lambda: compiled(Grammar(Alt(tuple(Ref(f"r{i}") for i in range(9))), {f"r{i}": Repeat(Lexeme(Repeat(Literal(b"a"), i + 1, None)), 1, None) for i in range(9)}), max_readings=3).accepts(b"a" * 30)),
    ("max_lexer_states", lambda: compiled(regex("[ab]*a[ab]{14}"), max_lexer_states=10).accepts(b"ab" * 99)),
    ("max_count_sets", lambda: compiled(regex("a{2}|a{5}|a{9}"), max_count_sets=1)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "call"), ERRORS, ids=range(len(ERRORS)))
def test_errors(kind, message, call):
    raises_exactly(kind, message, call)


@pytest.mark.parametrize(("limit", "call"), LIMITS)
def test_limits(limit, call):
    with pytest.raises(
        LimitExceededError, match=rf"^limit {limit}=.*raise it with limits=constrain\.Limits\({limit}="
    ) as caught:
        call()
    assert caught.value.limit == limit


def test_the_tables_are_complete():
    leaves = {kind for kind in vars(errors).values() if isinstance(kind, type) and not kind.__subclasses__()}
    assert leaves == {kind for kind, _, _ in ERRORS} | {LimitExceededError}
    named = {row.values[0] if hasattr(row, "values") else row[0] for row in LIMITS}
    assert named == {field.name for field in dataclasses.fields(Limits)}
