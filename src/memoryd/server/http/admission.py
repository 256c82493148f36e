"""Limits on connections before a token is checked: bytes, time, descriptors; uvicorn limits none of them.

The parser is always h11, whatever else is installed, so that each limit is checked in one place.
"""

import asyncio
import json
import logging
import math
import re
import ssl
import sys
from http import HTTPStatus
from typing import Any

import h11
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

if sys.platform != "win32":  # Windows limits no descriptors
    import resource

REQUEST_LINE = 8 * 1024  # bytes
HEAD = 64 * 1024  # bytes of the request line and the headers
HEADERS = 100
BODY = 2 * DEFAULT_MAX_REQUEST_BODY_SIZE  # bytes on the wire, with the frames of chunks; the content is counted later
REST = 24 * 2**20  # further bytes of a body after the answer: many clients read that only after they have sent it all
HEAD_TIME = 10.0  # seconds from the connection until a head is complete
BODY_TIME = 30.0  # seconds that any body may take, and
SLOWEST = 4 * 1024  # one second more for this many received bytes
STALL = 60.0  # seconds for which a client may stop reading an answer
LINGER = 5.0  # seconds that a connection stays open after a refusal, so that the client can read it
SWEEP = 1.0  # seconds between checks of the deadlines
MOST = 1_000  # maximum connections
RESERVED = 256  # descriptors reserved for databases and models

REPORTED = 60.0  # seconds between reports of too many connections

CHUNKS, SMALLEST = 1_000, 256  # maximum chunks of a body; more are allowed if they average this many bytes
LENGTHS = {b"content-length", b"transfer-encoding"}  # the headers that define where a body ends
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)", re.IGNORECASE)
_BLANK_LINE = re.compile(rb"\n\r?\n")  # the end of a head for h11


def excess(received: bytes) -> HTTPStatus | None:
    """Return the status to refuse a complete or incomplete head with, or None if it is within the limits."""
    blank = _BLANK_LINE.search(received)
    head = received[: blank.start()] if blank else received
    if len(head.partition(b"\n")[0]) > REQUEST_LINE:
        return HTTPStatus.REQUEST_URI_TOO_LONG
    if len(head) > HEAD or head.count(b"\n") > HEADERS:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    return None


