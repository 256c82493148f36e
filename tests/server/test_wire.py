"""A client of stdio's kind that asks faster than it reads."""

import math
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

from memoryd.core.engine import Engine
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.server.wire import AT_ONCE, converse
from memoryd.settings import Settings
from tests.clients import environment
from tests.wires import envelope

ASKED = 4 * AT_ONCE


def request(number: int) -> SessionMessage:
    asked = types.JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/list", params={"_meta": envelope()})
    return SessionMessage(asked)


def test_who_reads_no_answers_is_read_no_further(home: Path) -> None:
    unread, answered = 0, list[object]()

    async def ask() -> None:
        nonlocal unread
        asks, lines_in = anyio.create_memory_object_stream[SessionMessage](math.inf)
        lines_out, answers = anyio.create_memory_object_stream[SessionMessage](0)
        for number in range(ASKED):
            asks.send_nowait(request(number))
        asks.close()
        async with lines_in, answers, anyio.create_task_group() as tasks:
            tasks.start_soon(converse, server, lines_in, lines_out, lambda: None)
            await anyio.wait_all_tasks_blocked()
            unread = lines_in.statistics().current_buffer_used
            answered.extend([getattr(answer.message, "id", None) async for answer in answers])

    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        server = MemoryServer(Calls(engine))
        anyio.run(ask)
    assert ASKED - AT_ONCE - 2 <= unread < ASKED
    assert sorted(answered, key=str) == sorted(range(ASKED), key=str), "all are answered once the client reads"


def test_a_request_that_is_cancelled_by_its_number_as_text_counts_no_more() -> None:
    read: list[object] = []

    class Silent:
        """A server that answers nothing."""

        def create_initialization_options(self) -> None:
            return

        async def run(self, requests: Any, answers: Any, _options: None) -> None:
            async with requests, answers:
                read.extend([getattr(line.message, "id", None) async for line in requests])

    async def ask() -> None:
        asks, lines_in = anyio.create_memory_object_stream[SessionMessage](math.inf)
        lines_out, answers = anyio.create_memory_object_stream[SessionMessage](0)
        for number in range(2 * AT_ONCE):
            asks.send_nowait(request(number))
            params = {"requestId": str(number)}
            cancelled = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)
            asks.send_nowait(SessionMessage(cancelled))
        asks.close()
        async with lines_in, lines_out, answers:
            with anyio.move_on_after(5):
                await converse(cast("MemoryServer", Silent()), lines_in, lines_out, lambda: None)

    anyio.run(ask)
    assert [number for number in read if number is not None] == list(range(2 * AT_ONCE))
