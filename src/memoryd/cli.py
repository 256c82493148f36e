"""Commands for people. Bare `memoryd` is the stdio server."""

from typing import Annotated, Optional

import typer

from memoryd.core.engine import Engine
from memoryd.server import stdio
from memoryd.settings import Settings

app = typer.Typer(add_completion=False, no_args_is_help=False)


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context) -> None:
    """The memory of LLM agents."""
    if ctx.invoked_subcommand is None:
        stdio.serve(Engine(Settings.read()))


def main() -> None:
    """The `memoryd` command."""
    app()
