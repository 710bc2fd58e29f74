"""The command line: `constrain generate | check | explain | warmup | demo`."""

from __future__ import annotations

import typer

app = typer.Typer(name="constrain", no_args_is_help=True)


def main() -> None:
    """Run the command line."""
    app()
