"""A connection to a service: the user at the other end, the greeting, lines."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections import deque
from contextlib import ExitStack

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in connect
    from collections.abc import Iterator, Mapping
    from typing import Any

PATIENCE = 5.0
"""Seconds that a service has to answer before it counts as hung."""
LINE = 1 << 16
CREDENTIALS = struct.Struct("3i")  # pid, uid and gid, Linux
XUCRED = struct.Struct("2I")  # the beginning of struct xucred: its version and the uid, macOS
LOCAL_PEERCRED = 1


class DeclinedError(OSError):
    """The service declines this connection; the message says why."""


class StrangerError(OSError):
    """The other end belongs to another user."""


def peer(connection: socket.socket) -> int | None:
    """Return the id of the user at the other end, or None if the system does not tell."""
    if sys.platform == "darwin":
        version, user = XUCRED.unpack_from(connection.getsockopt(0, LOCAL_PEERCRED, 128))
        return int(user) if version == 0 else None
    if sys.platform != "linux":
        return None
    _, user, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    return int(user)


def greet(path: str, hello: Mapping[str, Any], seconds: float = PATIENCE) -> tuple[Lines, dict[str, Any]]:
    """Return a connection to the service of this user at a socket, and its answer to the greeting.

    Raise TimeoutError if it is hung, DeclinedError, StrangerError, or OSError if there is no service.
    """
    with ExitStack() as undo:
        connection = undo.enter_context(socket.socket(socket.AF_UNIX))
        connection.settimeout(seconds)
        try:
            connection.connect(path)
        except BlockingIOError:
            raise TimeoutError from None  # it accepts no more connections
        if peer(connection) != os.geteuid():
            raise StrangerError
        lines = Lines(connection)
        lines.send(hello)
        answer = lines.receive()
        if "error" in answer:
            raise DeclinedError(answer["error"])
        undo.pop_all()
        return lines, answer


def state(path: str, want: str = "state") -> dict[str, Any]:
    """Return the state of the service at a socket; `stop` ends it. Raise TimeoutError if it is hung, or OSError."""
    lines, answer = greet(path, {"want": want})
    lines.socket.close()
    return answer


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """Return the object that a text is in JSON; None if it is something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class LineBuffer:
    """A buffer that takes bytes in pieces and returns whole lines."""

    def __init__(self) -> None:
        self._received = bytearray()

    def __len__(self) -> int:
        return len(self._received)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add received bytes; yield the complete lines, each with its line end."""
        self._received += data
        while (end := self._received.find(b"\n") + 1) > 0:
            line = bytes(self._received[:end])
            del self._received[:end]
            yield line

    def rest(self) -> bytes:
        """Remove and return an incomplete last line."""
        rest = bytes(self._received)
        self._received.clear()
        return rest


class Lines:
    """A socket that carries messages, one per line."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._buffer = LineBuffer()
        self._lines: deque[bytes] = deque()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. Raise OSError."""
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def line(self) -> bytes:
        """Return the next line. Raise OSError; ConnectionError at the end of the connection."""
        while not self._lines:
            data = self.socket.recv(LINE)
            if not data:
                raise ConnectionResetError("the connection has ended")
            self._lines.extend(self._buffer.feed(data))
        return self._lines.popleft()

    def receive(self) -> dict[str, Any]:
        """Return the next line as a message. Raise OSError; ConnectionError without a line or a message."""
        if (found := object_in(self.line())) is None:
            raise ConnectionAbortedError("the line received is not a message")
        return found

    def take(self, data: bytes) -> list[bytes]:
        """Return the complete lines received so far, including `data`, which was just received."""
        lines = [*self._lines, *self._buffer.feed(data)]
        self._lines.clear()
        return lines
