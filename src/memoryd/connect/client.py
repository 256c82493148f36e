"""Connect a client to a service, and relay its lines."""

import os
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

from memoryd.connect import YES, greeting, launch
from memoryd.connect.address import Address, address
from memoryd.connect.channel import DeclinedError, state
from memoryd.connect.conversation import Conversation
from memoryd.connect.launch import NoServiceError
from memoryd.connect.relay import Relay, SignalledError

CODES = {signal.SIGTERM: 0, signal.SIGINT: 130}
"""The exit codes after signals."""


def run(environ: Mapping[str, str]) -> None:
    """Relay the client's lines to a service until it closes, and exit. Return if it has to be its own server."""
    place = address(environ)
    if place is None:
        return
    name = os.urandom(16).hex()  # a random UUID; the module uuid is slow to import
    hello = greeting("client", environ, id="-".join((name[:8], name[8:12], name[12:16], name[16:20], name[20:])))
    try:
        service = launch.reach(place, environ, hello)
    except DeclinedError:
        return  # the server that this process becomes explains what is wrong
    except NoServiceError as error:
        launch.say(f"{error} This client gets its own server.")
        return
    _relay(
        Relay(
            service,
            lambda: launch.reach(address(environ) or place, environ, {**hello, "again": True}),
            lambda: launch.private(sys.argv[1:], environ),
            lambda: _is_alive(place),
            Conversation(read_only=environ.get("MEMORY_READ_ONLY", "").lower() in YES),
        )
    )


def _relay(relay: Relay) -> NoReturn:
    came: list[signal.Signals] = []

    def hang_up(number: int, _frame: object) -> None:
        came.append(signal.Signals(number))
        raise SignalledError

    for number in CODES:
        signal.signal(number, hang_up)
    relay.run()
    os._exit(CODES[came[0]] if came else 0)


def _is_alive(place: Address) -> bool:
    """Return False if a service is hung; a dead one counts as alive, because its connection will show its death."""
    try:
        state(place.socket)
    except OSError as error:
        return not isinstance(error, TimeoutError)
    return True
