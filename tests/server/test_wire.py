"""A client that sends requests faster than it reads answers."""

import math
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp import types
from mcp.shared.message import SessionMessage

from memoryd.core.engine import Engine
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.server.connection import AT_ONCE
from memoryd.server.wire import converse
from memoryd.settings import Settings
from tests.clients import PATIENCE, environment
from tests.wires import envelope

ASKED = 2 * AT_ONCE


def request(number: int) -> types.JSONRPCRequest:
    params = {"name": "memory_inspect", "arguments": {}, "_meta": envelope()}
    return types.JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call", params=params)


def asked(*lines: types.JSONRPCRequest | types.JSONRPCNotification) -> MemoryObjectReceiveStream[SessionMessage]:
    asks, lines_in = anyio.create_memory_object_stream[SessionMessage](math.inf)
    for line in lines:
        asks.send_nowait(SessionMessage(line))
    asks.close()
    return lines_in


@pytest.fixture
def server(home: Path) -> Iterator[MemoryServer]:
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        yield MemoryServer(Calls(engine))


@pytest.mark.slow
def test_a_client_that_reads_no_answers_is_not_read_further(server: MemoryServer) -> None:
    unread, answered = 0, list[object]()

    async def ask() -> None:
        nonlocal unread
        lines_in = asked(*map(request, range(ASKED)))
        lines_out, answers = anyio.create_memory_object_stream[SessionMessage](0)
        async with lines_in, answers, anyio.create_task_group() as tasks:
            tasks.start_soon(converse, server, lines_in, lines_out, lambda: None)
            await anyio.wait_all_tasks_blocked()
            unread = lines_in.statistics().current_buffer_used
            answered.extend([getattr(answer.message, "id", None) async for answer in answers])

    anyio.run(ask)
    assert ASKED - AT_ONCE - 2 <= unread < ASKED
    assert sorted(answered, key=str) == sorted(range(ASKED), key=str), "all are answered once the client reads"


@pytest.mark.slow
def test_requests_cancelled_by_their_ids_as_text_no_longer_count(server: MemoryServer) -> None:
    answered: list[object] = []

    def cancelled(number: int) -> types.JSONRPCNotification:
        params = {"requestId": str(number)}
        return types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)

    async def ask() -> None:
        lines_in = asked(*(each(number) for number in range(ASKED) for each in (request, cancelled)), request(ASKED))
        lines_out, answers = anyio.create_memory_object_stream[SessionMessage](math.inf)
        async with lines_in, answers:
            with anyio.move_on_after(PATIENCE):
                await converse(server, lines_in, lines_out, lambda: None)
            answered.extend([getattr(answer.message, "id", None) async for answer in answers])

    anyio.run(ask)
    assert len(answered) < ASKED
    assert answered[-1] == ASKED
