"""`constrain generate`: one answer of a model, in the shape asked for."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from constrain.cli.inputs import Choice, PropertyOrder, Regex, Schema, Whitespace, read_grammar, read_text

SAMPLING = "Sampling"


def generate(
    prompt: Annotated[str, typer.Option("--prompt", "-p", metavar="TEXT", help="The prompt; - for standard input.")],
    schema: Schema = None,
    regex: Regex = None,
    choice: Choice = None,
    whitespace: Whitespace = "flexible",
    property_order: PropertyOrder = "schema",
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="PATH", help="Folder or hub name; else SmolLM2."),
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Budget, the end token counted.")] = 256,
    temperature: Annotated[float, typer.Option(min=0.0, help="0: greedy.", rich_help_panel=SAMPLING)] = 0.0,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0, help="Nucleus.", rich_help_panel=SAMPLING)] = 1.0,
    seed: Annotated[int | None, typer.Option(help="Repeat a sample.", rich_help_panel=SAMPLING)] = None,
    *,
    stream: Annotated[bool, typer.Option("--stream", help="Print the text as it is written.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Print what it cost, on stderr.")] = False,
) -> None:
    """Print one answer of a model, exactly in the shape of a schema, a pattern or a list of texts.

    The answer alone goes to stdout. A budget that is too small for any answer is an error before the model runs.
    """
    raise NotImplementedError(
        prompt,
        schema,
        regex,
        choice,
        whitespace,
        property_order,
        model,
        max_tokens,
        temperature,
        top_p,
        seed,
        stream,
        stats,
        sys,
        read_grammar,
        read_text,
    )
