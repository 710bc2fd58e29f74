"""Random schemas over all keywords against the validator: the same values are accepted, and walks end in valid ones.

`CONSTRAIN_SEED` moves the seeds, `-m acceptance` runs many more of them.
"""

import json
import os
import random

import pytest
from oracles import schemas
from oracles.surveys import walk
from oracles.validator import Validator

import constrain
from constrain.errors import BudgetError, EmptyLanguageError, LimitExceededError, UnsupportedFeatureError
from constrain.vocabulary import Vocabulary

BASE = int(os.environ.get("CONSTRAIN_SEED", "0"))
VOCABULARY = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=[256])
VALUES = 25
ORDERS = ("any", "schema")


def compiled_from(schema, order):
    """Return the compiled schema, None where it is refused, or "empty"."""
    try:
        grammar = constrain.json_schema(schema, property_order=order, string_spelling="any", whitespace="compact")
        return constrain.compile(grammar, VOCABULARY)
    except EmptyLanguageError:
        return "empty"
    except (UnsupportedFeatureError, LimitExceededError):
        return None


def check(seed):
    """Compare one schema with the validator; return how many values were compared, and how many were valid."""
    rng = random.Random(f"schema {seed}")
    schema = schemas.document(rng)
    where = json.dumps(schema)
    compiled = compiled_from(schema, "any")
    if compiled is None:
        return 0, 0
    validator = Validator(schema)
    count = valid = 0
    texts = [json.dumps(schemas.value(rng), separators=(",", ":")) for _ in range(VALUES)]
    for text in texts:
        expected = validator.accepts(text)
        got = compiled != "empty" and compiled.accepts(text.encode())
        assert got == expected, f"seed {seed}: {where} {text}: {'in' if expected else ''}valid"
        count += 1
        valid += expected
    if compiled == "empty":
        return count, valid
    order = rng.choice(ORDERS)
    other = compiled if order == "any" else compiled_from(schema, order)
    assert other != "empty", f"seed {seed}: {where} has instances in some order only"
    for _ in range(2):
        try:
            tokens = walk(other, rng, free=rng.choice((0, 5, 30)), slack=rng.choice((0, 5)), budgeted=True)
        except BudgetError:
            continue
        text = VOCABULARY.decode(tokens[:-1])
        why = validator.explain(text)
        assert why is None, f"seed {seed}: {where} {text!r} ({order}): {why}"
        assert compiled.accepts(text), f"seed {seed}: {where} {text!r} is not taken in any order"
    return count, valid


def check_many(count):
    results = [check(seed) for seed in range(BASE, BASE + count)]
    compared, valid = (sum(column) for column in zip(*results, strict=True))
    refused = sum(not one for one, _ in results)
    print(f"\n{count} schemas, {refused} refused; {compared} values, {valid} valid; 0 differ")
    assert compared > 15 * count
    assert valid > compared // 20


def test_random_schemas():
    check_many(800)


@pytest.mark.acceptance
def test_many_random_schemas():
    check_many(int(os.environ.get("CONSTRAIN_SCHEMAS", "40000")))
