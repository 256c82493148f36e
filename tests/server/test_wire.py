"""A client of stdio's kind that asks faster than it reads."""

import math
from pathlib import Path

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
