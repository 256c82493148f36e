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
    """Where the service of a home is."""
    found = address(environment_of.resolved(environment(home) | ON | settings))
    assert found
    return found


def state(home: Path, **settings: str) -> Json:
    """What a service reports; nothing where there is none."""
    try:
        return channel.state(place(home, **settings).socket)
    except (FileNotFoundError, ConnectionError):
        return {}


def services(home: Path) -> list[Json]:
    """What the services of all versions and settings report that a home has."""
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
    """A client over a process that is started as clients start it: what it imports, and who it is, is the subject."""

    START = subprocess.Popen[bytes]


def connector(home: Path, *arguments: str, **settings: str) -> ProcessWire:
    return Connector(environment(home) | ON | settings, *arguments)


def connected(home: Path, *arguments: str, **settings: str) -> ProcessWire:
    """A client after its handshake."""
    wire = connector(home, *arguments, **settings)
    wire.handshake()
    return wire


_FORKED: dict[str, BaseProcess] = {}
"""The services that a test began itself, by their sockets."""


def begun(home: Path, **settings: str) -> None:
    """Have a service where its first client would start one: by a fork, for to import everything takes a second.

    On a busy machine it waits some time for that client.
    """
    where = place(home, **settings)
    given = environment(home) | ON | {"MEMORY_SERVICE_IDLE": "2"} | settings
    environ = environment_of.without_connection(environment_of.resolved(given))
    ready, announced = os.pipe()
    with open(ready, "rb") as said, open(announced, "wb") as saying, open(where.log, "ab") as log:  # noqa: PTH123
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            streams = [each.fileno() for each in (nothing, saying, log)]
            command = [sys.executable, "-m", "memoryd", "serve", "--socket", where.socket]
            _FORKED[where.socket] = forked(command, environ, "/", streams)
        saying.close()
        assert said.read(1), Path(where.log).read_text()


def kill(service: int) -> None:
    """kill -9; return when nothing of the process is left that could answer."""
    os.kill(service, signal.SIGKILL)
    until(lambda: not _runs(service), "the end of a killed process", PATIENCE)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def gone(home: Path, **settings: str) -> None:
    """Wait until there is no service, as some time after its last client."""
    socket = place(home, **settings).socket
    until(lambda: not (Path(socket).exists() or _serves(socket)), "the end of the service")
    if forked := _FORKED.pop(socket, None):
        forked.join(PATIENCE)


def _serves(socket: str) -> bool:
    """Whether a process still closes what it served; where there is no /proc, that is not known."""
    for commands in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if socket.encode() in commands.read_bytes():
                return True
    return False


@contextmanager
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose service goes on as long as this one client is there."""
    home = tmp_path_factory.mktemp("shared") / "home"
    begun(home)
    with connected(home):
        yield home
    shutil.rmtree(home)  # no service outlives its home
