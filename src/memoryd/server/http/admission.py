"""What a connection may cost before anybody has shown a token: bytes, time, descriptors. uvicorn bounds none of them.

The parser is h11 whatever else is installed, so that each limit is checked in one place.
"""

import asyncio
import json
import math
import re
import ssl
import sys
from http import HTTPStatus
from typing import Any

import h11
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from uvicorn.protocols.http.h11_impl import H11Protocol

if sys.platform != "win32":  # Windows limits no descriptors
    import resource

REQUEST_LINE = 8 * 1024  # bytes
HEAD = 64 * 1024  # bytes of the request line and the headers
HEADERS = 100
BODY = 2 * DEFAULT_MAX_REQUEST_BODY_SIZE  # bytes on the wire, where chunks have frames; what they hold is counted later
HEAD_TIME = 10.0  # seconds until a head is complete, from the connection on
BODY_TIME = 30.0  # seconds that any body may take, and
SLOWEST = 4 * 1024  # one second more for so many bytes that have come
STALL = 60.0  # seconds for which a client may take nothing of an answer
LINGER = 5.0  # seconds that a connection stays open after a refusal, so that the client can read it
SWEEP = 1.0  # seconds between looks at the clock
MOST = 1_000  # connections
RESERVED = 256  # descriptors for databases and models

_BLANK_LINE = re.compile(rb"\n\r?\n")  # what ends a head for h11


def excess(received: bytes) -> HTTPStatus | None:
    """Return the refusal of the head that `received` begins with, complete or not; None where it is within limits."""
    blank = _BLANK_LINE.search(received)
    head = received[: blank.start()] if blank else received
    if len(head.partition(b"\n")[0]) > REQUEST_LINE:
        return HTTPStatus.REQUEST_URI_TOO_LONG
    if len(head) > HEAD or head.count(b"\n") > HEADERS:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    return None


