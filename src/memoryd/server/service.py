"""The service: one process for all clients of a memory, each with a connection to its Unix socket.

A connection begins with a greeting, a line of JSON with its purpose and the variables that it depends on; after the
answer it carries what the stdin and stdout of a server would.
"""

import asyncio
import json
import logging
import os
import resource
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

import anyio
from anyio import to_thread
from anyio.abc import SocketAttribute, SocketListener, SocketStream
from mcp.server.stdio import stdio_server

from memoryd import __version__, environment, features
from memoryd.connect import launch, locks
from memoryd.connect.channel import PATIENCE, LineBuffer, object_in, peer
from memoryd.core.engine import Engine
from memoryd.core.maintenance import scheduler
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.server.process import end_soon, limit_heaps
from memoryd.server.requests import Requests, ToolRequests
from memoryd.server.threads import ThreadPools
from memoryd.server.wire import LAST_CALLS, converse
from memoryd.settings import Settings
from memoryd.text import unstorable

log = logging.getLogger(__name__)

LOOK = 1.0  # seconds between checks whether the service is still needed
PAUSE = 0.02  # seconds between checks for what may happen at any moment
PIECE = 1 << 16
TEXTS = ("directory", "id", "origin")  # the fields of a greeting that are texts, if they are there
LONGEST = 64 << 20  # bytes of a line; an endless one would take the memory of all clients


def serve(settings: Settings, path: Path) -> None:
    """Serve the clients of a socket until there has been none for a while, or until SIGTERM.

    Print a line once it, or another service of the socket, listens.
    """
    life = _alone(path)
    if life is None:
        _say_ready()
        return
    if path.exists():
        log.warning(
            "the previous service did not end properly: it was killed, for example because memory ran out. "
            "A service takes 300 MB with both models, 90 with MEMORY_RERANKER=none and MEMORY_EMBEDDER=none"
        )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # of which each client is one
    with suppress(ValueError, OSError):  # macOS reports no limit but has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    limit_heaps()
    with life, Engine(settings) as engine:
        anyio.run(Service(engine, path, life).run)
        locks.remove(str(path.with_suffix(".start")))


def _alone(path: Path) -> IO[bytes] | None:
    """Return the lock that this service holds while it runs; None if another service of the socket has started.

    Wait until that service listens or has ended.
    """
    until = time.monotonic() + launch.START
    while (life := locks.taken(str(path.with_suffix(".life")))) is None and time.monotonic() < until:
        if launch.listens(str(path)):
            break
        time.sleep(PAUSE)
    return life


