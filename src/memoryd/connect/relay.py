"""Relay lines between a client and a service, and move the client to another service when one dies."""

import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from memoryd.connect.channel import LINE, PATIENCE, LineBuffer, Lines
from memoryd.connect.conversation import Conversation
from memoryd.connect.launch import START, NoServiceError, say

FULL = 1 << 20  # bytes waiting for one side above which the other is not read
LAST = 2.6
"""Seconds that the service has to finish once the client has closed: a client waits three."""
DEATHS = 3
"""Deaths of services without an answer in between, after which this client gets its own server."""

STDIN, STDOUT = 0, 1
LOST = select.POLLHUP | select.POLLERR | select.POLLNVAL
Reach = Callable[[], Lines]


class SignalledError(Exception):
    """A signal arrived: stop, whatever the relay is doing."""


class Relay:
    """A relay between stdin and stdout and a service, until either side ends.

    `again` reaches a service after a death or raises NoServiceError, `private` starts a server for this client alone,
    `alive` tells a busy service from a hung one. `conversation` is what another service must know.
    """

    def __init__(
        self, service: Lines, again: Reach, private: Reach, alive: Callable[[], bool], conversation: Conversation
    ) -> None:
        self._again, self._private, self._alive = again, private, alive
        self._service: Lines | None = None
        self._alone = False
        self._deaths = 0
        self._conversation = conversation
        self._buffer = LineBuffer()
        self._requests: deque[bytes] = deque()
        self._queued, self._listens = 0, True
        self._sending = b""
        self._answers = bytearray()
        self._end: float | None = None
        """The deadline for everything, once the client has closed."""
        self._read, self._over = True, False
        self._heard = time.monotonic()
        self._woken = _woken()
        self._use(service)

    def run(self) -> None:
        """Relay until the client is gone, or has closed and received its last answers."""
        while not self._over and not (self._end and time.monotonic() > self._end):
            try:
                if self._service is None:
                    self._go_on()
                if not self._over:
                    self._turn()
            except SignalledError:
                self._requests.clear()
                self._hang_up()

    def _turn(self) -> None:
        """Wait until something can be read or written, and do so."""
        if not self._read and self._service is None and not self._answers:  # the client has closed, and has all
            self._over = True
            return
        for handle, event in self._poll().poll(self._milliseconds()):
            if handle == STDOUT:
                self._write_client(event)
            elif handle == STDIN:
                self._read_client(event)
            elif handle == self._woken:
                os.read(self._woken, LINE)
            elif self._service:
                self._serve(self._service, event)
        if self._service and self._seems_hung() and not self._alive():
            say("The service does not answer; this client continues with its own server.")
            self._alone = True
            self._died()

    def _poll(self) -> select.poll:
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.register(STDOUT, select.POLLOUT if self._answers else 0)
        self._listens = self._read and self._queued < FULL
        if self._listens:
            poll.register(STDIN, select.POLLIN)
        elif self._read and self._end is None:
            poll.register(STDIN, 0)  # whether the client has closed
        if self._service:
            reading = select.POLLIN if len(self._answers) < FULL else 0
            writing = select.POLLOUT if self._sending or self._requests else 0
            poll.register(self._service.socket, reading | writing)
        return poll

    def _milliseconds(self) -> float | None:
        """Return the maximum time to wait; None (for ever) while no answer is expected."""
        until = [self._end] if self._end else []
        if self._is_watched():
            until.append(self._heard + PATIENCE)
        return max(0.0, 1000 * (min(until) - time.monotonic())) + 1 if until else None

    # the client ------------------------------------------------------------------------------------------------------

    def _read_client(self, event: int) -> None:
        if self._listens:
            data = _read()
            for line in self._buffer.feed(data):
                self._queue(line)
            if not data:
                self._queue(self._buffer.rest())
                self._hang_up()
        elif event & LOST:
            self._end = self._end or time.monotonic() + LAST

    def _queue(self, line: bytes) -> None:
        if line:
            self._requests.append(line)
            self._queued += len(line)

    def _hang_up(self) -> None:
        """Stop reading from the client; let the service know once it has received everything read so far."""
        self._read = False
        self._end = self._end or time.monotonic() + LAST
        self._let_know()

    def _let_know(self) -> None:
        if self._service and not (self._read or self._sending or self._requests):
            with suppress(OSError):  # if it is dead, reading will show it
                self._service.socket.shutdown(socket.SHUT_WR)

    def _write_client(self, event: int) -> None:
        if event & LOST:
            self._over = True
            return
        part = bytes(self._answers[: select.PIPE_BUF])  # a pipe takes this much at once, so that this does not wait
        try:
            del self._answers[: os.write(STDOUT, part)]
        except BlockingIOError:  # the client made its pipe non-blocking
            pass
        except OSError:
            self._over = True

    # the service -----------------------------------------------------------------------------------------------------

    def _use(self, service: Lines) -> None:
        service.socket.setblocking(False)
        self._service, self._heard = service, time.monotonic()

    def _serve(self, service: Lines, event: int) -> None:
        try:
            if event & select.POLLOUT:
                self._send(service)
            if event & (select.POLLIN | LOST):
                data = service.socket.recv(LINE)
                if not data:
                    raise ConnectionResetError
                self._pass(service.take(data))
        except BlockingIOError:
            pass
        except OSError:
            self._died()

    def _send(self, service: Lines) -> None:
        if not self._sending:
            if not self._conversation.waits:
                self._heard = time.monotonic()
            self._sending = self._requests.popleft()
            self._queued -= len(self._sending)
            self._conversation.asked(self._sending)
        self._sending = self._sending[service.socket.send(self._sending) :]
        self._let_know()

    def _pass(self, lines: list[bytes]) -> None:
        self._heard = time.monotonic()
        for line in lines:
            self._deaths = 0
            self._conversation.answered(line)
            self._answers += line

    def _is_watched(self) -> bool:
        return self._service is not None and not self._alone and (self._conversation.waits or bool(self._sending))

    def _seems_hung(self) -> bool:
        silent = self._is_watched() and time.monotonic() > self._heard + PATIENCE
        if silent:
            self._heard = time.monotonic()
        return silent

    # after a death ---------------------------------------------------------------------------------------------------

    def _died(self) -> None:
        """Answer the requests that the service will not answer. Lines not yet sent wait for the next service."""
        if self._service:
            self._service.socket.close()
        self._service, self._sending = None, b""
        self._deaths += 1
        for line in self._conversation.broken(repeating=self._read):
            self._answers += line
        if not self._read:
            self._requests.clear()

    def _go_on(self) -> None:
        """Reach another service, if the client needs one now."""
        conversation = self._conversation
        if not self._read or not (self._requests or conversation.waits or conversation.watches):
            return
        service = self._next()
        if service is None:
            say("No server stays up. Restart the client.")
            self._over = True
            return
        service.socket.settimeout(START if self._alone else PATIENCE)
        try:
            self._pass(conversation.replay(service))
            self._use(service)
        except OSError:
            self._service = service
            self._died()

    def _next(self) -> Lines | None:
        """Return a connection to a service or, after some deaths, to this client's own server; None after too many."""
        if self._deaths > 2 * DEATHS:
            return None
        self._alone |= self._deaths > DEATHS
        if not self._alone:
            try:
                return self._again()
            except NoServiceError as error:
                say(f"{error} This client continues with its own server.")
                self._alone = True
        return self._private()


def _read() -> bytes:
    """Return what the client has sent; b"" at the end, which a socket reports as an error if answers are unread."""
    try:
        return os.read(STDIN, LINE)
    except ConnectionError:
        return b""


def _woken() -> int:
    """Return a pipe that signals write to: otherwise a signal just before a wait would not end that wait."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    return woken
