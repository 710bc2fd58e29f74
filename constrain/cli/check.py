"""`constrain check`: is a text a member, and if not, where does it leave the constraint."""

from __future__ import annotations

from typing import Annotated

import typer

from constrain.cli.describe import describe_tokens
from constrain.cli.inputs import (
    Choice,
    Formats,
    PropertyOrder,
    Regex,
    Schema,
    Tokenizer,
    Whitespace,
    read_bytes,
    read_grammar,
    read_vocabulary,
)
from constrain.cli.locate import describe_refusal, find_refusal

REFUSED = 1


def check(
    instance: Annotated[str, typer.Argument(metavar="FILE", help="The text to check; - for standard input.")],
    schema: Schema = None,
    regex: Regex = None,
    choice: Choice = None,
    whitespace: Whitespace = "flexible",
    property_order: PropertyOrder = "schema",
    formats: Formats = "assert",
    tokenizer: Tokenizer = None,
) -> None:
    """Say whether a text is accepted; if not, where, and what was expected there.

    The text is held to what a model would be held to, layout and order of properties included. One line break at the
    end of the file does not count. Exit code 0: accepted, 1: refused.
    """
    data = without_last_line_break(read_bytes(instance))
    grammar = read_grammar(schema, regex, choice, whitespace, property_order, formats)
    vocabulary = read_vocabulary(tokenizer)
    # The engine is slow to import; what is wrong with the command is said before.
    from constrain.compiled import compile_grammar

    compiled = compile_grammar(grammar, vocabulary)
    refusal = find_refusal(compiled, data)
    if refusal is None:
        typer.echo(f"accepted: {instance} ({len(data):,} bytes)")
        return
    lines = describe_refusal(compiled, refusal, instance)
    if tokenizer is not None:
        lines.append(f"tokens:   {describe_tokens(vocabulary, compiled.bitmask(refusal.state))}")
    if schema is not None and property_order == "schema":
        loose = compile_grammar(read_grammar(schema, None, None, whitespace, "any", formats), vocabulary)
        if find_refusal(loose, data) is None:
            lines.append("note:     with --property-order any it is accepted; only the order of its properties differs")
    typer.echo("\n".join(lines))
    raise typer.Exit(REFUSED)


def without_last_line_break(data: bytes) -> bytes:
    """Return `data` without the line break that editors put at the end of a file."""
    return data.removesuffix(b"\n").removesuffix(b"\r") if data.endswith(b"\n") else data
