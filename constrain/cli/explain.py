"""`constrain explain`: what may come after a prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from constrain.cli.describe import describe_bytes, describe_tokens, show
from constrain.cli.inputs import (
    Choice,
    Formats,
    PropertyOrder,
    Regex,
    Schema,
    Tokenizer,
    Whitespace,
    read_grammar,
    read_vocabulary,
)
from constrain.cli.locate import Refusal, describe_refusal, follow
from constrain.errors import LimitExceededError

if TYPE_CHECKING:
    from constrain.compiled import CompiledGrammar

REFUSED = 1


def explain(
    prefix: Annotated[str, typer.Option("--prefix", "-p", metavar="TEXT", help="How the text begins.")] = "",
    schema: Schema = None,
    regex: Regex = None,
    choice: Choice = None,
    whitespace: Whitespace = "flexible",
    property_order: PropertyOrder = "schema",
    formats: Formats = "assert",
    tokenizer: Tokenizer = None,
    *,
    report: Annotated[bool, typer.Option("--report", help="Also say how each keyword is enforced.")] = False,
) -> None:
    """Say what may come after a prefix, and how an answer could end.

    Exit code 1: nothing that begins with the prefix is accepted.
    """
    grammar = read_grammar(schema, regex, choice, whitespace, property_order, formats)
    vocabulary = read_vocabulary(tokenizer)
    # The engine is slow to import; what is wrong with the command is said before.
    from constrain.compiled import compile_grammar

    compiled = compile_grammar(grammar, vocabulary)
    data = prefix.encode("utf-8", "surrogateescape")
    read, state = follow(compiled, data)
    if read < len(data):
        typer.echo("\n".join(describe_refusal(compiled, Refusal(data, read, state), "the prefix")))
        raise typer.Exit(REFUSED)
    lines = describe_state(compiled, state, data, tokens=tokenizer is not None)
    if report:
        lines += [f"{item.status:<13} {item.pointer} {item.keyword} {item.note}".rstrip() for item in grammar.report]
    typer.echo("\n".join(lines))


def describe_state(compiled: CompiledGrammar, state: int, prefix: bytes, *, tokens: bool) -> list[str]:
    """Return the lines that say what may come at `state`, which `prefix` leads to."""
    forced = compiled.forced_bytes(state)
    after = compiled.advance_bytes(state, forced)
    lines = [f"prefix        {show(prefix)} ({len(prefix):,} bytes)"]
    if forced:
        lines.append(f"must follow   {show(forced)}")
    following = describe_bytes(compiled.next_bytes(after))
    lines.append(f"{'then' if forced else 'may follow':<13} {following}")
    ends = "yes" if compiled.is_accepting(state) else "after what must follow" if compiled.is_accepting(after) else "no"
    lines.append(f"may end here  {ends}")
    lines.append(f"short ending  {_short_ending(compiled, state)}")
    if tokens:
        lines.append(f"tokens        {describe_tokens(compiled.vocabulary, compiled.bitmask(state))}")
    return lines


def _short_ending(compiled: CompiledGrammar, state: int) -> str:
    try:
        tokens = compiled.completion(state)
    except LimitExceededError:
        return "none known: the search met a limit"
    count = f"{len(tokens):,} token" + ("s" if len(tokens) != 1 else "")
    return f"{show(compiled.vocabulary.decode(tokens[:-1]))} ({count}, the end counted)"
