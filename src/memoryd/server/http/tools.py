"""Tools over plain HTTP, for programs that do not speak MCP: `POST /tools/{name}`, described by OpenAPI."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memoryd.core.records.client_names import client_name
from memoryd.core.security.prompt_injection import suspicious
from memoryd.errors import (
    BusyError,
    InvalidInputError,
    MemorydError,
    NotFoundError,
    OverloadedError,
    StoreError,
    TimedOutError,
    UncertainError,
)
from memoryd.server.calls import RETRY, Calls
from memoryd.server.connection import ADMISSION, Admission, Caller, session_name
from memoryd.server.http.bodies import body_of
from memoryd.server.http.entry import header_of
from memoryd.server.http.gate import AccessGate
from memoryd.server.http.openapi import SESSION, document
from memoryd.settings import SESSION_LENGTH

MASKED, LIKE = "X-Memory-Masked", "X-Memory-Reads-Like"
"""Headers with the kinds of masked secrets, and with what a text that reads like instructions resembles."""
LARGEST = DEFAULT_MAX_REQUEST_BODY_SIZE  # maximum bytes of a body, as over MCP
STATUS: tuple[tuple[type[MemorydError], int], ...] = (
    (InvalidInputError, 400),
    (NotFoundError, 404),
    (BusyError, 503),
    (TimedOutError, 504),
    (UncertainError, 500),
    (StoreError, 503),
    (MemorydError, 500),
)
"""The status of an error: the first class that matches."""


class Plain:
    """The handlers of tools over plain HTTP."""

    def __init__(self, calls: Calls, gate: AccessGate) -> None:
        self._calls, self._gate = calls, gate

    async def call(self, request: Request) -> Response:
        """Handle POST /tools/{name}: arguments as a JSON object; the result, or `{"error"}` with a status."""
        admission: Admission = request.scope.get(ADMISSION, Admission())
        name = request.path_params["name"]
        tool = self._calls.tools.get(name)
        if tool is None:
            offered = ", ".join(self._calls.offered(admission.grant))
            return _error(404, f"Unknown tool: {name[:100]}. There are: {offered}.")
        if self._calls.tool(name, admission.grant) is None:
            refused = self._gate.refused(admission.grant, name)
            return refused or _error(403, f"This token does not allow {name}.")
        session = header_of(request, SESSION)
        try:
            if session and session_name(session) is None:
                raise InvalidInputError(
                    f"{SESSION} has at most {SESSION_LENGTH} characters; this one has {len(session):,}."
                )
            arguments = await object_of(request)
            caller = Caller(
                session_id=session or admission.grant.principal,
                grant=admission.grant,
                workspace=admission.workspace,
                remote=True,
                client=client_name(request.headers.get("user-agent", "")),
            )
            answer, _ = await self._calls.run(caller, tool, arguments)
        except MemorydError as error:
            return failed(error, tool.error_text(error))
        like = suspicious(answer.shown) if tool.capability == "read" else ""
        headers = {MASKED: ", ".join(answer.masked), LIKE: like}
        return JSONResponse(answer.shown, headers={name: value for name, value in headers.items() if value})

    async def openapi(self, _request: Request) -> Response:
        """Handle GET /openapi.json."""
        return Response(self._document, media_type="application/json")

    @cached_property
    def _document(self) -> bytes:
        return json.dumps(document(self._calls.tools), ensure_ascii=False).encode()


def failed(error: MemorydError, text: str) -> Response:
    """Return the answer to a request that failed with an error, of which the sender gets a text."""
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    return _error(status, text, error.seconds if isinstance(error, OverloadedError) else RETRY)


async def object_of(request: Request, most: int = LARGEST) -> Mapping[str, Any]:
    """Return the JSON object in the body of a request. Raise InvalidInputError, or what `body_of` raises."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InvalidInputError("Send the arguments as application/json.")
    body = await body_of(request, most)
    try:
        arguments = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"The body is not JSON: {error}.") from None
    if not isinstance(arguments, dict):
        raise InvalidInputError("The body must be a JSON object with the tool's arguments.")
    return arguments


def _error(status: int, text: str, retry: int = RETRY) -> Response:
    return JSONResponse({"error": text}, status, {"Retry-After": str(retry)} if status == 503 else None)
