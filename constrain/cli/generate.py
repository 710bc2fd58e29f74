"""`constrain generate`: one answer of a model, in the shape asked for."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from constrain.cli.inputs import Choice, Formats, PropertyOrder, Regex, Schema, Whitespace, read_grammar, read_text
from constrain.cli.models import as_prompt, describe_cost, load_model

SAMPLING = "Sampling"


def generate(
    prompt: Annotated[str, typer.Option("--prompt", "-p", metavar="TEXT", help="The prompt; - for standard input.")],
    schema: Schema = None,
    regex: Regex = None,
    choice: Choice = None,
    whitespace: Whitespace = "flexible",
    property_order: PropertyOrder = "schema",
    formats: Formats = "assert",
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="PATH", help="Folder or hub name; else SmolLM2.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Budget, the end token counted.")] = 256,
    temperature: Annotated[float, typer.Option(min=0.0, help="0: greedy.", rich_help_panel=SAMPLING)] = 0.0,
    top_k: Annotated[int, typer.Option(min=0, help="0: all.", rich_help_panel=SAMPLING)] = 0,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0, help="1: all.", rich_help_panel=SAMPLING)] = 1.0,
    seed: Annotated[int | None, typer.Option(help="To repeat a sample.", rich_help_panel=SAMPLING)] = None,
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Send the prompt as it is, without the chat template.")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Print the text as it is written.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Print what it cost, on stderr.")] = False,
) -> None:
    """Print one answer of a model, exactly in the shape of a schema, a pattern or a list of texts.

    The answer alone goes to stdout. A budget that is too small for any answer is an error before the model runs.
    """
    grammar = read_grammar(schema, regex, choice, whitespace, property_order, formats)
    text = read_text(prompt) if prompt == "-" else prompt
    loaded = load_model(model)
    from constrain.decoding import generate as decoding

    options: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p}
    for event in decoding.stream(
        loaded, as_prompt(loaded, text, raw=raw), grammar=grammar, seed=seed, logprobs=None, **options
    ):
        if stream:
            typer.echo(event.text, nl=False)
        if event.result is not None:
            typer.echo("" if stream else event.result.text)
            if stats:
                typer.echo(describe_cost(event.result.report), err=True)
