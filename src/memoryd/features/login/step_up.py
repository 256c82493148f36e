"""Step-up: a login that does not cover a tool is refused so that its client can ask the person for more."""

import json

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core.access.tokens import LEVELS
from memoryd.server.calls import Calls
from memoryd.server.connection import ADMISSION, Admission
from memoryd.server.http.challenge import insufficient

LARGEST = 256 * 1024  # bytes of a request that is inspected; a larger one gets the protocol's answer


class StepUp:
    """ASGI middleware of /mcp: answers a call that needs a higher level with 403 and all scopes for it."""

    def __init__(self, app: ASGIApp, calls: Calls, issuer: str) -> None:
        self._app = app
        self._calls = calls
        self._issuer = issuer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        grant = scope.get(ADMISSION, Admission()).grant
        if scope["method"] != "POST" or not grant.is_persons or grant.level == LEVELS[-1]:
            await self._app(scope, receive, send)
            return
        read, size = list[Message](), 0
        while not read or (read[-1].get("more_body") and size <= LARGEST):
            read.append(await receive())
            size += len(read[-1].get("body", b""))
        tool = self._calls.tools.get(_called(b"".join(message.get("body", b"") for message in read)))
        if tool and not grant.allows(tool.name, tool.capability):
            await insufficient(self._issuer, tool.name, tool.capability)(scope, receive, send)
            return
        left = iter(read)

        async def again() -> Message:
            return next(left, None) or await receive()

        await self._app(scope, again, send)


def _called(body: bytes) -> str:
    """Return the tool that a message calls, '' if none."""
    if b"tools/call" not in body:
        return ""
    try:
        message = json.loads(body)
        name = message["params"]["name"] if message["method"] == "tools/call" else ""
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""
    return name if isinstance(name, str) else ""
