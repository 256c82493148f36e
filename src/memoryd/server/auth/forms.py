"""Shared parts of the endpoints: size-limited forms and bodies, rates by address, OAuth errors."""

import ipaddress
import json
import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memoryd.server.calls import RETRY
from memoryd.text import unstorable

BODY = 64 * 1024  # bytes
UNSTORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class OAuthProblem(Exception):  # noqa: N818 - an answer rather than an error
    """The request is answered with an OAuth error."""

    def __init__(self, error: str, text: str, status: int = 400, **headers: str) -> None:
        super().__init__(text)
        self.error, self.text = error, text
        body = {"error": error, "error_description": text}
        self.response: Response = JSONResponse(body, status, {**UNSTORED, **headers})


class Rate:
    """A rate limit for each sender, in this process."""

    def __init__(self, rate: str) -> None:
        self._rate = parse(rate)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def hit(self, sender: str) -> int:
        """Count a request; return 0, or the seconds to wait if it is too many."""
        if self._limiter.hit(self._rate, sender):
            return 0
        return max(1, math.ceil(self._limiter.get_window_stats(self._rate, sender).reset_time - time.time()))

    def demand(self, request: Request) -> None:
        """Count a request. Raise OAuthProblem if it is too many."""
        if wait := self.hit(sender_of(request)):
            text = f"Too many requests. Try again in {wait} s."
            raise OAuthProblem("temporarily_unavailable", text, 429, **{"Retry-After": str(wait)})


def sender_of(request: Request) -> str:
    """Return the address that a rate counts by; for IPv6 the network, since a sender has a whole one."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host


class _UnderWay:
    """The bytes of all bodies that are being received, so that many slow senders cannot take all memory."""

    MOST = 256 * 2**20  # 64 of the largest bodies
    size = 0

    def take(self, part: bytes, received: bytearray) -> None:
        """Add a part to what was received. Raise HTTPException if that is too much; up to BODY is always accepted."""
        received += part
        self.size += len(part)
        if self.size > self.MOST and len(received) > BODY:
            text = "Too much is being sent at the moment. Try again later, or send less at once."
            raise HTTPException(503, text, {"Retry-After": str(RETRY)})


_under_way = _UnderWay()


async def body_of(request: Request, most: int = BODY) -> bytes:
    """Return the body of a request.

    Raise HTTPException if it is too long or too much is being received, ClientDisconnect if it is incomplete.
    """
    too_large = HTTPException(413, f"The body is larger than {most} bytes.")
    if int(request.headers.get("content-length") or 0) > most:
        raise too_large
    received = bytearray()
    try:
        async for part in request.stream():
            _under_way.take(part, received)
            if len(received) > most:
                raise too_large
        return bytes(received)
    finally:
        _under_way.size -= len(received)


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raise OAuthProblem for a field with two values (RFC 6749, 3.1)."""
    return once(parse_qsl((await body_of(request)).decode(errors="replace"), keep_blank_values=True))


def once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return parameters by name, without empty ones. Raise OAuthProblem for two values or a NUL."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if unstorable(value):
            raise OAuthProblem("invalid_request", f"The parameter {name[:50]} contains a NUL or is not UTF-8.")
        if value and found.setdefault(name, value) != value:
            raise OAuthProblem("invalid_request", f"The parameter {name[:50]} has two values.")
    return found


async def json_of(request: Request) -> Mapping[str, Any]:
    """Return a body as a JSON object. Raise OAuthProblem."""
    try:
        found = json.loads(await body_of(request))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OAuthProblem("invalid_client_metadata", "The body must be a JSON object.")
    return found


def demand_resource(given: str | None, resource: str) -> None:
    """Raise OAuthProblem for a resource (RFC 8707) other than this server; None means this server."""
    if given is not None and given.rstrip("/") not in (resource, resource.removesuffix("/mcp")):
        raise OAuthProblem("invalid_target", f"This server issues tokens only for {resource}.")
