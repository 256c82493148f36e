"""Sessions of clients with a handshake, limited in number for each sender."""

import math

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from memoryd.server.connection import AT_ONCE

RESUMED = b"last-event-id"
MOST = AT_ONCE  # sessions of a token or a person, as many as their open requests; one takes 50 KB


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
