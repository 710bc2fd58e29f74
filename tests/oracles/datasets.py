"""Read the data that others made: real schemas with labelled instances, and cases from bug reports.

Found at `CONSTRAIN_DATA`, else at `../shared/data` beside the checkout; never copied into the project.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MISSING = "no data: set CONSTRAIN_DATA, or put the data folder at ../shared/data beside the checkout"


def data_folder() -> Path | None:
    """Return the folder of data, or None."""
    given = os.environ.get("CONSTRAIN_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def dev_lines(folder: Path) -> list[str]:
    """Return MaskBench dev as JSON lines, in file order."""
    with gzip.open(folder / "maskbench" / "dev.jsonl.gz", "rt", encoding="utf-8") as stream:
        return stream.read().rstrip("\n").split("\n")


def sample_dev(folder: Path, count: int | None, seed: int = 0) -> list[dict[str, Any]]:
    """Return `count` rows {"id", "dataset", "schema", "tests"} drawn without replacement, in file order.

    A smaller count with the same seed is not a subset of a larger one; keep the count with the result.
    """
    lines = dev_lines(folder)
    if count is not None and count < len(lines):
        picked = sorted(random.Random(seed).sample(range(len(lines)), count))
        lines = [lines[index] for index in picked]
    return [json.loads(line) for line in lines]


def cases(folder: Path) -> list[dict[str, Any]]:
    """Return the small cases {"id", "kind", "constraint", "accept", "reject", "expect", "note"}."""
    text = (folder / "cases" / "cases.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def instance_text(data: object) -> str:
    """Return how MaskBench instances are tried: default separators, no escapes for non-ASCII."""
    return json.dumps(data, indent=None, ensure_ascii=False)
