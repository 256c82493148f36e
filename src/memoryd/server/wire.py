"""A client that speaks the stdio transport, over any stream of lines: both eras, bad lines, a prompt end."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp import types
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from memoryd.connect.channel import object_in
from memoryd.server.app import MemoryServer
from memoryd.server.connection import AT_ONCE, Opening

LAST_CALLS = 1.8  # seconds that running calls may still take: a client waits three for the process to end

ENDLESS = "subscriptions/listen"
CANCELLED = "notifications/cancelled"  # the request that it names is never answered


async def converse(server: MemoryServer, lines_in: Any, lines_out: Any, closed: Callable[[], None]) -> None:
    """Serve one client of the SDK's transport until its last answer; call `closed` when the client closes its side."""
    wire = _Wire(lines_in, lines_out, closed)
    async with wire.eras, wire.answers, anyio.create_task_group() as tasks:
        tasks.start_soon(wire.read)
        tasks.start_soon(wire.write)
        async for requests in wire.eras:
            await server.run(requests, wire.answers.clone(), server.create_initialization_options())
        tasks.cancel_scope.cancel()


class _Wire:
    """The link between the SDK's transport and server: answers lines that are not messages, lets last calls finish.

    While a client does not read its answers, its requests are not read, so that they do not take up all memory.
    """

    def __init__(self, lines_in: Any, lines_out: Any, closed: Callable[[], None]) -> None:
        self._in, self._out, self._closed = lines_in, lines_out, closed
        self._requests: ObjectSendStream[SessionMessage | Exception]
        self.eras: ObjectReceiveStream[ObjectReceiveStream[SessionMessage | Exception]]
        """A stream of requests for each era of the protocol, because the SDK fixes the era when a stream begins."""
        self._eras, self.eras = anyio.create_memory_object_stream[ObjectReceiveStream[SessionMessage | Exception]](1)
        self.answers, self._answers = anyio.create_memory_object_stream[SessionMessage](0)
        self._opening = Opening()
        self._running: set[types.RequestId] = set()
        self._answered = anyio.Event()

    async def read(self) -> None:
        """Forward requests until EOF; then wait for the last answers and close."""
        await self._begin()
        async with self._eras:
            async for line in self._in:
                if isinstance(line, Exception):
                    inputs = [problem["input"] for problem in _problems(line)]
                    if not any(isinstance(text, str) and not text.strip() for text in inputs):  # blank is no error
                        await self._out.send(SessionMessage(refusal_of(line)))
                    continue
                if self._opening.turns(line.message):
                    await self._finish()
                    await self._begin()
                if isinstance(line.message, types.JSONRPCRequest) and line.message.method != ENDLESS:
                    await self._fewer_than(AT_ONCE)
                    self._running.add(coerce_request_id(line.message.id))
                await self._requests.send(line)
                if isinstance(line.message, types.JSONRPCNotification) and line.message.method == CANCELLED:
                    self._done(cancelled_request_id_from_params(line.message.params))
            self._closed()
            await self._finish()

    async def _begin(self) -> None:
        self._requests, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        await self._eras.send(requests)

    async def _finish(self) -> None:
        """Wait for the answers of running calls, and close."""
        with anyio.move_on_after(LAST_CALLS):
            await self._fewer_than(1)
        await self._requests.aclose()

    async def _fewer_than(self, number: int) -> None:
        """Wait until fewer requests than this are unanswered."""
        while len(self._running) >= number:
            self._answered = anyio.Event()
            await self._answered.wait()

    async def write(self) -> None:
        """Forward answers."""
        async with self._answers, self._out:
            async for answer in self._answers:
                await self._out.send(answer)
                if isinstance(answer.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._done(answer.message.id)

    def _done(self, number: types.RequestId | None) -> None:
        if number is not None:
            self._running.discard(coerce_request_id(number))  # a client may cancel 7 as "7"
            self._answered.set()


def refusal_of(error: Exception | None) -> types.JSONRPCError:
    """Return the answer to a line that is not a message; the SDK gives none, or pydantic's text."""
    problems = _problems(error)
    broken = any(problem["type"] in _BROKEN for problem in problems) or (isinstance(error, ValueError) and not problems)
    lacking = [one for one in problems if broken or (one["type"] == "missing" and len(one["loc"]) == 2)]
    whole = lacking[0]["input"] if lacking else None  # else a field below the top level is missing
    code = types.PARSE_ERROR if broken else types.INVALID_REQUEST
    text = "Parse error: this is not valid JSON in UTF-8." if broken else "Invalid request: not a JSON-RPC message."
    return types.JSONRPCError(jsonrpc="2.0", id=_id_of(whole), error=types.ErrorData(code=code, message=text))


def _problems(error: Exception | None) -> Sequence[Mapping[str, Any]]:
    return error.errors() if isinstance(error, ValidationError) else ()


_BROKEN = {"json_invalid", "string_unicode"}


def _id_of(line: object) -> types.RequestId | None:
    message = object_in(line) if isinstance(line, str) else line
    found = message.get("id") if isinstance(message, dict) else None
    if isinstance(found, str):
        sendable = found == found.encode("utf-8", "replace").decode()  # a lone surrogate is not sendable
        return found if sendable else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
