"""The cost of strangers without a token for an HTTP server: its memory, and how long others wait for /health/live.

    python -m bench.strangers

The server is a process of this checkout on a free port of 127.0.0.1, with one token, which no request here sends.
"""

import http.client
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.tables import show
from memoryd.environment import current

MB = 1 << 20
GET = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
POST = (
    b"POST /tools/memory_store HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)


class Server:
    """A server with a token."""

    def __init__(self, home: str) -> None:
        self._environ = current() | {
            "MEMORY_DATA_DIR": home, "MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none", "MEMORY_RATE_LIMIT": "none",
        }  # fmt: skip
        command = [sys.executable, "-m", "memoryd"]
        subprocess.run([*command, "token", "create", "t"], env=self._environ, check=True, stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [*command, "serve", "--transport", "http", "--port", "0"], env=self._environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.process.stdout
        self.port = int(self.process.stdout.readline().split()[2].rsplit(":", 1)[1].partition("/")[0])

    def connection(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port))
        made.settimeout(20)
        return made

    @property
    def peak(self) -> int:
        """The peak memory so far in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


def sent(server: Server, head: bytes, size: int) -> str:
    """Return the answer to a request that begins with `head` and continues for `size` bytes."""
    with server.connection() as stranger:
        began, done = time.perf_counter(), 0
        with suppress(OSError):
            stranger.sendall(head)
            while done < size:
                done += stranger.send(b"x" * 65_536)
            stranger.sendall(b"\r\n\r\n")
        answer = b""
        with suppress(OSError):
            answer = stranger.recv(100)
    seconds = time.perf_counter() - began
    return f"{answer[9:12].decode() or 'closed'} after {done / MB:.1f} MB, {seconds:.1f} s"


def waited(server: Server, seconds: float) -> str:
    """Return the number of answers of /health/live within `seconds`, and the longest wait."""
    worst, answered, until = 0.0, 0, time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        with suppress(OSError):
            client.request("GET", "/health/live")
            answered += client.getresponse().status == 200
        client.close()
        worst = max(worst, time.perf_counter() - began)
        time.sleep(0.02)
    return f"{answered} answers, worst {1e3 * worst:.0f} ms"


def crowd(server: Server, number: int, data: bytes) -> list[socket.socket]:
    made = []
    with suppress(OSError):
        for _ in range(number):
            made.append(server.connection())
            made[-1].sendall(data)
    return made


def still_open(connections: list[socket.socket]) -> int:
    number = 0
    for one in connections:
        one.setblocking(False)
        try:
            while one.recv(4_096):
                pass
        except BlockingIOError:
            number += 1
        except OSError:
            pass
        one.close()
    return number


def header_meanwhile(server: Server) -> str:
    attack = threading.Thread(target=sent, args=(server, GET + b"X: ", 300 * MB))
    attack.start()
    answer = waited(server, 8)
    attack.join()
    return answer


def half_requests(server: Server) -> str:
    made = crowd(server, 200, b"GET / HTTP/1.1\r\nHost: loc")
    time.sleep(15)
    return f"{still_open(made)} of {len(made)} open after 15 s"


def idle(server: Server) -> str:
    made = crowd(server, 1_100, b"")
    answer = f"{waited(server, 5)}, {server.descriptors()} descriptors"
    still_open(made)
    return answer


ATTACKS: dict[str, Callable[[Server], str]] = {
    "none": lambda server: waited(server, 2),
    "a header of 32 MB": lambda server: sent(server, GET + b"X: ", 32 * MB),
    "health during a header of 300 MB": header_meanwhile,
    "a body of 64 MB": lambda server: sent(server, POST % (64 * MB), 64 * MB),
    "200 half requests": half_requests,
    "1,100 idle connections": idle,
}


@contextmanager
def served() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as home:
        server = Server(home)
        try:
            yield server
        finally:
            server.process.kill()
            server.process.wait()


def main() -> None:
    rows = []
    for what, attack in ATTACKS.items():
        with served() as server:
            answer = attack(server)
            rows.append([what, answer, str(server.peak)])
    show("Strangers", ["attack", "result", "peak memory, MB"], rows)


if __name__ == "__main__":
    main()
