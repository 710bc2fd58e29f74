"""`constrain demo`: a real small model, free and constrained, side by side."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from constrain.cli.models import as_prompt, load_model
from constrain.cli.warmup import compile_kernels

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from constrain.cli.person import Person
    from constrain.decoding.result import Event, Result


REQUESTS = (
    "Describe Ada Lovelace as JSON with the fields name, born and known_for.",
    "Who was Alan Turing? Answer as JSON with the fields name, born and known_for.",
    "Give me a JSON record of Marie Curie: name, born, known_for.",
)


def demo(
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="PATH", help="Folder or hub name; else SmolLM2.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=8, help="Budget of each answer.")] = 120,
) -> None:
    """Ask a real small model for JSON, free and constrained, and show what each step cost."""
    from rich.console import Console

    console = Console()
    costs: list[tuple[str, float]] = []
    console.print(f"loading {model or 'SmolLM2-135M-Instruct'} ...")
    leave_cores_free()
    with timed("load the model", costs):
        loaded = load_model(model)
    console.print("loading the kernels ...")
    with timed("load the kernels", costs):
        compile_kernels()
    from constrain.cli.person import Person
    from constrain.decoding.generate import generate, generate_batch

    prompts = [as_prompt(loaded, request) for request in REQUESTS]
    console.print(f"{len(prompts)} free answers at once, a dot for each token of the first ", end="")
    with timed("free answers (batch)", costs):
        dots = partial(show_dots, console)
        free = generate_batch(loaded, prompts, max_tokens=max_tokens, on_token=dots)
    console.print()
    held = []
    for request, prompt, answer in zip(REQUESTS, prompts, free, strict=True):
        console.out("constrained: ", end="")
        text = partial(show_text, console)
        held.append(generate(loaded, prompt, schema=Person, max_tokens=max_tokens, on_token=text))
        console.print()
        show_answers(console, request, answer, held[-1])
    show_costs(console, costs, held)
    valid = sum(problem(answer) is None for answer in free)
    console.print(
        f"Free, {valid} of {len(free)} answers are a valid Person: a small model likes to answer with prose, with "
        "code, or with JSON in another shape. Constrained, all are. The constraint holds the shape; whether the facts "
        f"are right is up to the model, and a small one is often wrong.\n\n{held[-1].value!r}"
    )


def leave_cores_free() -> None:
    """Have torch use half of the cores, at most 4, unless OMP_NUM_THREADS says how many.

    Its threads wait for each other at every layer: on two cores of which something else uses one, the free answers
    took 97 s with two threads and 7 s to 14 s with one.
    """
    if importlib.util.find_spec("torch") is not None and not os.environ.get("OMP_NUM_THREADS"):
        import torch

        torch.set_num_threads(max(1, min(4, torch.get_num_threads() // 2)))


def show_dots(console: Console, event: Event[str]) -> None:
    """Show that a batch goes on."""
    if event.prompt == 0:
        console.out("." * len(event.token_ids), end="")
        console.file.flush()


def show_text(console: Console, event: Event[Person]) -> None:
    """Show an answer as it is written."""
    console.out(event.text, end="", highlight=False)
    console.file.flush()


@contextmanager
def timed(label: str, costs: list[tuple[str, float]]) -> Iterator[None]:
    """Add what the block costs, in seconds."""
    began = time.perf_counter()
    yield
    costs.append((label, time.perf_counter() - began))


def problem(result: Result[str]) -> str | None:
    """Say why a free answer is no Person, or None if it is one."""
    from pydantic import ValidationError

    from constrain.cli.person import Person

    try:
        Person.model_validate_json(result.text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"{where}: {first['msg']}" if where else first["msg"]
    return None


def show_answers(console: Console, request: str, free: Result[str], held: Result[Person]) -> None:
    """Print both answers to one request side by side."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(request), title_justify="left", expand=True, show_lines=True)
    table.add_column("free", ratio=1)
    table.add_column("constrained by Person", ratio=1)
    table.add_row(Text(free.text.strip()), Text(held.text))
    wrong = problem(free)
    table.add_row(
        Text("a valid Person" if wrong is None else f"not a Person: {wrong}", "green" if wrong is None else "red"),
        Text(repr(held.value), "green"),
    )
    console.print(table)


def show_costs(console: Console, costs: list[tuple[str, float]], results: list[Result[Person]]) -> None:
    """Print what each step cost."""
    from rich.table import Table

    table = Table(title="What it cost (calls of the model; masks for each token)", title_justify="left")
    table.add_column("step", no_wrap=True)
    for column in ("seconds", "tokens", "forced", "calls", "ms/call", "mask ms"):
        table.add_column(column, justify="right")
    for label, seconds in [*costs, ("compile the schema", results[0].report.compile_seconds)]:
        table.add_row(label, f"{seconds:.2f}")
    for number, result in enumerate(results, 1):
        _add_answer(table, f"constrained {number}", result)
    console.print(table)


def _add_answer(table: Table, label: str, result: Result[Person]) -> None:
    report = result.report
    tokens = report.sampled_tokens + report.forced_tokens
    table.add_row(
        label,
        f"{report.seconds:.2f}",
        f"{tokens}",
        f"{report.forced_tokens}",
        f"{report.model_calls}",
        f"{1000 * report.model_seconds / max(1, report.model_calls):.1f}",
        f"{1000 * report.mask_seconds / max(1, tokens):.2f}",
    )
