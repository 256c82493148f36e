"""Bodies that are no messages, and requests that would never be answered: they are refused before the SDK sees them."""

import json

from mcp import types
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, RequestBodyLimitMiddleware
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.server.wire import refusal_of

SESSION = "mcp-session-id"
IN_USE = "Invalid request: another request of this session has this id and is not answered yet. Give each its own."


class Messages:
    """ASGI middleware of a path that takes messages, one in each body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._whole = RequestBodyLimitMiddleware(self._checked, DEFAULT_MAX_REQUEST_BODY_SIZE)
        self._open: set[tuple[str, str]] = set()
        """The session and the id of each request that is not answered yet. The SDK keeps one for an id: of two, the
        other would wait for ever, and count as open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        await (self._whole if scope["method"] == "POST" else self._app)(scope, receive, send)

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()
        whole = first["type"] == "http.request" and not first.get("more_body")  # else the client is gone
        number, refusal = _read(first["body"]) if whole else (None, None)
        session = Headers(scope=scope).get(SESSION)
        asked = {(session, str(number))} if session and number is not None else set()
        if asked & self._open:
            refusal = types.JSONRPCError(
                jsonrpc="2.0", id=number, error=types.ErrorData(code=types.INVALID_REQUEST, message=IN_USE)
            )
        if refusal:
            body = refusal.model_dump_json(by_alias=True, exclude_unset=True)
            await Response(body, 400, media_type="application/json")(scope, receive, send)
            return
        left = [first]

        async def again() -> Message:
            return left.pop() if left else await receive()

        self._open |= asked
        try:
            await self._app(scope, again, send)
        finally:
            self._open -= asked


def _read(body: bytes) -> tuple[types.RequestId | None, types.JSONRPCError | None]:
    """Return the id of a request, None for another message; and the answer to what is no message."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError as error:
        return None, refusal_of(error)
    if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(body):
        return None, refusal_of(None)  # its id cannot be one; the SDK would leave that out, and not answer
    return (message.id if isinstance(message, types.JSONRPCRequest) else None), None
