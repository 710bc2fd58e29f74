"""Where the tests find data, and why they skip.

Modules under `tests/oracles` are imported as `oracles.<module>`: `tests/` is put on the path, there is no __init__.py.
"""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from oracles import datasets  # noqa: E402


@pytest.fixture(scope="session")
def data():
    """The folder of data made by others; without it the test is skipped and says where it looked."""
    folder = datasets.data_folder()
    if folder is None:
        pytest.skip(datasets.MISSING)
    return folder


@pytest.fixture(scope="session")
def bytes_vocabulary():
    """A vocabulary whose tokens are the 256 bytes, and an end."""
    from tests.byte_tokens import BYTES

    return BYTES


@pytest.fixture(scope="session")
def dev_schemas(data):
    """A function (count, seed) -> rows of MaskBench dev; count None: all of them."""
    return lambda count, seed=0: datasets.sample_dev(data, count, seed)


@pytest.fixture(scope="session")
def llama_vocabulary(data):
    """The Llama-3.1 vocabulary."""
    from constrain.vocabulary import Vocabulary

    return Vocabulary.from_tokenizer_json(data / "tokenizers" / "llama3_1" / "tokenizer.json")


@pytest.fixture(scope="session")
def llama_tokenizer(data):
    """The Llama-3.1 tokenizer of the `tokenizers` library."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs the tokenizers library")
    return tokenizers.Tokenizer.from_file(str(data / "tokenizers" / "llama3_1" / "tokenizer.json"))


def pytest_terminal_summary(terminalreporter):
    """Print every reason for a skip once, with its count: a skip must not pass for a success."""
    reasons = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")