def capacity() -> int:
    """Return how many connections there may be, after raising the limit of descriptors if that is allowed."""
    if sys.platform == "win32":
        return MOST
    wanted = MOST + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, max(soft - RESERVED, soft // 2))


class Door:
    """The connections of a server. Where there are too many, one without a request makes room for a new one."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self._most = capacity()
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}
        """Those without a request; the first has waited longest."""
        self._sweeper: asyncio.TimerHandle | None = None

    def enter(self, newcomer: "Connection") -> bool:
        """Let a connection in; return False where all others are busy.

        An address has half of those without a request at most. Those with one do not count: behind a proxy, all
        connections come from its address.
        """
        alike = [one for one in self._waiting if one.address == newcomer.address]
        if len(alike) >= self._most // 2:
            alike[0].cut()
        elif len(self._open) >= self._most:
            if not self._waiting:
                return False
            next(iter(self._waiting)).cut()
        self._open.add(newcomer)
        self._waiting[newcomer] = None
        if self._sweeper is None:
            self._sweep()
        return True

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = loop.call_later(SWEEP, self._sweep)  # first: whatever happens below, it goes on
        for connection in list(self._open):
            connection.look(loop.time())

    def occupy(self, connection: "Connection") -> None:
        """Keep a connection that has a request."""
        self._waiting.pop(connection, None)

    def vacate(self, connection: "Connection") -> None:
        """Take a connection, whose request is answered, as one that can make room."""
        if connection in self._open:
            self._waiting[connection] = None

    def leave(self, connection: "Connection") -> None:
        """Forget a connection that is over."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def close(self) -> None:
        """Cut the connections without a request, and look no more."""
        for connection in list(self._waiting):
            connection.cut()
        if self._sweeper is not None:
            self._sweeper.cancel()


class _Parser(h11.Connection):
    """h11's, which looks at a head before it parses it: every head is parsed by this call."""

    refusal = HTTPStatus.BAD_REQUEST
    """The answer to what was wrong."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE and (status := excess(self.trailing_data[0])):
            self.refusal = status
            raise h11.RemoteProtocolError(status.phrase, status)
        return super().next_event()


class Connection(H11Protocol):
    """uvicorn's, with limits, and with its own TLS handshake: a server's would come before a connection is known."""

    conn: _Parser

    def __init__(self, door: Door, **given: Any) -> None:
        super().__init__(**given)
        self.conn = _Parser(h11.SERVER, HEAD)
        self.address = ""
        self._door = door
        self._socket: asyncio.Transport
        self._ready = False
        """Whether the TLS handshake is over, if there is one."""
        self._early = b""
        """What came before the end of the handshake was known here."""
        self._handshake: asyncio.Task[None] | None = None
        self._refused = False
        self._received = 0
        """Bytes, since the last head."""
        self._began = 0.0
        self._due = math.inf
        """When that for which the connection waits must have come, by the loop's clock."""
        self._unsent = 0
        self._moved = math.inf
        """When the client took a part of the answer, or there was none to take."""

    # from the transport ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        self._socket = transport
        self.address = str((transport.get_extra_info("peername") or [""])[0])
        if not self._door.enter(self):
            transport.abort()
            return
        self._due = self.loop.time() + HEAD_TIME
        if self._door.tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self._handshake = self.loop.create_task(self._secure(self._door.tls))

    async def _secure(self, tls: ssl.SSLContext) -> None:
        try:
            secured = await self.loop.start_tls(self._socket, self, tls, server_side=True)
        except OSError:  # it speaks no TLS, or is gone
            self.cut()
            return
        if secured is not None:
            self._begin(secured)
            self.data_received(self._early)

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._ready = True

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if not self._ready:
            self._early += data
            return
        self._received += len(data)
        if self._received > BODY:
            self.cut()
        elif data and not self._refused:
            if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
                self._due = self.loop.time() + HEAD_TIME
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._door.leave(self)
        if self._ready:
            super().connection_lost(exc)

    # from uvicorn ----------------------------------------------------------------------------------------------------

    def handle_events(self) -> None:
        """Parse what came; a head without an end, and a body, must go on coming."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._door.occupy(self)
            self._began, self._received = self.loop.time(), 0
        if self.cycle is not None and not self.cycle.response_complete and not self._refused:
            spent = BODY_TIME + self._received / SLOWEST
            self._due = self._began + spent if self.cycle.more_body else math.inf

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of a body that nobody reads."""
        self._door.vacate(self)
        self._due = self.loop.time() + self.timeout_keep_alive + LINGER
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's, which has one text for all
        """Refuse what could not be parsed."""
        self._refuse(self.conn.refusal)

    # limits ----------------------------------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """End what takes too long: a request that does not come, an answer that nobody takes."""
        unsent = (self.transport or self._socket).get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._moved = now
        self._unsent = unsent
        if now > self._moved + STALL:
            self.cut()
        elif now > self._due:
            self._expire(now)

    def _expire(self, now: float) -> None:
        if not self._begun():
            self.cut()
        elif self.flow.read_paused:  # it is we who are slow
            self._began, self._due = now, now + BODY_TIME
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _begun(self) -> bool:
        """Whether a part of a request has come, and no answer to it is given."""
        if not self._ready or self._refused:
            return False
        if self.conn.their_state is h11.IDLE:
            return bool(self.conn.trailing_data[0])
        return not self.cycle.response_complete

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer in place of the application, and read no more."""
        self._refused = True
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # there is an answer already
            self.cut()
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        body = json.dumps({"error": status.phrase}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        head = h11.Response(status_code=status, headers=list(headers.items()), reason=status.phrase.encode())
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))
        if self.transport.can_write_eof():  # closing would reset the connection while more comes, and lose the answer
            self.transport.write_eof()
        self._due = self.loop.time() + LINGER
        self._door.vacate(self)

    def cut(self) -> None:
        """End it at once."""
        self._door.leave(self)
        (self.transport or self._socket).abort()
