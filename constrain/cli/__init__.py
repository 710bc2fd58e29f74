"""The command line: `constrain generate | check | explain | warmup | demo`.

Exit codes: 0 done or accepted; 1 the text was refused; 2 the command, the constraint or the tokenizer is at fault;
130 interrupted. Errors are one message on stderr; `constrain --debug ...` adds the traceback.
"""

from __future__ import annotations

import traceback
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from constrain.cli.check import check
from constrain.cli.demo import demo
from constrain.cli.explain import explain
from constrain.cli.generate import generate
from constrain.cli.warmup import warmup
from constrain.errors import ConstrainError

FAULT = 2
# Some versions of typer bring a click of their own.
UsageError: Any = typer.BadParameter.__bases__[0]
EPILOG = (
    "Exit codes: 0 done or accepted, 1 the text was refused, 2 bad command, constraint or tokenizer, 130 interrupted."
)


class Commands(TyperGroup):
    """Turns the errors that a user can mend into one message and exit code 2."""

    def invoke(self, ctx: Any) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # typer ends in silence
        except (UsageError, ConstrainError, ValueError, OSError, ImportError) as error:
            _fail(ctx, error)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options that stand before the command."""
        if not args:
            return super().parse_args(ctx, args)  # shows the help
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            _fail(ctx, error)


def _fail(ctx: Any, error: Any) -> NoReturn:
    if ctx.params.get("debug"):
        traceback.print_exception(error)
    typer.echo(f"error: {_usage(error) if isinstance(error, UsageError) else error}", err=True)
    raise typer.Exit(FAULT) from error


def _usage(error: Any) -> str:
    """Say what is wrong with a command, and where its options are described."""
    text = error.message if getattr(error, "param", None) is None else error.format_message()
    where = "constrain" if error.ctx is None else error.ctx.command_path
    return f"{text}\n{where} -h lists the options"


app = typer.Typer(
    name="constrain",
    cls=Commands,
    help="Structured generation: any language model, exactly in the shape of a schema or a pattern.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (generate, check, explain, warmup, demo):
    app.command(epilog=EPILOG)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"constrain {version('constrain')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Structured generation: any language model, exactly in the shape of a schema or a pattern."""


def main() -> None:
    """Run the command line and exit."""
    app(prog_name="constrain")
