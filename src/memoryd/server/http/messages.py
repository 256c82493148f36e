"""MCP over HTTP: what is refused before the SDK sees it, and the sessions of clients with a handshake."""

import math

from mcp import types
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.connect.conversation import CALL
from memoryd.server.connection import ADMISSION, AT_ONCE, HELLO, Admission
from memoryd.server.http.bodies import body_of
from memoryd.server.http.gate import AccessGate
from memoryd.server.wire import refusal_of

SESSION = MCP_SESSION_ID_HEADER.encode()
RESUMED = b"last-event-id"
MOST = AT_ONCE  # sessions of a token or a person, as many as their open requests; one takes 50 KB
IN_USE = "Invalid request: another request of this session has this id and is not answered yet. Use a new id."


class Messages:
    """ASGI middleware of a path that takes one message in each body: refuses others, and what is never answered."""

    def __init__(self, app: ASGIApp, gate: AccessGate | None = None) -> None:
        """`gate`: that which may refuse the call of a tool, so that its client can ask for more."""
        self._app = app
        self._gate = gate
        self._open: set[tuple[str, str]] = set()
        """The session and the id of each unanswered request. The SDK keeps one for an id: of two, the other would
        wait for ever, and count as open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        read = [await body_of(request, DEFAULT_MAX_REQUEST_BODY_SIZE)]
        message, refusal = _read(read[0])
        number, method = (message.id, message.method) if message else (None, "")
        if method == HELLO:  # a client that names a session which has ended meanwhile must get a new one
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
        if self._gate and message and method == CALL:
            grant, tool = scope.get(ADMISSION, Admission()).grant, str((message.params or {}).get("name"))
            if insufficient := self._gate.refused(grant, tool):
                await insufficient(scope, receive, send)
                return

        async def again() -> Message:
            return {"type": "http.request", "body": read.pop()} if read else await receive()

        self._open |= asked
        try:
            await self._app(scope, again, send)
        finally:
            self._open -= asked


def _read(body: bytes) -> tuple[types.JSONRPCRequest | None, types.JSONRPCError | None]:
    """Return a request, None for another message; and why it is not a message."""
    try:
        found = from_json(body)
        message = types.jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValueError as error:
        return None, refusal_of(error)
    if isinstance(message, types.JSONRPCNotification) and "id" in found:
        return None, refusal_of(None)  # its id is invalid; the SDK would omit it, and not answer
    return message if isinstance(message, types.JSONRPCRequest) else None, None


class McpSessions(StreamableHTTPSessionManager):
    """The sessions of a server. Many clients abandon theirs; all sessions of a sender count together.

    Beyond the limit, the sender's least recently used session ends, as it would after 30 minutes without use: a client
    that returns gets 404, and begins a new one.
    """

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        owners = self._session_owners
        own = [one.idle_scope for key, one in self._server_instances.items() if owners.get(key) == requestor]
        living = [scope for scope in own if scope and not scope.cancel_called]
        idle = [scope for scope in living if scope.deadline < math.inf]
        if len(living) >= MOST and idle:
            min(idle, key=lambda scope: scope.deadline).cancel()
        return super()._admit_session(requestor)

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give a client that resumes its stream a new stream: no events are kept for replay, and the SDK would fail."""
        headers = [one for one in scope["headers"] if one[0] != RESUMED]
        await super()._handle_request({**scope, "headers": headers}, receive, send)
