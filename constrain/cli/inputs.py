"""What several commands take: a constraint, a tokenizer, a text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from constrain.ir import Grammar
    from constrain.vocabulary import Vocabulary

CONSTRAINT = "Constraint (one of)"
JSON_OPTIONS = "JSON layout"

# Paths may be "-" for standard input, so existence is checked where they are read.
Schema = Annotated[
    str | None, typer.Option("--schema", "-s", metavar="FILE", help="JSON Schema.", rich_help_panel=CONSTRAINT)
]
Regex = Annotated[
    str | None,
    typer.Option("--regex", metavar="PATTERN", help="Pattern for the whole text.", rich_help_panel=CONSTRAINT),
]
Choice = Annotated[
    list[str] | None,
    typer.Option("--choice", metavar="TEXT", help="One of these texts (repeat it).", rich_help_panel=CONSTRAINT),
]
Whitespace = Annotated[
    str,
    typer.Option(
        metavar="KIND", help="flexible, compact, or a number: indent by so many.", rich_help_panel=JSON_OPTIONS
    ),
]
PropertyOrder = Annotated[
    str, typer.Option(metavar="KIND", help="schema or any: the order of properties.", rich_help_panel=JSON_OPTIONS)
]
Formats = Annotated[
    str, typer.Option(metavar="KIND", help="assert the keyword format, or annotate.", rich_help_panel=JSON_OPTIONS)
]
Tokenizer = Annotated[
    str | None,
    typer.Option("--tokenizer", "-t", metavar="FILE", help="tokenizer.json; without it, tokens are single bytes."),
]

END_TOKEN = b"<end>"


def read_grammar(
    schema: str | None,
    regex: str | None,
    choice: list[str] | None,
    whitespace: str = "flexible",
    property_order: str = "schema",
    formats: str = "assert",
) -> Grammar:
    """Return the constraint that the options name.

    Raises:
        typer.BadParameter: not exactly one constraint is named, its file cannot be read, or options do not go with it.
    """
    if sum([schema is not None, regex is not None, bool(choice)]) != 1:
        raise typer.BadParameter("give exactly one of --schema, --regex and --choice")
    layout = json_options(whitespace, property_order, formats)
    if schema is None and layout != json_options():
        raise typer.BadParameter("--whitespace, --property-order and --formats go with --schema")
    if schema is not None:
        from constrain.grammars.json_schema import json_schema

        return json_schema(read_text(schema), **layout)
    if regex is not None:
        from constrain.grammars.regex import regex as regex_grammar

        return regex_grammar(regex)
    from constrain.grammars.choice import choice as choice_grammar

    return choice_grammar(choice or [])


def json_options(
    whitespace: str = "flexible", property_order: str = "schema", formats: str = "assert"
) -> dict[str, Any]:
    """Return keyword options of `json_schema` from their spelling on the command line."""
    if whitespace not in {"flexible", "compact"} and not whitespace.isdecimal():
        raise typer.BadParameter(f"--whitespace={whitespace!r}; expected flexible, compact or a number")
    if property_order not in {"schema", "any"}:
        raise typer.BadParameter(f"--property-order={property_order!r}; expected schema or any")
    if formats not in {"assert", "annotate"}:
        raise typer.BadParameter(f"--formats={formats!r}; expected assert or annotate")
    return {
        "whitespace": int(whitespace) if whitespace.isdecimal() else whitespace,
        "property_order": property_order,
        "formats": formats,
    }


def read_bytes(path: str) -> bytes:
    """Return the bytes of a file, or of standard input for "-"."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {path}: {error.strerror}") from error


def read_text(path: str) -> str:
    """Return the text of a UTF-8 file, or of standard input for "-"."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error


def read_vocabulary(tokenizer: str | None) -> Vocabulary:
    """Return the vocabulary of a tokenizer.json, or one of all single bytes."""
    from constrain.vocabulary import Vocabulary

    if tokenizer is None:
        tokens = [bytes([byte]) for byte in range(256)] + [END_TOKEN]
        return Vocabulary.from_tokens(tokens, eos_token_ids=[256])
    path = Path(tokenizer)
    if not (path / "tokenizer.json" if path.is_dir() else path).is_file():
        raise typer.BadParameter(f"cannot read {tokenizer}: no such file, nor a folder with a tokenizer.json")
    return Vocabulary.from_tokenizer_json(tokenizer)