def capacity() -> int:
    """Return the maximum number of connections, after raising the limit of descriptors if that is allowed."""
    if sys.platform == "win32":
        return MOST
    wanted = MOST + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, max(soft - RESERVED, soft // 2))


class Door:
    """The connections of a server. If there are too many, one without a request is closed for a new one."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self._most = capacity()
        self._open: set[HttpConnection] = set()
        self._waiting: dict[HttpConnection, None] = {}
        """The connections without a request; the first has waited longest."""
        self._sweeper: asyncio.TimerHandle | None = None
        self._reported = -math.inf

    def enter(self, newcomer: "HttpConnection") -> bool:
        """Accept a connection; return False if all others are busy.

        An address may have at most half of the connections without a request. Those with a request do not count:
        behind a proxy, all connections come from its address.
        """
        alike = [one for one in self._waiting if one.address == newcomer.address]
        crowded = len(alike) >= self._most // 2
        if crowded or len(self._open) >= self._most:
            self._report()
            if not self._waiting:
                return False
            (alike[0] if crowded else next(iter(self._waiting))).cut()
        self._open.add(newcomer)
        self._waiting[newcomer] = None
        if self._sweeper is None:
            self._sweep()
        return True

    def _report(self) -> None:
        """Log now and then that connections are closed because there are too many."""
        now = asyncio.get_running_loop().time()
        if now < self._reported + REPORTED:
            return
        self._reported = now
        more = "" if self._most >= MOST else ", as few files may be open (`ulimit -n`)"
        log.warning(
            "there are too many connections: the oldest without a request, or new ones, are closed. At most %d may "
            "be open%s, half of them without a request from one address",
            self._most,
            more,
        )

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = loop.call_later(SWEEP, self._sweep)  # first, so that an error below does not stop it
        for connection in list(self._open):
            connection.look(loop.time())

    def occupy(self, connection: "HttpConnection") -> None:
        """Mark a connection as having a request."""
        self._waiting.pop(connection, None)

    def vacate(self, connection: "HttpConnection") -> None:
        """Mark a connection as idle after its request was answered."""
        if connection in self._open:
            self._waiting[connection] = None

    def leave(self, connection: "HttpConnection") -> None:
        """Remove a connection that has ended."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def close(self) -> None:
        """Close the connections without a request, and stop checking deadlines."""
        for connection in list(self._waiting):
            connection.cut()
        if self._sweeper is not None:
            self._sweeper.cancel()


class _Parser(h11.Connection):
    """h11's parser with a check of each head before it is parsed; next_event() parses every head."""

    refusal = HTTPStatus.BAD_REQUEST
    """The status to answer an invalid request with."""
    _chunks = _content = 0
    """Chunks of the body: each costs as much as a thousand bytes, and everything received is parsed in one go."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE and (status := excess(self.trailing_data[0])):
            self.refusal = status
            raise h11.RemoteProtocolError(status.phrase, status)
        event = super().next_event()
        if isinstance(event, h11.Request) and dict(event.headers).keys() >= LENGTHS:
            raise h11.RemoteProtocolError("two lengths")  # a proxy may have used the other one (RFC 9112, 6.1)
        if isinstance(event, h11.Request):
            self._chunks = self._content = 0
            return _in_origin_form(event)
        if isinstance(event, h11.Data):
            self._chunks, self._content = self._chunks + event.chunk_start, self._content + len(event.data)
            if self._chunks > CHUNKS + self._content // SMALLEST:
                raise h11.RemoteProtocolError("small chunks")
        return event


def _in_origin_form(request: h11.Request) -> h11.Request:
    """Turn a request for an absolute URL, as proxies get it, into one for its path and host (RFC 9112, 3.2.2)."""
    found = _ABSOLUTE.match(request.target)
    if not found:
        return request
    rest = request.target[found.end() :]
    headers = [(b"host", found[1]), *((name, value) for name, value in request.headers if name != b"host")]
    target = rest if rest.startswith(b"/") else b"/" + rest
    return h11.Request(method=request.method, target=target, headers=headers, http_version=request.http_version)


class HttpConnection(H11Protocol):
    """uvicorn's connection with limits. It does the TLS handshake itself, so that the limits apply during it."""

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
        """Data received before the end of the handshake was processed."""
        self._handshake: asyncio.Task[None] | None = None
        self._refused = False
        self._received = 0
        """Bytes since the last head."""
        self._began = 0.0
        self._due = math.inf
        """The deadline, by the loop's clock, of the data that the connection waits for."""
        self._unsent = 0
        self._moved = math.inf
        """The last time when the client read a part of the answer, or there was nothing to read."""

    # from the transport ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
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
        except OSError:  # the client does not speak TLS, or is gone
            self.cut()
            return
        if secured is not None:
            self._begin(secured)
            self.data_received(self._early)

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._ready = True

    def data_received(self, data: bytes) -> None:
        if not self._ready:
            self._early += data
            return
        self._received += len(data)
        if self._received > BODY + REST:
            self.cut()
        elif self._received > BODY and not (self._refused or (self.cycle and self.cycle.response_complete)):
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)  # an answered one's rest is received, but not kept
            self._due = self.loop.time() + BODY_TIME
        elif data and not self._refused:
            if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
                self._due = self.loop.time() + HEAD_TIME
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.leave(self)
        if self._ready:
            super().connection_lost(exc)

    # from uvicorn ----------------------------------------------------------------------------------------------------

    def handle_events(self) -> None:
        """Parse received data, and set the deadline for the rest of a head or body."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._door.occupy(self)
            self._began, self._received = self.loop.time(), 0
        if self.cycle is not None and not self.cycle.response_complete and not self._refused:
            spent = BODY_TIME + self._received / SLOWEST
            self._due = self._began + spent if self.cycle.more_body else math.inf

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of a body that is not read."""
        self._door.vacate(self)
        patience = BODY_TIME if self.conn.their_state is h11.SEND_BODY else self.timeout_keep_alive + LINGER
        self._due = self.loop.time() + patience
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn has one text for all errors
        """Refuse a request that could not be parsed."""
        self._refuse(self.conn.refusal)

    # limits ----------------------------------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """End the connection if a request is not sent, or an answer not read, in time."""
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
        elif self.flow.read_paused:  # the server causes the delay
            self._began, self._due = now, now + BODY_TIME
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _begun(self) -> bool:
        """Return whether a part of a request has arrived that is not answered yet."""
        if not self._ready or self._refused:
            return False
        if self.conn.their_state is h11.IDLE:
            return bool(self.conn.trailing_data[0])
        return not self.cycle.response_complete

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer instead of the application, and stop reading."""
        self._refused = True
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # an answer has already begun
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
        if self.transport.can_write_eof():  # closing while data arrives would reset the connection and lose the answer
            self.transport.write_eof()
        self._due = self.loop.time() + LINGER
        self._door.vacate(self)

    def cut(self) -> None:
        """Abort the connection."""
        self._door.leave(self)
        (self.transport or self._socket).abort()
