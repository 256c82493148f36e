"""Refuse bodies that are not messages, and requests that would never be answered, before the SDK sees them."""

from mcp import types
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.server.connection import HELLO
from memoryd.server.http.bodies import body_of
from memoryd.server.wire import refusal_of

SESSION = MCP_SESSION_ID_HEADER.encode()
IN_USE = "Invalid request: another request of this session has this id and is not answered yet. Use a new id."


class Messages:
    """ASGI middleware of a path that takes one message in each body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[tuple[str, str]] = set()
        """The session and the id of each unanswered request. The SDK keeps one for an id: of two, the other would
        wait for ever, and count as open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        read = [await body_of(request, DEFAULT_MAX_REQUEST_BODY_SIZE)]
        number, opens, refusal = _read(read[0])
        if opens:  # a client that names a session which has ended meanwhile must get a new one
            scope = {**scope, "headers": [one for one in scope["headers"] if one[0] != SESSION]}
            request = Request(scope, receive)
        session = request.headers.get(MCP_SESSION_ID_HEADER)
        asked = {(session, str(number))} if session and number is not None else set()
        if asked & self._open:
            refusal = types.JSONRPCError(
                jsonrpc="2.0", id=number, error=types.ErrorData(code=types.INVALID_REQUEST, message=IN_USE)
            )
        if refusal:
            text = refusal.model_dump_json(by_alias=True, exclude_unset=True)
            await Response(text, 400, media_type="application/json")(scope, receive, send)
            return

        async def again() -> Message:
            return {"type": "http.request", "body": read.pop()} if read else await receive()

        self._open |= asked
        try:
            await self._app(scope, again, send)
        finally:
            self._open -= asked


def _read(body: bytes) -> tuple[types.RequestId | None, bool, types.JSONRPCError | None]:
    """Return the id of a request, None for another message; whether it opens a session; and why it is not a message."""
    try:
        found = from_json(body)
        message = types.jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValueError as error:
        return None, False, refusal_of(error)
    if isinstance(message, types.JSONRPCNotification) and "id" in found:
        return None, False, refusal_of(None)  # its id is invalid; the SDK would omit it, and not answer
    if isinstance(message, types.JSONRPCRequest):
        return message.id, message.method == HELLO, None
    return None, False, None
