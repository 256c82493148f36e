"""The connector: the process that a client starts. It relays lines to the service that all clients of a memory share.

It needs only the standard library, so that it starts in a tenth of a second and takes a few megabytes. What a hook
needs, which runs at every prompt, is here; it imports neither typing nor hashlib, which take a fifth of its time.
"""

from __future__ import annotations

import io
import os
import sys

from memoryd import __version__, environment
from memoryd.connect import hook, launch
from memoryd.connect.address import address
from memoryd.connect.channel import PATIENCE, greet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

OPTIONS = {
    "--data-dir": "MEMORY_DATA_DIR",
    "--db": "MEMORY_DB_PATH",
    "--workspace": "MEMORY_NAMESPACE",
    "--toolsets": "MEMORY_TOOLSETS",
    "--transport": "MEMORY_TRANSPORT",
}
FLAGS = {"--read-only": "MEMORY_READ_ONLY"}
"""Options, and the environment variables that they set."""
YES = {"on", "true", "1", "yes", "t", "y"}
"""Values that turn a switch on; an invalid value is refused by the server that this process becomes."""
COMMAND: tuple[str, tuple[Any, ...]] = ("command", ())
COMPLETING = "_MEMORYD_COMPLETE"
"""The variable with which a shell asks the command line for what could follow."""


def main() -> tuple[str, tuple[Any, ...]]:
    """Run as the hook of an agent through a service, and exit.

    Return the part of the program that does what was asked instead, and its arguments: `client`, `hook` for one that
    asks a memoryd at a URL, or `command`.
    """
    environ, others = given(sys.argv[1:], environment.current())
    if COMPLETING in environ:
        return COMMAND
    request = hook.request_of(others[1:]) if others[:1] == ["hook"] else None
    if request and environ.get("MEMORY_HOOKS", "on").lower() not in YES:
        _do_without()
    if request and request["http"]:
        shows = request["event"] in hook.SHOWING and hook.workspace(environ) != "auto" and _has_streams()
        return ("hook", (environ, request)) if shows else COMMAND
    if _may_share(environ):
        if not others:
            return "client", (environ,)
        if request:
            _ask(environ, request)
    if request and request["event"] == hook.PROMPT:
        _do_without()  # loading the models would make the user wait for seconds
    return COMMAND


def _ask(environ: Mapping[str, str], request: Mapping[str, Any]) -> None:
    """Have a running service do the work of a hook; return if none is running or it dies: then this process does it."""
    place = address(environ, make=False)
    if place is None:
        return
    try:
        seconds = hook.HURRY if request["event"] == hook.PROMPT else PATIENCE
        service, _ = greet(place.socket, greeting("hook", environ), seconds)
    except OSError:
        return
    data = hook.given()
    try:
        failed = hook.run(service, request, data)
    except OSError:
        sys.stdin = io.TextIOWrapper(io.BytesIO(data))
        return
    if failed:
        launch.say(" ".join(failed.split()))
    os._exit(1 if failed else 0)


def _do_without() -> NoReturn:
    """Exit as a hook that has nothing to add, and stores nothing."""
    if _has_streams():
        hook.read()  # a client must not find its pipe closed
    os._exit(0)


def given(arguments: list[str], environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the resolved environment with the options of a command line as variables, and its other arguments.

    An option without a value stays in the arguments: the command itself refuses it.
    """
    found, others, rest = dict(environ), list[str](), iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in FLAGS and not equals:
            found[FLAGS[name]] = "true"
        elif name in OPTIONS and (text := value if equals else next(rest, "")):
            found[OPTIONS[name]] = text
        else:
            others.append(argument)
    return environment.resolved(found), others


def _may_share(environ: Mapping[str, str]) -> bool:
    """Return whether this client can use a service."""
    if environ.get("MEMORY_SERVICE", "on").lower() not in YES or os.getpid() == 1 or "MEMORY_DATA_DIR" not in environ:
        return False
    return environ.get("MEMORY_TRANSPORT", "stdio") == "stdio" and _has_streams()


def _has_streams() -> bool:
    """Return whether stdin and stdout are open, and stdin is not a terminal (where a person gets help instead)."""
    if not (_is_open(0) and _is_open(1)) or os.isatty(0):
        return False
    if not _is_open(2):
        os.open(os.devnull, os.O_WRONLY)  # so that the next file that is opened does not receive the notes
    return True


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def greeting(want: str, environ: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """Return the first line of a connection: its purpose, and the variables and the directory it depends on."""
    known = {"environ": environment.of_connection(environ), "directory": environment.directory()}
    return {"memoryd": __version__, "want": want, **known, **more}
