"""Clients that share a service, and the service itself."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from memoryd import environment as environment_of
from tests.clients import PATIENCE, Json, environment, until
from tests.forks import forked
from tests.wires import ProcessWire

if sys.platform == "win32":
    pytest.skip("Python has no Unix sockets there", allow_module_level=True)

from memoryd.connect import channel
from memoryd.connect.address import Address, address, services_of

ON = {"MEMORY_SERVICE": "on", "MEMORY_SERVICE_IDLE": "0.3"}


def place(home: Path, **settings: str) -> Address:
    """Return the address of the service of a home."""
    found = address(environment_of.resolved(environment(home) | ON | settings))
    assert found
    return found


def state(home: Path, **settings: str) -> Json:
    """Return the state of a service; {} if there is none."""
    try:
        return channel.state(place(home, **settings).socket)
    except (FileNotFoundError, ConnectionError):
        return {}


def services(home: Path) -> list[Json]:
    """Return the states of a home's services, of all versions and settings."""
    found = []
    for path in services_of(environment_of.resolved(environment(home))):
        with suppress(OSError):
            shown = channel.state(path)
            if path.startswith(str(home)) or shown["place"].startswith(str(home)):
                found.append(shown)
    return found


def pid(home: Path, **settings: str) -> int:
    return int(state(home, **settings)["pid"])


class Connector(ProcessWire):
    """A client over a process that is started as clients start it, because the test is about its start."""

    START = subprocess.Popen[bytes]


def connector(home: Path, *arguments: str, **settings: str) -> ProcessWire:
    return Connector(environment(home) | ON | settings, *arguments)


def connected(home: Path, *arguments: str, **settings: str) -> ProcessWire:
    """Return a client after its handshake."""
    wire = connector(home, *arguments, **settings)
    wire.handshake()
    return wire


_FORKED: dict[str, BaseProcess] = {}
"""The services that a test started itself, by socket."""


def begun(home: Path, **settings: str) -> None:
    """Have a service where its first client would start one: by a fork, for to import everything takes a second.

    On a busy machine it waits some time for that client.
    """
    where = place(home, **settings)
    given = environment(home) | ON | {"MEMORY_SERVICE_IDLE": "2"} | settings
    environ = environment_of.without_connection(environment_of.resolved(given))
    ready, announced = os.pipe()
    with open(ready, "rb") as output, open(announced, "wb") as saying, open(where.log, "ab") as log:  # noqa: PTH123
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            streams = [each.fileno() for each in (nothing, saying, log)]
            command = [sys.executable, "-m", "memoryd", "serve", "--socket", where.socket]
            _FORKED[where.socket] = forked(command, environ, "/", streams)
        saying.close()
        assert output.read(1), Path(where.log).read_text()


def kill(service: int) -> None:
    """Kill a process with SIGKILL; return when nothing of it can answer any more."""
    os.kill(service, signal.SIGKILL)
    until(lambda: not _runs(service), "the end of a killed process", PATIENCE)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def gone(home: Path, **settings: str) -> None:
    """Wait until there is no service, as happens some time after its last client."""
    socket = place(home, **settings).socket
    until(lambda: not (Path(socket).exists() or _serves(socket)), "the end of the service")
    if forked := _FORKED.pop(socket, None):
        forked.join(PATIENCE)


def _serves(socket: str) -> bool:
    """Return whether a process still serves or closes a socket; False if there is no /proc."""
    for commands in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if socket.encode() in commands.read_bytes():
                return True
    return False


@contextmanager
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose service runs while this client is connected."""
    home = tmp_path_factory.mktemp("shared") / "home"
    begun(home)
    with connected(home):
        yield home
    shutil.rmtree(home)  # no service outlives its home
