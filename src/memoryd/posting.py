"""Post a hook's request to a memoryd at a URL, with the standard library alone, because the connector does so too."""

import json
import re
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
HINTS = {
    401: "It takes valid tokens only. `memoryd token create` there makes one; --token-variable names what holds it.",
    404: "Is this the URL of a memoryd of this version? It usually ends with /mcp.",
}
"""For the status of a refusal, what to do about it."""


class NotPostedError(Exception):
    """A server did not take a request; the message says why."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the token is for one server."""


class HookServer:
    """A workspace of a server, and the token for it, from the environment."""

    def __init__(self, url: str, workspace: str, variable: str, environ: Mapping[str, str]) -> None:
        self.url = endpoint(url).rstrip("/")
        self.workspace = workspace
        self._here = is_here(url)
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
            with error:
                why = HINTS.get(error.code) or _why(error)
            raise NotPostedError(f"{self.url} answered {error.code}: {why}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise NotPostedError(f"{self.url} does not answer: {getattr(error, 'reason', error)}.") from None
        if not isinstance(held, dict):
            raise NotPostedError(f"{self.url} is not a memoryd: its answer is no object.")
        return held


def endpoint(url: str) -> str:
    """Return the URL of a server with the path of its endpoint, if it has none. Raise NotPostedError."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not re.search(r"\s", url)
    except ValueError:
        usable = False
    if not usable:
        raise NotPostedError(f"{url!r} is not the URL of a server. It looks like http://127.0.0.1:8765/mcp.")
    if parts.username or parts.password:
        raise NotPostedError("A URL with a password would be kept in the file. Use a token: --token-variable.")
    return parts._replace(path="/mcp").geturl() if parts.path in ("", "/") else url


def is_here(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def _why(error: urllib.error.HTTPError) -> str:
    """Return what a refusal says, or what its status means."""
    try:
        held = json.loads(error.read(MOST))
        return f"{str(held['error']).rstrip('.')}."
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return f"{error.reason}. Is this the URL of a memoryd of this version?"
