"""Acceptance 4: labelled instances of real schemas, token by token with the Llama-3.1 tokenizer.

Every valid one is accepted and every invalid one refused; how many schemas compile, and which keywords refuse the
others, is printed. Default: a seeded slice. All 5,636 schemas: `pytest -m acceptance`, or in parts side by side with
`tests/acceptance/run_instances.py`; both write `.acceptance/instances.jsonl` and go on where it stops.
"""

import os

import pytest
from oracles.surveys import Records, instances_report, survey_instances

SEED = int(os.environ.get("CONSTRAIN_SEED", "0"))


def judge(records):
    report = instances_report(records)
    print("\n" + report)
    wrong = [
        record["id"]
        for record in records
        if record["valid_refused"] or record["invalid_accepted"] or record["status"] in ("crash", "timeout")
    ]
    assert not wrong, report


def test_instances_slice(dev_schemas, llama_vocabulary, llama_tokenizer):
    rows = dev_schemas(int(os.environ.get("CONSTRAIN_SCHEMAS", "150")), SEED)
    judge(Records(None).each(rows, lambda row: survey_instances(row, llama_vocabulary, llama_tokenizer)))


@pytest.mark.acceptance
def test_all_instances(dev_schemas, llama_vocabulary, llama_tokenizer):
    rows = dev_schemas(None)
    judge(Records("instances.jsonl").each(rows, lambda row: survey_instances(row, llama_vocabulary, llama_tokenizer)))
