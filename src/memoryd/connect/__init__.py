"""The connector: what a client starts. It passes lines to the service that all clients of one memory share.

It needs the standard library alone, so that a client has its memory in a tenth of a second and for a few megabytes.
"""

import os
import signal
import sys
import uuid
from collections.abc import Mapping
from typing import Any, NoReturn

from memoryd import __version__, environment
from memoryd.connect import launch
from memoryd.connect.address import Address, address
from memoryd.connect.channel import RefusedError, state
from memoryd.connect.launch import NoServiceError
from memoryd.connect.relay import Relay

OPTIONS = {
    "--data-dir": "MEMORY_DATA_DIR", "--db": "MEMORY_DB_PATH", "--workspace": "MEMORY_NAMESPACE",
    "--toolsets": "MEMORY_TOOLSETS", "--transport": "MEMORY_TRANSPORT",
}  # fmt: skip
FLAGS = {"--read-only": "MEMORY_READ_ONLY"}
"""The options of bare `memoryd`, as the variables that say the same."""


def main() -> None:
    """Connect stdin and stdout to the service until the client closes, then exit.

    Return if this process has to be the server itself: it was asked for something else, or there can be no service.
    """
    environ = given(sys.argv[1:], environment.current())
    if environ is None or not _may_share(environ):
        return
    place = address(environ)
    if place is None:
        return
    hello = greeting("client", environ, id=str(uuid.uuid4()))
    try:
        service = launch.reach(place, environ, hello)
    except RefusedError:
        return  # what is wrong is said by the server that this process becomes
    except NoServiceError as error:
        launch.say(f"{error} This client gets a server of its own.")
        return
    _relay(Relay(
        service,
        lambda: launch.reach(place, environ, {**hello, "again": True}),
        lambda: launch.private(sys.argv[1:], environ),
        lambda: _is_alive(place),
    ))  # fmt: skip


def _relay(relay: Relay) -> NoReturn:
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        signal.signal(number, lambda *_, code=code: os._exit(code))
    relay.run()
    os._exit(0)


def given(arguments: list[str], environ: Mapping[str, str]) -> dict[str, str] | None:
    """Return the environment with the options of a command line as variables; None if it is not bare `memoryd`."""
    found, rest = dict(environ), iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in FLAGS and not equals:
            found[FLAGS[name]] = "true"
        elif name in OPTIONS:
            chosen = value if equals else next(rest, "")
            if not chosen:
                return None
            found[OPTIONS[name]] = chosen
        else:
            return None
    return environment.resolved(found)


def _may_share(environ: Mapping[str, str]) -> bool:
    """Return whether a client can be served by a service at all."""
    if environ.get("MEMORY_SERVICE", "on") != "on" or os.getpid() == 1:
        return False
    return environ.get("MEMORY_TRANSPORT", "stdio") == "stdio" and _has_streams()


def _has_streams() -> bool:
    """Return whether stdin and stdout are open, and stdin is not a terminal, at which a person is helped instead."""
    try:
        os.fstat(1)
        return not os.isatty(0) and bool(os.fstat(0))
    except OSError:
        return False


def greeting(want: str, environ: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """Return the first line of a connection: what it is for, and the variables that it depends on."""
    return {"memoryd": __version__, "want": want, "environ": environment.of_connection(environ), **more}


def _is_alive(place: Address) -> bool:
    """Return whether a service answers, or has died, which its connection will show."""
    try:
        state(place.socket)
    except TimeoutError:
        return False
    except OSError:
        return True
    return True
