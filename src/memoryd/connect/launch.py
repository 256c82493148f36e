"""Start what serves a client: the shared service, or a server for this client alone."""

import os
import select
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from memoryd import __file__ as package
from memoryd import environment
from memoryd.connect import locks
from memoryd.connect.address import Address
from memoryd.connect.channel import DeclinedError, Lines, StrangerError, greet

START = 60.0
"""Seconds that a service may take to start; an overloaded machine needs many."""
PAUSE = 0.01
MOST_FILES = 1 << 16
ATTEMPTS = 3
"""Attempts to reach a service; after that many ended just as the client connected, it gets its own server."""
BOOT = (
    f"import sys; sys.path.append({os.path.dirname(os.path.dirname(package))!r}); "  # noqa: PTH120
    "from memoryd.__main__ import main; main()"
)
"""Code that finds this package from any directory without letting a file there shadow a module."""


class NoServiceError(Exception):
    """There is no service for this client; the message says why."""


def reach(address: Address, environ: Mapping[str, str], hello: Mapping[str, object]) -> Lines:
    """Return a connection to the service at an address; start the service if there is none.

    Raise NoServiceError, or DeclinedError if the service does not take the client.
    """
    try:
        for _ in range(ATTEMPTS):
            try:
                lines, _ = greet(address.socket, hello)
            except TimeoutError:
                raise NoServiceError(f"The service at {address.socket} does not answer.") from None
            except (FileNotFoundError, ConnectionError):
                _start(address, environ)
            else:
                return lines
    except DeclinedError:
        raise
    except StrangerError:
        raise NoServiceError(f"The socket {address.socket} belongs to another user.") from None
    except OSError as error:
        raise NoServiceError(f"The service at {address.socket} cannot be reached: {error}.") from None
    raise NoServiceError(f"The services at {address.socket} end as soon as they have started.")


def _start(address: Address, environ: Mapping[str, str]) -> None:
    """Start a service unless another client does or has done so; return once it listens. Raise NoServiceError."""
    deadline = time.monotonic() + START
    while (lock := locks.taken(address.start)) is None:
        if listens(address.socket):
            return
        if time.monotonic() > deadline:
            raise NoServiceError("Another client could not start the service in time.")
        time.sleep(PAUSE)
    with lock:
        if not listens(address.socket):
            _launch(address, environ, deadline)


def listens(path: str) -> bool:
    """Return whether a service accepts connections at a socket, though it may be hung."""
    with socket.socket(socket.AF_UNIX) as trial:
        trial.settimeout(PAUSE)
        try:
            trial.connect(path)
        except (BlockingIOError, TimeoutError):
            return True
        except OSError:
            return False
    return True


def _launch(address: Address, environ: Mapping[str, str], deadline: float) -> None:
    """Start a service and wait until it reports on its stdout that it listens. Raise NoServiceError."""
    ready, announced = os.pipe()
    log = os.open(address.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR)
    command = _command("serve", "--socket", address.socket)
    _detached(command, environment.without_connection(environ), (nothing, announced, log))
    for handle in (announced, log, nothing):
        os.close(handle)
    try:
        readable, _, _ = select.select([ready], [], [], max(0.0, deadline - time.monotonic()))
        if not (readable and os.read(ready, 1)):
            raise NoServiceError(f"The service did not start: see {address.log}.")
    finally:
        os.close(ready)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-c", BOOT, *arguments]


def _detached(command: list[str], environ: Mapping[str, str], streams: tuple[int, int, int]) -> None:
    """Run a command in its own session, so that it outlives this process and leaves no zombie."""
    if child := os.fork():
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.umask(0o077)
            _become(command, environ, streams)
    finally:
        os._exit(1)


def _become(command: list[str], environ: Mapping[str, str], streams: tuple[int, int, int]) -> None:
    """Replace this process with a command that has only its three streams open."""
    for number, handle in enumerate([os.dup(handle) if handle < 3 else handle for handle in streams]):
        os.dup2(handle, number)
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), MOST_FILES))
    os.execve(command[0], command, dict(environ))  # noqa: S606 - no shell is wanted


def private(arguments: Sequence[str], environ: Mapping[str, str]) -> Lines:
    """Start a server that serves this client alone and ends with it; return the connection to it. Raise OSError."""
    ours, theirs = socket.socketpair()
    with theirs:
        if os.fork() == 0:
            try:
                handle = theirs.fileno()
                _become(_command(*arguments), {**environ, "MEMORY_SERVICE": "off"}, (handle, handle, 2))
            finally:
                os._exit(1)
    return Lines(ours)


def say(message: str) -> None:
    """Print a note for the person who reads the client's log."""
    with suppress(OSError):
        os.write(2, f"memoryd: {message}\n".encode(errors="replace"))
