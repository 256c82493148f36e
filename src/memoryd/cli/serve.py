"""`memoryd serve`, and `memoryd` without a command: MCP over stdio or HTTP."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from memoryd import extras
from memoryd.cli.frame import OPTIONS, command, note
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, MemorydError
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
        _serving("socket")(settings, socket)
        return
    logs.set_up(settings.log_level)
    run = _serving(settings.transport)
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


def _serving(transport: str) -> Callable[..., None]:
    """Return the function that serves a transport. Raise MemorydError if a library has a version that does not fit."""
    try:
        serving: Callable[..., None] = extras.named(TRANSPORTS[transport])
    except ImportError as error:
        raise MemorydError(
            f"The server cannot be loaded: {error}. Another program wants another version of that library, as "
            "langchain-mcp-adapters does of mcp. Install memoryd into an environment of its own, such as with `pipx "
            "install memoryd`. In this one its Python classes still work."
        ) from error
    return serving


def _demand_streams() -> None:
    """Raise InvalidInputError if stdin or stdout is closed; print an explanation if stdin is a terminal."""
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise InvalidInputError("stdin or stdout is closed: the MCP protocol needs both.")
    if sys.stdin.isatty():
        note(AT_A_TERMINAL)
