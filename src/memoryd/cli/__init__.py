"""Commands for people. Bare `memoryd` is the stdio server."""

from collections import UserDict
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from memoryd import __version__, extras, features
from memoryd.cli.frame import FAILED, fail, overrides, root_command, tolerate_streams, with_suggestion

PANELS = {
    "Memories": {
        "store": "memories:store",
        "recall": "memories:recall",
        "context": "memories:context",
        "inspect": "memories:inspect",
        "edit": "memories:edit",
        "forget": "memories:forget",
        "history": "history:history",
        "restore": "history:restore",
        "purge": "history:purge",
        "workspace": "workspaces:workspaces",
    },
    "Clients": {
        "service": "service:services",
    },
    "Copies": {
        "export": "exports:export",
        "import": "transfer:import_",
        "backup": "upkeep:backup",
        "migrate": "upkeep:migrate",
    },
    "Upkeep": {
        "doctor": "upkeep:doctor",
        "audit": "upkeep:audit",
        "maintain": "history:maintain",
        "models": "models:models",
    },
    "HTTP": {
        "serve": "serve:serve",
        "token": "tokens:tokens",
        "openapi": "openapi:openapi",
    },
}
"""The commands of the spine, grouped as in the help: the module of each, its function or Typer application there."""

COMMANDS = {
    name: (f"memoryd.cli.{target}", panel) for panel, targets in PANELS.items() for name, target in targets.items()
} | {
    name: (target, panel)
    for feature in features.features()
    for panel, targets in feature.commands.items()
    for name, target in targets.items()
}
"""All commands: where each is, and its panel."""


class _Commands(UserDict[str, Any]):
    """The commands by name, imported on look-up, so that a hook does not wait for the imports of a server."""

    def __getitem__(self, name: str) -> Any:
        return _made(name)


@cache
def _made(name: str) -> Any:
    target, panel = COMMANDS[name]
    found = extras.named(target)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False)
        found.command()(function)
    made: Any = get_command(found)
    made.name, made.rich_help_panel = name, panel
    return made


class _Group(TyperGroup):
    """The command group that contains COMMANDS."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _Commands(COMMANDS)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; suggest what was meant by a word that it does not know."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = with_suggestion(error.message)
            raise


app = typer.Typer(
    cls=_Group,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memoryd {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
@root_command
def root(
    ctx: typer.Context,
    *,
    _wanted: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    **given: Any,
) -> None:
    """The memory of LLM agents.

    Without a command it serves MCP on stdin and stdout.
    """
    ctx.obj = overrides(**given)
    if ctx.invoked_subcommand is None:
        serve = _made("serve")
        with serve.make_context("serve", [], parent=ctx) as own:
            serve.invoke(own)


def main() -> None:
    """Run the `memoryd` command."""
    tolerate_streams()
    try:
        app(prog_name="memoryd")
    except OSError as error:  # from --help or --version: a command reports its own errors
        raise SystemExit(fail(str(error), FAILED).exit_code) from None
