"""Commands for people. Bare `memoryd` is the stdio server."""

import sys
from typing import Annotated

import typer

from memoryd import __version__, extras
from memoryd.cli import exports, history, memories, show, transfer, upkeep
from memoryd.cli.audit import audit
from memoryd.cli.frame import (
    OPTIONS,
    DataDir,
    Db,
    Host,
    Port,
    ReadOnly,
    Toolsets,
    Transport,
    WorkspaceName,
    command,
    note,
    overrides,
    told,
    tolerate_encodings,
)
from memoryd.cli.hook import Unblocking, hook
from memoryd.cli.install import install, uninstall
from memoryd.cli.migrate import migrate
from memoryd.cli.tokens import tokens
from memoryd.cli.workspaces import workspaces
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.server import logs, stdio
from memoryd.server.openapi import document
from memoryd.settings import Settings
from memoryd.toolsets import chosen

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AT_A_TERMINAL = (
    "memoryd is an MCP server: it waits for a client on stdin now (Ctrl-C ends it). "
    "Connect one with `claude mcp add memory -- memoryd`; `memoryd --help` lists the commands for people."
)


Certificate = Annotated[str | None, typer.Option(metavar="FILE", help="TLS over HTTP: its certificate (PEM).")]
Key = Annotated[str | None, typer.Option(metavar="FILE", help="The certificate's key (PEM).")]
Conformance = Annotated[bool, typer.Option("--conformance", hidden=True, help="Serve the protocol's test suite.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memoryd {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    *,
    data_dir: DataDir = None,
    db_path: Db = None,
    workspace: WorkspaceName = None,
    toolsets: Toolsets = None,
    read_only: ReadOnly = False,
    transport: Transport = None,
    host: Host = None,
    port: Port = None,
    _wanted: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The memory of LLM agents.

    Without a command it serves MCP on stdin and stdout.
    """
    ctx.obj = overrides(
        data_dir=data_dir, db_path=db_path, workspace=workspace, toolsets=toolsets, read_only=read_only,
        transport=transport, host=host, port=port,
    )  # fmt: skip
    if ctx.invoked_subcommand is None:
        with told():
            _serve(Settings.read(**ctx.obj))


@app.command()
@command(*OPTIONS)
def serve(
    settings: Settings, certificate: Certificate = None, key: Key = None, conformance: Conformance = False
) -> None:
    """Serve MCP on stdin and stdout, as bare `memoryd` does, or with --transport http to many clients."""
    if not conformance:
        _serve(settings, certificate, key)
    elif settings.transport == "http":
        logs.set_up(settings.log_level)
        extras.load("memoryd.server.conformance.server:serve", "", InvalidInputError)(settings)
    else:
        raise InvalidInputError("The conformance suite comes over HTTP. Add --transport http.")


def _serve(settings: Settings, certificate: str | None = None, key: str | None = None) -> None:
    if settings.transport == "http":
        logs.set_up(settings.log_level)
        extras.load("memoryd.server.http:serve", "", InvalidInputError)(Engine(settings), certificate, key)
        return
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise InvalidInputError("stdin or stdout is closed: the MCP protocol needs both.")
    if sys.stdin.isatty():
        note(AT_A_TERMINAL)
    logs.set_up(settings.log_level)
    stdio.serve(Engine(settings))


@app.command()
@command("toolsets")
def openapi(settings: Settings) -> None:
    """Print the OpenAPI document of the tools over plain HTTP: of all, unless --toolsets names some."""
    named = "toolsets" in settings.model_fields_set
    show.as_json(document(chosen(settings.toolsets if named else ["all"], read_only=settings.read_only)))


for each in (memories.store, memories.recall, memories.context, memories.forget, memories.inspect):
    app.command()(each)
for each in (history.maintain, history.history, history.restore):
    app.command()(each)
app.command()(upkeep.doctor)
app.command()(audit)
app.command()(upkeep.backup)
app.command()(migrate)
app.command()(exports.export)
app.command("import")(transfer.import_)
app.command(cls=Unblocking)(hook)
app.command()(install)
app.command()(uninstall)
app.add_typer(upkeep.models, name="models")
app.add_typer(workspaces, name="workspace")
app.add_typer(tokens, name="token")


def main() -> None:
    """The `memoryd` command."""
    tolerate_encodings()
    app(prog_name="memoryd")
