"""Post a hook's request to a memoryd at a URL, with the standard library alone, because the connector does so too."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlsplit

from memoryd.loopback import is_loopback

TOKEN_VARIABLE = "MEMORYD_TOKEN"  # noqa: S105 - a variable's name
"""The variable with the token of a server that is not on this machine, unless another variable is named."""
MOST = 1 << 20  # bytes of an answer that are read


class NotPostedError(Exception):
    """A server did not take a request; the message says why."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the token is for one server."""


class HookServer:
    """A workspace of a server, and the token for it, from the environment."""

    def __init__(self, url: str, workspace: str, variable: str, environ: Mapping[str, str]) -> None:
        host = _host(url)
        if not host:
            raise NotPostedError(f"{url!r} is not the URL of a server. It looks like http://127.0.0.1:8765/mcp.")
        self.url = url.rstrip("/")
        self.workspace = workspace
        self._here = is_loopback(host)
        holding = variable or ("" if self._here else TOKEN_VARIABLE)
        self._token = environ.get(holding, "").strip()
        if variable and not self._token:
            raise NotPostedError(f"The variable {variable}, which is to hold the token of {url}, is not set here.")
        if not (self._token.isascii() and self._token.isprintable()):  # an error of http.client would show it
            raise NotPostedError(f"What the variable {holding} holds is no token.")

    def shown(self, event: str, client: str, budget: int, data: bytes, seconds: float) -> str:
        """Return what the hook of an event prints. Raise NotPostedError."""
        given = data.decode("utf-8", "surrogateescape")
        answer = self.post({"event": event, "client": client, "budget": budget, "input": given}, seconds)
        return str(answer.get("print") or "")

    def post(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer to a message. Raise NotPostedError."""
        headers = {"Content-Type": "application/json", "X-Memory-Workspace": quote(self.workspace)}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        direct = [urllib.request.ProxyHandler({})] if self._here else []
        try:
            request = urllib.request.Request(f"{self.url}/hooks", json.dumps(message).encode(), headers)  # noqa: S310
            with urllib.request.build_opener(_NoRedirect, *direct).open(request, timeout=seconds) as answer:
                held = json.loads(answer.read(MOST))
        except urllib.error.HTTPError as error:
            raise NotPostedError(f"{self.url} answered {error.code}: {_why(error)}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise NotPostedError(f"{self.url} does not answer: {getattr(error, 'reason', error)}.") from None
        if not isinstance(held, dict):
            raise NotPostedError(f"{self.url} is not a memoryd: its answer is no object.")
        return held


def _host(url: str) -> str:
    """Return the host of a URL of HTTP; '' if it is another one, or none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.hostname or "" if parts.scheme in ("http", "https") else ""


def _why(error: urllib.error.HTTPError) -> str:
    """Return what a refusal says, or what its status means."""
    try:
        held = json.loads(error.read(MOST))
        return str(held["error"])
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return f"{error.reason}. Is this the URL of a memoryd of this version?"
