"""Serve over stdin and stdout: only protocol messages on stdout, a prompt end at EOF and on SIGTERM."""

import asyncio
import logging
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from memoryd.core.engine import Engine
from memoryd.core.maintenance import scheduler
from memoryd.daemon import started
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.server.process import end_soon
from memoryd.server.wire import LAST_CALLS, converse

log = logging.getLogger(__name__)


def serve(engine: Engine) -> None:
    """Serve one client until its end of stdin, SIGTERM or SIGINT; then close the engine."""
    with engine:
        server = MemoryServer(Calls(engine))
        scheduler.begin(engine)
        try:
            anyio.run(_serve, server, engine)
        except* (BrokenPipeError, anyio.BrokenResourceError):
            log.info("the client has closed the connection; the last answers were not read")


async def _serve(server: MemoryServer, engine: Engine) -> None:
    started(partial(_end_with_client, engine), "memoryd-client")
    # the SDK's stdin would replace bytes that are not UTF-8, so that a different text would be stored
    stdin = anyio.wrap_file(os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False))
    async with stdio_server(stdin) as (lines_in, lines_out), anyio.create_task_group() as tasks:
        tasks.start_soon(_end_on_signal, engine)
        await converse(server, lines_in, lines_out, partial(end_soon, engine, last_calls=LAST_CALLS))
        tasks.cancel_scope.cancel()


def _end_with_client(engine: Engine) -> None:
    """End as soon as the client has closed stdin, instead of when a busy process has read all input."""
    if not hasattr(select, "poll"):  # Windows: the end begins once all input is read
        return
    closed = select.POLLHUP | getattr(select, "POLLRDHUP", 0)
    watched = select.poll()
    watched.register(0, getattr(select, "POLLRDHUP", 0))
    if any(event & closed for _, event in watched.poll()):  # otherwise this kind of file cannot be polled
        end_soon(engine, last_calls=LAST_CALLS)


async def _end_on_signal(engine: Engine) -> None:
    """End the process after a signal, once writes are durable: the SDK's reader blocks in a thread, unwakeably."""
    with _signals(signal.SIGTERM, signal.SIGINT) as came:
        number = await came
        end_soon(engine, 0 if number == signal.SIGTERM else 130, last_calls=0)
        await anyio.sleep_forever()


@contextmanager
def _signals(*numbers: signal.Signals) -> Iterator[asyncio.Future[int]]:
    """Yield a future for the first of these signals."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[int] = loop.create_future()

    def first(number: int) -> None:
        if not came.done():
            came.set_result(number)

    def handle(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(first, number)

    before: dict[signal.Signals, Any] = {}
    try:
        for number in numbers:  # a plain Python handler would run only once the loop has something else to do
            loop.add_signal_handler(number, first, number)
    except RuntimeError:  # on Windows handlers cannot be added, and any signal wakes the loop
        before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)  # None: it was not set from Python
