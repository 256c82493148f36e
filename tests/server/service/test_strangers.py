"""Connections that are not from our clients, and changes to the files of a running service."""

import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memoryd.connect import channel
from memoryd.connect.channel import Lines
from tests.clients import PATIENCE, environment, until
from tests.server.service.kit import ON, begun, connected, connector, gone, homes, kill, pid, place, services, state

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with homes(tmp_path_factory) as shared:
        yield shared


def stranger(home: Path) -> socket.socket:
    """A connection without a greeting."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(place(home).socket)
    return connection


def admitted(home: Path, want: str = "client") -> Lines:
    lines, _ = channel.greet(place(home).socket, {"want": want, "environ": {}}, PATIENCE)
    return lines


RUBBISH = {
    "bytes": os.urandom(1 << 16).replace(b"\n", b"") + b"\n",
    "nothing": b"",
    "blank": b"\n\n\n",
    "half a line": b'{"want": "cli',
    "a list": b"[1, 2]\n",
    "depth": b"[" * 100_000 + b"\n",
    "no environment": b'{"want": "client"}\n',
    "another kind": b'{"want": {"client": 1}, "environ": {"MEMORY_TOOLSETS": 5}}\n',
    "wrong settings": b'{"want": "client", "environ": {"MEMORY_TOOLSETS": 5}}\n',
    "NUL": b"\0\n",
    "tools without an environment": b'{"want": "tools"}\n{"tool": 7, "arguments": [8]}\n[]\nx\n',
    "a hook without an environment": b'{"want": "hook"}\n{"event": 7}\n[]\nx\n',
    "a directory that is none": b'{"want": "tools", "directory": "\\u0000", "environ": {"MEMORY_NAMESPACE": "auto"}}\n',
    "names that are none": b'{"want": "tools", "id": [1], "origin": {"a": 1}, "directory": 3}\n{}\n',
    "null": b'{"want": "tools", "id": null, "origin": null, "environ": null}\n{"tool": null}\n',
    "a lone surrogate": b'{"want": "client", "environ": {"MEMORY_NAMESPACE": "\\ud800"}}\n',
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_ends_only_its_own_connection(home: Path, name: str) -> None:
    service = pid(home)
    with stranger(home) as one:
        one.sendall(RUBBISH[name])
        one.shutdown(socket.SHUT_WR)
        while one.recv(1 << 16):
            pass
    assert state(home)["pid"] == service
    until(lambda: state(home)["clients"] == 1, "the end of the stranger")
    assert "Traceback" not in Path(place(home).log).read_text(), "it is nothing unexpected"


@pytest.mark.parametrize("want", ["client", "tools", "hook"])
def test_rubbish_after_the_greeting(home: Path, want: str) -> None:
    service = pid(home)
    odd = (b"[]\n", b"{}\n", b'{"tool": 7, "arguments": 8}\n', b'{"tool": "memory_store", "arguments": [1]}\n')
    hooks = (b'{"event": "stop", "client": 1, "budget": "x", "input": 7}\n', b'{"event": "stop", "input": {}}\n')
    for line in (RUBBISH["bytes"], RUBBISH["depth"], *odd, *hooks):
        with admitted(home, want).socket as one:
            one.sendall(line)
            one.shutdown(socket.SHUT_WR)
            while one.recv(1 << 16):
                pass
    until(lambda: state(home)["clients"] == 1, "the end of strangers")
    assert pid(home) == service
    assert "Traceback" not in Path(place(home).log).read_text()


def test_clients_that_leave_within_a_line_or_an_answer(home: Path) -> None:
    for sent in (b'{"jsonrpc":"2.0","id":1,"meth', b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 50):
        with admitted(home).socket as one:
            one.sendall(sent)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    until(lambda: state(home)["clients"] == 1, "the end of strangers")


def test_a_client_that_reads_no_answers_does_not_affect_others(home: Path) -> None:
    with admitted(home).socket as one:
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 200_000)
        with connected(home) as wire:
            assert wire.result("ping") == {}
    until(lambda: state(home)["clients"] == 1, "the end of strangers")


@pytest.mark.slow
def test_an_endless_line_takes_limited_memory(home: Path) -> None:
    service = pid(home)
    with admitted(home).socket as one, pytest.raises(ConnectionError):
        one.sendall(b"x" * (80 << 20))
    assert pid(home) == service
    assert "more than" in Path(place(home).log).read_text()


def test_a_line_of_ten_megabytes_is_answered(home: Path) -> None:
    with connected(home) as wire:
        answer = wire.call("memory_store", content="x" * (10 << 20))
        assert answer["isError"]
        assert wire.result("ping") == {}


def test_two_hundred_connections(home: Path) -> None:
    with ExitStack() as ends:
        for _ in range(200):
            ends.enter_context(admitted(home).socket)
        assert state(home)["clients"] == 201
        with connected(home) as wire:
            assert wire.result("ping") == {}
    until(lambda: state(home)["clients"] == 1, "the end of all")


def test_more_connections_than_files_wait(tmp_path: Path) -> None:
    home = tmp_path / "home"
    begun(home)
    with connected(home) as wire:
        service = pid(home)
        resource.prlimit(service, resource.RLIMIT_NOFILE, (64, 64))
        with ExitStack() as ends:
            for _ in range(80):
                ends.enter_context(stranger(home))
            until(lambda: "accepted" in Path(place(home).log).read_text(), "a service without a file")
            assert wire.result("ping") == {}
        assert until(lambda: state(home), "room for others")["pid"] == service
    gone(home)


# files ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["socket", "directory"])
def test_a_service_whose_socket_is_removed_makes_way(near: Path, lost: str) -> None:
    """Cleaners of temporary directories do that."""
    begun(near)
    with connected(near) as wire:
        old = pid(near)
        if lost == "socket":
            Path(place(near).socket).unlink()
        else:
            shutil.rmtree(place(near).directory)
        with connected(near) as newcomer:
            newcomer.call("memory_store", content="Of the newcomer.")
            assert pid(near) != old
            assert newcomer.stderr() == ""
            assert "newcomer" in json.dumps(wire.call("memory_recall", query="newcomer"))
            kill(old)
            assert "newcomer" in json.dumps(wire.call("memory_recall", query="newcomer"))
            assert state(near)["clients"] == 2
            assert wire.stderr() == ""
    gone(near)


def test_a_directory_that_others_may_enter_is_not_used(near: Path) -> None:
    begun(near)
    with connected(near) as wire:
        directory = Path(place(near).directory)
        directory.chmod(0o755)
        with connected(near) as newcomer:
            assert not newcomer.call("memory_store", content="For its user alone.")["isError"]
            assert "user alone" in json.dumps(wire.call("memory_recall", query="user"))
        directory.chmod(0o700)
        assert state(near)["clients"] == 1
    gone(near)


def test_a_connector_that_is_killed_while_it_starts_the_service(near: Path) -> None:
    where = place(near)
    with connector(near) as first, connector(near) as second:
        until(lambda: Path(where.life).exists(), "a service that begins")
        first.signal(signal.SIGKILL)
        first.wait()
        second.handshake()
        assert second.stderr() == ""
        assert [each["clients"] for each in services(near)] == [1]
    gone(near)


def test_the_first_clients_end_before_their_service_has_started(near: Path) -> None:
    where = place(near)
    for _ in range(3):
        with connector(near) as wire:
            until(lambda: Path(where.start).exists(), "a connector that begins")
            wire.signal(signal.SIGKILL)
            wire.wait()
    with connected(near) as wire:
        assert wire.result("ping") == {}
        assert wire.stderr() == ""
        assert len(services(near)) == 1
    gone(near)


def test_nothing_is_written_to_the_connection_if_stderr_is_closed(home: Path) -> None:
    command = ["sh", "-c", f"exec {sys.executable} -m memoryd 2>&-"]
    hello = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    shown = subprocess.run(
        command, input=hello, env=environment(home) | ON, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert json.loads(shown.stdout)["id"] == 1


def test_a_deleted_current_directory_is_no_problem(home: Path) -> None:
    """The client was started in it."""
    script = "import os, tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d); "
    script += f"os.execv({sys.executable!r}, [{sys.executable!r}, '-P', '-m', 'memoryd'])"
    hello = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    shown = subprocess.run(
        [sys.executable, "-c", script],
        input=hello,
        env=environment(home) | ON,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert json.loads(shown.stdout)["id"] == 1, shown
