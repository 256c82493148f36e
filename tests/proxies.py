"""Proxies in front of several servers: a simple round-robin proxy, HAProxy and nginx.

The last two run as configured in docs/scale.md, if they are installed.
"""

import itertools
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskStatus
from anyio.from_thread import start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.http import free_port

END = b"\r\n\r\n"
LONGEST = 1 << 16
SESSION = b"mcp-session-id"
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
NGINX = """
pid {directory}/pid;
error_log stderr;
events {{}}
http {{
access_log off;
{temporary}
{given}
}}
"""
NGINX_KEEPS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@contextmanager
def balanced(ports: Sequence[int], *, sticky: bool = False) -> Iterator[str]:
    """Yield the URL of a proxy; a `sticky` one sends the requests of a session to the server that opened it."""
    with start_blocking_portal() as portal:
        serving, port = portal.start_task(_Proxy(ports, sticky=sticky).serve)
        yield f"http://127.0.0.1:{port}"
        serving.cancel()


class _Proxy:
    def __init__(self, ports: Sequence[int], *, sticky: bool) -> None:
        self._turn = itertools.cycle(ports)
        self._sticky = sticky
        self._sessions: dict[bytes, int] = {}

    async def serve(self, *, task_status: TaskStatus[int]) -> None:
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            task_status.started(listener.extra(SocketAttribute.local_port))
            await listener.serve(self._connected)

    async def _connected(self, client: SocketStream) -> None:
        """Forward the requests of a connection, each over a new connection."""
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            async with client:
                received = BufferedByteReceiveStream(client)
                while True:
                    head = await received.receive_until(END, LONGEST)
                    await self._pass_on(head, await received.receive_exactly(_length(head)), client)

    async def _pass_on(self, head: bytes, body: bytes, client: SocketStream) -> None:
        port = self._sessions.get(_header(head, SESSION)) or next(self._turn)
        async with await anyio.connect_tcp("127.0.0.1", port) as server:
            await server.send(head + b"\r\nX-Forwarded-For: 127.0.0.1" + END + body)
            received = BufferedByteReceiveStream(server)
            answer = await received.receive_until(END, LONGEST)
            if self._sticky and (session := _header(answer, SESSION)):
                self._sessions[session] = port
            await client.send(answer + END + await received.receive_exactly(_length(answer)))
            if b"text/event-stream" in _header(answer, b"content-type"):
                async for data in received:
                    await client.send(data)


def _header(head: bytes, name: bytes) -> bytes:
    lines = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((value.strip() for key, _, value in lines if key.lower() == name), b"")


def _length(head: bytes) -> int:
    return int(_header(head, b"content-length") or 0)


@contextmanager
def installed(program: str, ports: Sequence[int], directory: Path) -> Iterator[str]:
    """Yield the URL of `haproxy` or `nginx` in front of some servers, configured as documented."""
    port = free_port()
    with _running(program, "\n".join(_lines(_documented(program)[0], ports)), port, directory):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def grouped(home: int, archive: int, maps: Mapping[str, str], port: int, directory: Path) -> Iterator[None]:
    """Run HAProxy in front of two groups of one server each, configured as documented."""
    given = _documented("haproxy")[1].replace("10.0.1.1:8765", f"127.0.0.1:{home}")
    given = given.replace("10.0.2.1:8765", f"127.0.0.1:{archive}").replace("/etc/haproxy", str(directory))
    for name, lines in maps.items():
        (directory / name).write_text(lines, encoding="utf-8")
    with _running("haproxy", given, port, directory):
        yield


def _documented(program: str) -> list[str]:
    found: list[str] = re.findall(rf"```{program}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return found


@contextmanager
def _running(program: str, given: str, port: int, directory: Path) -> Iterator[None]:
    given = f"{given}\n".replace("bind :8080", f"bind 127.0.0.1:{port}").replace(
        "listen 8080", f"listen 127.0.0.1:{port}"
    )
    configuration = directory / f"{program}.cfg"
    command = [program, "-db", "-f", str(configuration)]
    if program == "nginx":
        temporary = "\n".join(f"{what}_temp_path {directory}/{what};" for what in NGINX_KEEPS)
        given = NGINX.format(directory=directory, temporary=temporary, given=given)
        command = [program, "-g", "daemon off;", "-p", str(directory), "-c", str(configuration)]
    configuration.write_text(given, encoding="utf-8")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None and not _listens(port):
                time.sleep(0.02)
            assert process.poll() is None, f"{program} rejects {given}"
            yield
        finally:
            process.terminate()


def _lines(given: str, ports: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a configuration with these servers instead of those in it."""
    for line in given.splitlines():
        if "10.0.0.1:8765" in line:
            for port in ports:
                yield line.replace("10.0.0.1:8765", f"127.0.0.1:{port}").replace(" one ", f" on{port} ")
        elif "10.0.0." not in line:
            yield line


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
