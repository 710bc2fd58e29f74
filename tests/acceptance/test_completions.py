"""The shortest completion of real schemas, in both orders: found within a bounded search, and valid.

`generate` asks for it before the first token. Default: a seeded slice; all 5,636 schemas: `pytest -m acceptance`.
"""

import os

import pytest

from constrain.compiled import compile_grammar
from constrain.errors import ConstrainError, LimitExceededError
from constrain.grammars.json_schema import json_schema
from constrain.vocabulary import Vocabulary

SEED = int(os.environ.get("CONSTRAIN_SEED", "0"))
BYTES = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=[256])


def judge(rows):
    found, failures = 0, []
    for row in rows:
        for order in ("schema", "any"):
            try:
                compiled = compile_grammar(json_schema(row["schema"], property_order=order), BYTES)
            except ConstrainError:
                continue  # counted by test_instances
            found += 1
            try:
                completion = BYTES.decode(compiled.completion(compiled.start))
            except LimitExceededError as error:
                failures.append(f"{row['id']}, {order}: {error}")
                continue
            if not compiled.accepts(completion):
                failures.append(f"{row['id']}, {order}: {completion[:80]!r} is not accepted")
    print(f"\ncompletions of compiled schemas: {found}, failures: {len(failures)}\n" + "\n".join(failures[:20]))
    assert not failures


def test_completions_slice(dev_schemas):
    judge(dev_schemas(200, SEED))


@pytest.mark.acceptance
def test_all_completions(dev_schemas):
    judge(dev_schemas(None))
