"""Shared parts of the endpoints: forms, rates by address, OAuth errors."""

import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import anyio
from limits import parse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memoryd.connect.channel import object_in
from memoryd.server.http.bodies import Rate, body_of, sender_of
from memoryd.text import unstorable

UNSTORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class OAuthProblem(Exception):  # noqa: N818 - an answer rather than an error
    """The request is answered with an OAuth error."""

    def __init__(self, error: str, text: str, status: int = 400, **headers: str) -> None:
        super().__init__(text)
        self.error, self.text = error, text
        body = {"error": error, "error_description": text}
        self.response: Response = JSONResponse(body, status, {**UNSTORED, **headers})


def count(rate: Rate, request: Request) -> None:
    """Count a request. Raise OAuthProblem if it is too many."""
    if wait := rate.hit(sender_of(request)):
        text = f"Too many requests. Try again in {wait} s."
        raise OAuthProblem("temporarily_unavailable", text, 429, **{"Retry-After": str(wait)})


class Pace:
    """A rate for all senders together, in this process: what is beyond it waits for its turn, up to PATIENCE.

    Refusing it instead would let a stranger who sends enough keep everybody out.
    """

    PATIENCE = 20.0  # seconds

    def __init__(self, rate: str) -> None:
        item = parse(rate)
        self._step = item.get_expiry() / item.amount
        self._burst = item.amount * self._step
        self._turn = -math.inf
        """When the last one had its turn, or will have it, as if all came one after the other."""

    async def wait(self) -> int:
        """Wait for a turn and return 0; at once return the seconds until there may be one, if too many are waiting."""
        now = time.monotonic()
        turn = max(self._turn, now - self._burst) + self._step
        if turn > now + self.PATIENCE:
            return math.ceil(turn - now - self.PATIENCE)
        self._turn = turn
        await anyio.sleep(max(0.0, turn - now))
        return 0


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
    if (found := object_in(await body_of(request))) is None:
        raise OAuthProblem("invalid_client_metadata", "The body must be a JSON object.")
    return found


def demand_resource(given: str | None, resource: str) -> None:
    """Raise OAuthProblem for a resource (RFC 8707) other than this server; None means this server."""
    if given is not None and given.rstrip("/") not in (resource, resource.removesuffix("/mcp")):
        raise OAuthProblem("invalid_target", f"This server issues tokens only for {resource}.")