class Service:
    """The connections of a socket to an engine."""

    def __init__(self, engine: Engine, path: Path, life: IO[bytes]) -> None:
        self._engine = engine
        self._path, self._inode, self._life = path, 0, life
        self._directory = os.open(engine.settings.data_dir, os.O_RDONLY)
        """Kept open, so that another directory cannot get its inode."""
        self._began = self._left = time.monotonic()
        self._pools = ThreadPools()
        self._clients: set[_Lines] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending = anyio.Event()

    async def run(self) -> None:
        """Serve until the service ends."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._ending.set)
        async with (
            await anyio.create_unix_listener(self._path, mode=0o600) as listener,
            anyio.create_task_group() as tasks,
        ):
            self._inode = self._path.stat().st_ino
            scheduler.begin(self._engine)
            _say_ready()
            tasks.start_soon(self._accept, listener)
            tasks.start_soon(self._look)
            await self._ending.wait()
            self._let_go()
            await self._finish()
            tasks.cancel_scope.cancel()

    async def _look(self) -> None:
        """End the service once it has had no client for a while, or clients cannot find it."""
        idle = self._engine.settings.service_idle
        while True:
            await anyio.sleep(max(PAUSE, min(LOOK, idle)))
            found = self._is_found()
            if not found:
                self._let_go()
            if not self._clients and (not found or time.monotonic() - self._left >= idle):
                self._ending.set()

    def _is_found(self) -> bool:
        """Return whether clients can find this service and its data directory still exists."""
        try:
            ours = os.path.samestat(self._engine.settings.data_dir.stat(), os.fstat(self._directory))
            return ours and self._path.stat().st_ino == self._inode
        except OSError:
            return False

    def _let_go(self) -> None:
        """Make way for another service; connected clients stay."""
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        life = self._path.with_suffix(".life")
        with suppress(OSError):
            if os.path.samestat(life.stat(), os.fstat(self._life.fileno())):
                life.unlink()

    async def _finish(self) -> None:
        """Answer running requests, as if every client had closed."""
        end_soon(self._engine, last_calls=LAST_CALLS)
        for lines in self._clients:
            lines.end()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LAST_CALLS)

    # connections -----------------------------------------------------------------------------------------------------

    async def _accept(self, listener: SocketListener) -> None:
        """Serve each connection in its own task: errors there are logged and do not affect others."""
        while True:
            try:
                stream = await listener.accept()
            except anyio.BrokenResourceError as error:
                log.error("no connection can be accepted: %s", error.__cause__)  # noqa: TRY400 - too many files are open
                await anyio.sleep(LOOK)
                continue
            task = asyncio.create_task(self._serve(stream))
            self._tasks.add(task)
            task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a connection ended: %s", error, exc_info=error)

    async def _serve(self, stream: SocketStream) -> None:
        if (user := peer(stream.extra(SocketAttribute.raw_socket))) != os.geteuid():  # noqa: S610 - not Django's
            log.warning("a connection of user %s was refused", user)
            await stream.aclose()
            return
        if not self._is_found():
            self._let_go()
            await stream.aclose()
            return
        try:
            async with stream:
                lines = _Lines(stream)
                with anyio.move_on_after(PATIENCE) as waiting:
                    hello = await lines.greeting()
                if not waiting.cancelled_caught:
                    await self._greeted(hello, lines)
        except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            log.info("a client has closed the connection; the last answers were not read")

    async def _greeted(self, hello: Mapping[str, Any], lines: "_Lines") -> None:
        """Serve a connection according to its purpose."""
        match hello.get("want"):
            case "client" | "tools" | "hook":
                await self._admit(hello, lines)
            case "stop":
                await lines.say(self._state())
                self._ending.set()
            case "state":
                await lines.say(self._state())
            case _:
                await lines.say({"error": "The service does not know this greeting."})

    async def _admit(self, hello: Mapping[str, Any], lines: "_Lines") -> None:
        """Serve a client according to its settings, until it disconnects."""
        try:
            calls = self._calls(hello)
        except InvalidInputError as error:
            await lines.say({"error": str(error)})
            return
        self._clients.add(lines)
        try:
            await SERVED[hello["want"]](calls, hello, lines, self._state())
        finally:
            self._clients.discard(lines)
            self._left = time.monotonic()
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(calls.engine.close)

    def _calls(self, hello: Mapping[str, Any]) -> Calls:
        """Return the tools of a client according to its settings. Raise InvalidInputError."""
        settings = Settings.read({**environment.current(), **environment.of_connection(hello.get("environ") or {})})
        directory = Path(hello.get("directory") or "/")
        with ExitStack() as undo:
            engine = self._engine.client(settings, hello.get("id") or "", directory)
            undo.callback(engine.close)
            calls = Calls(engine, self._pools)
            undo.pop_all()
        return calls

    def _state(self) -> dict[str, Any]:
        """Return the state of the service, for people."""
        return {
            "memoryd": __version__,
            "pid": os.getpid(),
            "place": self._engine.store.place,
            "clients": len(self._clients),
            "seconds": round(time.monotonic() - self._began),
            "kilobytes": _resident(),
        }


async def _converse(calls: Calls, hello: Mapping[str, Any], lines: "_Lines", state: Mapping[str, Any]) -> None:
    """Serve an MCP client."""
    server = MemoryServer(calls)
    if hello.get("again"):
        with suppress(MemorydError):  # the first call that needs the session reports it
            await to_thread.run_sync(calls.engine.sessions.resume)
    await lines.say(state)
    async with stdio_server(lines, lines) as (lines_in, lines_out):  # type: ignore[arg-type]  # enough for the SDK
        await converse(server, lines_in, lines_out, lambda: None)


async def _run_tools(calls: Calls, hello: Mapping[str, Any], lines: "_Lines", state: Mapping[str, Any]) -> None:
    """Serve a command of a person."""
    requests = ToolRequests(calls, hello)
    await lines.say({**state, **await requests.begin()})
    await _answer(lines, requests)


async def _run_requests(calls: Calls, hello: Mapping[str, Any], lines: "_Lines", state: Mapping[str, Any]) -> None:
    """Serve what is asked of a slice."""
    requests: Requests = features.load("requests", hello["want"])(calls)
    await lines.say(state)
    await _answer(lines, requests)


async def _answer(lines: "_Lines", requests: Requests) -> None:
    async for line in lines:
        await lines.say(await requests.answer(object_in(line) or {}))


SERVED = {"client": _converse, "tools": _run_tools, **dict.fromkeys(features.names("requests"), _run_requests)}
"""The function that serves a connection, by purpose."""


def _say_ready() -> None:
    """Report to the connector that started this process that it can connect, and close its pipe."""
    with suppress(BrokenPipeError):  # the connector was killed meanwhile
        os.write(1, b"\n")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.close(nothing)


def _resident() -> int:
    """Return the memory of this process in KB."""
    with suppress(OSError), Path("/proc/self/statm").open(encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # the peak


class _Lines:
    """The lines of a connection, with the interface through which the SDK's transport uses stdin and stdout."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._buffer = LineBuffer()
        self._whole: deque[bytes] = deque()
        self._reading, self._ended = anyio.CancelScope(), False

    async def greeting(self) -> dict[str, Any]:
        """Return the first line. Raise EndOfStream if it is not a greeting."""
        found = object_in(await self._next()) or {}
        environ = found.get("environ") or {}
        texts = [*environ.values(), *map(found.get, TEXTS)] if isinstance(environ, dict) else [environ]
        if not found or not all(text is None or (isinstance(text, str) and not unstorable(text)) for text in texts):
            log.warning("a connection began without a greeting, and was closed")
            raise anyio.EndOfStream
        return found

    async def say(self, answer: Mapping[str, Any]) -> None:
        """Answer the greeting."""
        await self.write(json.dumps(answer) + "\n")

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._next():
            # bytes that are not UTF-8 must not become a different text
            yield line.decode("utf-8", "surrogateescape")

    async def _next(self) -> bytes:
        """Return the next line; the last is whatever came before the end of the stream, possibly b""."""
        while not self._whole:
            data = b""
            if not self._ended:
                with anyio.CancelScope() as self._reading, suppress(anyio.EndOfStream):
                    data = await self._stream.receive(PIECE)
            if not data:
                return self._buffer.rest()
            self._whole.extend(self._buffer.feed(data))
            if len(self._buffer) > LONGEST:
                log.error("a client was disconnected: its line has more than %d bytes", LONGEST)
                raise anyio.EndOfStream
        return self._whole.popleft()

    def end(self) -> None:
        """Stop reading, as if the client had closed."""
        self._ended = True
        self._reading.cancel()

    async def write(self, text: str) -> None:
        """Send a text."""
        await self._stream.send(text.encode())

    async def flush(self) -> None:
        """Do nothing: everything is sent at once."""
