"""`memoryd serve`, and `memoryd` without a command: MCP over stdio or HTTP."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from memoryd import extras
from memoryd.cli.frame import OPTIONS, command, note
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.server import logs
from memoryd.settings import AUTO, Settings

TRANSPORTS = {
    "stdio": "memoryd.server.stdio:serve",
    "http": "memoryd.server.http.app:serve",
    "socket": "memoryd.server.service:serve",
}
"""The function that serves each transport; only the one in use is imported."""

AT_A_TERMINAL = (
    "memoryd is an MCP server: it is now waiting for a client on stdin (Ctrl-C ends it). "
    "Connect one with `memoryd install claude-code --hooks`; `memoryd --help` lists the commands for people."
)

Certificate = Annotated[str | None, typer.Option(metavar="FILE", help="TLS over HTTP: its certificate (PEM).")]
KeyFile = Annotated[str | None, typer.Option(metavar="FILE", help="The certificate's key (PEM).")]


Socket = Annotated[Path | None, typer.Option(hidden=True)]
"""The socket on which connectors expect a service."""


@command(*OPTIONS)
def serve(settings: Settings, certificate: Certificate = None, key: KeyFile = None, socket: Socket = None) -> None:
    """Serve MCP on stdin and stdout, in this process, or with --transport http to many clients."""
    if socket:
        logs.set_up(settings.log_level, logs.BoundedFile(str(socket.with_suffix(".log"))))
        extras.named(TRANSPORTS["socket"])(settings, socket)
        return
    logs.set_up(settings.log_level)
    run = extras.named(TRANSPORTS[settings.transport])
    if settings.transport == "http":
        if settings.workspace == AUTO:  # it depends on the directory, and clients over HTTP have none here
            raise InvalidInputError(
                "MEMORY_NAMESPACE=auto is for clients on this machine. Over HTTP name a workspace, or let each client "
                "name its own in X-Memory-Workspace."
            )
        run(Engine(settings), certificate, key)
    else:
        _demand_streams()
        run(Engine(settings))


def _demand_streams() -> None:
    """Raise InvalidInputError if stdin or stdout is closed; print an explanation if stdin is a terminal."""
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise InvalidInputError("stdin or stdout is closed: the MCP protocol needs both.")
    if sys.stdin.isatty():
        note(AT_A_TERMINAL)
