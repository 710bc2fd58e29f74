"""Acceptance 3: random walks under masks end with documents that the validator oracle accepts.

A walk draws uniformly among the allowed tokens (one in eight: by first byte, then among the tokens with it), and ends
under a budget. Ends are offered in accepting states only, and the texts at which they were offered are judged too.

Default: a seeded slice. `pytest -m acceptance` makes 10,000 uniform walks over at least 300 schemas that compile; the
run is resumed from `.acceptance/walks-*.jsonl` (delete the file for a fresh one).
"""

import os

import pytest
from oracles.surveys import Records, survey_walks, walks_report

SEED = int(os.environ.get("CONSTRAIN_SEED", "0"))


def judge(records):
    report = walks_report(records)
    print("\n" + report)
    assert not any(record["failures"] or record["status"] in ("crash", "timeout") for record in records), report
    return sum(bool(record["walks"]) for record in records), sum(record["uniform"] for record in records)


def test_walks_slice(dev_schemas, llama_vocabulary):
    rows = dev_schemas(60, SEED + 1)
    records = Records(None).each(rows, lambda row: survey_walks(row, llama_vocabulary, 2, SEED))
    schemas, walks = judge(records)
    assert schemas >= 20
    assert walks >= 40


@pytest.mark.acceptance
def test_ten_thousand_walks(dev_schemas, llama_vocabulary):
    rows = dev_schemas(800, SEED + 2)
    records = Records(f"walks-{SEED}.jsonl").each(rows, lambda row: survey_walks(row, llama_vocabulary, 20, SEED))
    schemas, walks = judge(records)
    assert schemas >= 300
    assert walks >= 10_000
