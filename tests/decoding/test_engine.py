"""Decoding over the engine itself: `generate` with each kind of constraint, on a table model."""

import pickle
import random
import re
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel, ValidationError

from constrain.compiled import compile_grammar
from constrain.decoding import constraint as constraint_module
from constrain.decoding.constraint import Wanted, resolve
from constrain.decoding.generate import generate
from constrain.decoding.table_model import TableModel
from constrain.errors import BudgetError, LimitExceededError
from constrain.grammars.json_schema import json_schema
from constrain.grammars.regex import regex
from constrain.limits import Limits
from constrain.vocabulary import Vocabulary

WORDS = ['{"', '": ', '", "', '"}', "true", "name", "age", "12", "é", "abc", "  ", "\n", '":', ', "', "]}", '["']
VOCABULARY = Vocabulary.from_tokens(
    [bytes([byte]) for byte in range(256)] + [word.encode() for word in WORDS] + [b"<end>"],
    eos_token_ids=[256 + len(WORDS)],
)


def refuse(name):
    raise ValueError(f"{name} is not liked")


class Person(BaseModel):
    name: str
    age: int
    langs: list[str]


class Picky(BaseModel):
    name: Annotated[str, AfterValidator(refuse)]


@pytest.mark.parametrize("keywords", [{}, {"temperature": 1.0}, {"forced": False}, {"logprobs": None}], ids=str)
def test_answers_are_instances(keywords):
    for seed in range(6):
        model = TableModel(VOCABULARY, seed=seed)
        result = generate(model, "a", schema=Person, max_tokens=60, seed=seed, **keywords)
        assert isinstance(result.value, Person)
        assert len(result.token_ids) <= 60
        assert result.finish_reason == "end"


def test_values_are_read_as_asked_for():
    model = TableModel(VOCABULARY)
    assert generate(model, "a", schema={"enum": [[1, {"a": None}]]}).value == [1, {"a": None}]
    assert generate(model, "a", schema='{"const": 12}').value == 12
    assert generate(model, "a", choice=["yes", "no"]).value in {"yes", "no"}
    assert re.fullmatch(r"[ab]{3}", generate(model, "a", regex="[ab]{3}").value)
    assert generate(model, "a", grammar=regex("x|y")).value in {"x", "y"}
    assert isinstance(generate(model, "a", schema=list[bool], max_tokens=40).value, list)
    compiled = compile_grammar(regex("x|y"), VOCABULARY)
    assert generate(model, "a", constraint=compiled).value in {"x", "y"}
    assert generate(model, "a", schema={"const": [1, 2]}, json_options={"whitespace": "compact"}).text == "[1,2]"


def test_a_stricter_validator_raises_on_access():
    result = generate(TableModel(VOCABULARY), "a", schema=Picky, max_tokens=40)
    with pytest.raises(ValidationError, match="not liked"):
        _ = result.value
    assert result.text.startswith("{")
    assert isinstance(pickle.loads(pickle.dumps(result)).text, str)


def test_the_least_budget_is_enough_and_one_less_is_an_error():
    model = TableModel(VOCABULARY, seed=1)
    needed = resolve(Wanted(schema=Person), VOCABULARY).compiled
    needed = needed.distance(needed.start)
    assert isinstance(generate(model, "a", schema=Person, max_tokens=needed).value, Person)
    with pytest.raises(BudgetError, match=f"needs {needed} tokens"):
        generate(model, "a", schema=Person, max_tokens=needed - 1)


def test_compiled_grammars_are_kept(monkeypatch):
    first = resolve(Wanted(schema={"type": "integer"}), VOCABULARY)
    assert first.seconds > 0
    again = resolve(Wanted(schema={"type": "integer"}), VOCABULARY)
    assert again.compiled is first.compiled
    assert again.seconds == 0
    assert resolve(Wanted(schema={"type": "number"}), VOCABULARY).compiled is not first.compiled
    assert resolve(Wanted(schema=Person), VOCABULARY).compiled is resolve(Wanted(schema=Person), VOCABULARY).compiled
    # The order of properties is part of a schema.
    ab, ba = {"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}
    assert resolve(Wanted(schema=ab), VOCABULARY).compiled is not resolve(Wanted(schema=ba), VOCABULARY).compiled
    other = VOCABULARY.with_eos([])
    assert resolve(Wanted(regex="a"), other).compiled is not resolve(Wanted(regex="a"), VOCABULARY).compiled
    options = {"whitespace": "compact"}
    compact = resolve(Wanted(schema={"type": "integer"}, json_options=options), VOCABULARY)
    assert compact.compiled is not first.compiled
    for number in range(40):
        resolve(Wanted(regex=f"a{number}"), VOCABULARY)
    assert len(constraint_module._cache) <= constraint_module.CACHE_SIZE


def test_forced_text_is_most_of_a_record():
    grammar = json_schema(Person, whitespace="compact", max_string=3)
    result = generate(TableModel(VOCABULARY, seed=2), "a", grammar=grammar, max_tokens=80)
    assert result.report.forced_tokens >= 4
    assert Person.model_validate_json(result.text)


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("logprobs", [None, 2])
def test_an_answer_that_meets_a_limit_is_ended_the_shortest_way(forced, ends, logprobs):
    # Each text of a and b leads to a lexer state of its own.
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b"c", b"ab", b"<end>"], eos_token_ids=[4] if ends else [])
    pattern = "[ab]*a[ab]{20}c"
    compiled = compile_grammar(regex(pattern), vocabulary, Limits(max_lexer_states=500))
    reasons = set()
    for seed in range(8):
        model = TableModel(vocabulary, seed=seed, scale=0.5)
        result = generate(
            model, "a", constraint=compiled, max_tokens=4000, temperature=1, seed=seed, forced=forced, logprobs=logprobs
        )
        assert re.fullmatch(pattern, result.text)
        assert len(result.logprobs) == (0 if logprobs is None else len(result.token_ids))
        reasons.add(result.finish_reason)
    assert "limit" in reasons


def test_a_matcher_that_meets_a_limit_has_not_moved():
    compiled = compile_grammar(regex("[ab]*a[ab]{20}c"), VOCABULARY, Limits(max_lexer_states=300))
    matcher = compiled.matcher()
    rng, taken = random.Random(0), []

    def walk():
        while True:
            token_id = rng.choice(b"ab")
            matcher.accept_token(token_id)
            taken.append(token_id)

    with pytest.raises(LimitExceededError, match="max_lexer_states"):
        walk()
    assert matcher.token_ids == taken
    assert len(taken) > 100
    matcher.rollback(len(taken))
    assert not matcher.is_accepting()
