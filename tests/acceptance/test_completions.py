"""The shortest completion of real schemas, in both orders: found within a bounded search, and valid.

`generate` asks for it before the first token. Default: a seeded slice; all 5,636 schemas: `pytest -m acceptance`.
"""

import os

import pytest

from constrain.compiled import compile_grammar
from constrain.errors import ConstrainError, LimitExceededError
from constrain.grammars.json_schema import json_schema

SEED = int(os.environ.get("CONSTRAIN_SEED", "0"))


def judge(rows, vocabulary):
    found, failures = 0, []
    for row in rows:
        for order in ("schema", "any"):
            try:
                compiled = compile_grammar(json_schema(row["schema"], property_order=order), vocabulary)
            except ConstrainError:
                continue  # counted by test_instances
            found += 1
            try:
                completion = vocabulary.decode(compiled.completion(compiled.start))
            except LimitExceededError as error:
                failures.append(f"{row['id']}, {order}: {error}")
                continue
            if not compiled.accepts(completion):
                failures.append(f"{row['id']}, {order}: {completion[:80]!r} is not accepted")
    print(f"\ncompletions of compiled schemas: {found}, failures: {len(failures)}\n" + "\n".join(failures[:20]))
    assert not failures


def test_completions_slice(dev_schemas, bytes_vocabulary):
    judge(dev_schemas(200, SEED), bytes_vocabulary)


@pytest.mark.acceptance
def test_all_completions(dev_schemas, bytes_vocabulary):
    judge(dev_schemas(None), bytes_vocabulary)
