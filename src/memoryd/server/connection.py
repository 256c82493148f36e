"""The caller of a request and its session. Only this module uses private parts of the SDK's connections."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from mcp import types

from memoryd.connect.conversation import SESSION_META
from memoryd.core.access.tokens import EVERYTHING, Grant
from memoryd.core.records.client_names import client_name, conversation_of
from memoryd.model import Workspace
from memoryd.settings import SESSION_LENGTH
from memoryd.text import unstorable

HELLO, DISCOVER = "initialize", "server/discover"  # the first request in either era of the protocol
_CLIENT_INFO_META = "io.modelcontextprotocol/clientInfo"
ADMISSION = "memoryd.admission"  # in the ASGI scope
_STATE = "memoryd/session"
_CLIENT = "memoryd/client"
_CODEX_META = "x-codex-turn-metadata"
_CHOSEN = "memoryd/chosen"
_ADMITTED = "memoryd/admitted"
AT_ONCE = 250  # maximum unanswered requests: of a token, a quarter of the connections, and of a client over stdio
PAUSE = 0.1  # seconds between notices of progress


@dataclass(frozen=True, slots=True)
class Admission:
    """The rights and the workspace of an HTTP request, determined before the protocol handles it."""

    grant: Grant = EVERYTHING
    workspace: Workspace | None = None
    """The workspace that its header or its token names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request."""

    session_id: str
    """The session as the client names it; '' if an HTTP request names none."""
    grant: Grant = EVERYTHING
    workspace: Workspace | None = None
    """The workspace that an HTTP request is bound to."""
    opened: bool = False
    """Whether that is the workspace that the stream was opened for, which may be archived or deleted by now."""
    remote: bool = False
    """Whether the request came over HTTP."""
    client: str = ""
    """The client's name, without its version."""


class Callers:
    """The callers of requests. A caller's session is the request's, the client's, or this process's default.

    `of_clients`: the sessions that clients have passed to this process, by the client's name; None if the default
    counts instead.
    """

    def __init__(self, default: str, of_clients: Mapping[str, str | None] | None = None) -> None:
        self._default = default
        self._of_clients = of_clients
        self._chosen: str | None = None
        self.opened: dict[str, Admission] = {}
        """The admission of each lasting stream: later requests over SSE need not name the workspace again."""

    async def remember(self, ctx: Any, call_next: Any) -> Any:
        """Keep the client's data, as middleware: the SDK's model of `initialize` drops `clientInfo.extra`.

        Also keep the admission of its last request, for `listener`.
        """
        if ctx.request is not None:
            connection_of(ctx).state[_ADMITTED] = ctx.request.scope.get(ADMISSION, Admission())
        if ctx.method == HELLO:
            info = (ctx.params or {}).get("clientInfo")
            connection_of(ctx).state |= {_STATE: _extra_session(info), _CLIENT: _client(info)}
        return await call_next(ctx)

    def choose(self, ctx: Any, session: str) -> bool:
        """Make a session the default of this connection; return False if the connection ends with the request."""
        if ctx.request is None:
            self._chosen = session
        elif is_lasting(ctx):
            connection_of(ctx).state[_CHOSEN] = session
        return is_lasting(ctx)

    def caller(self, ctx: Any) -> Caller:
        """Return the sender of a request."""
        client = _client(_meta(ctx).get(_CLIENT_INFO_META)) or connection_of(ctx).state.get(_CLIENT, "")
        if ctx.request is None:
            passed = None
            if self._of_clients is not None:
                passed = _codex_session(ctx) or session_name(self._of_clients.get(client))
            return Caller(session_id=self._named(ctx) or passed or self._default, client=client)
        admission: Admission = ctx.request.scope.get(ADMISSION, Admission())
        stream = connection_of(ctx).session_id or ""
        opened = self.opened.get(stream, admission)
        session_id = self._named(ctx) or _codex_session(ctx) or stream or admission.grant.principal
        return Caller(
            session_id=session_id,
            grant=admission.grant,
            workspace=admission.workspace or opened.workspace,
            opened=admission.workspace is None,
            remote=True,
            client=client,
        )

    def listener(self, ctx: Any) -> Caller:
        """Return the sender of a request that lasts, with the rights of the connection's last request.

        Tokens expire after an hour, and clients renew them.
        """
        admitted: Admission | None = connection_of(ctx).state.get(_ADMITTED)
        caller = self.caller(ctx)
        return replace(caller, grant=admitted.grant) if admitted else caller

    def _named(self, ctx: Any) -> str | None:
        meta = _meta(ctx)
        state = connection_of(ctx).state
        return (
            session_name(meta.get(SESSION_META))
            or state.get(_CHOSEN)
            or (self._chosen if ctx.request is None else None)
            or _extra_session(meta.get(_CLIENT_INFO_META))
            or state.get(_STATE)
        )


class Opening:
    """The era of the protocol that a connection uses. While a client only negotiates, its last message decides."""

    def __init__(self) -> None:
        self._modern: bool | None = None
        self._open = True

    def turns(self, message: object) -> bool:
        """Return whether a message, given in order, changes the era.

        Some clients send `server/discover` and then `initialize`, without waiting for the answer of a slow start.
        """
        if not isinstance(message, types.JSONRPCRequest) or not self._open:
            return False
        meta = (message.params or {}).get("_meta")
        modern = message.method != HELLO and isinstance(meta, Mapping) and types.PROTOCOL_VERSION_META_KEY in meta
        turned = self._modern not in (None, modern) and (modern or message.method == HELLO)
        self._modern = modern if self._modern is None or turned else self._modern
        self._open = message.method in (HELLO, DISCOVER)
        return turned


def connection_of(ctx: Any) -> Any:
    """Return the connection of a request, shared by all its requests."""
    return ctx.session._connection  # noqa: SLF001


def is_modern(ctx: Any) -> bool:
    """Return whether a request uses the protocol of 2026-07-28 or later, without handshakes."""
    return bool(connection_of(ctx).protocol_version >= "2026")


def is_lasting(ctx: Any) -> bool:
    """Return whether the connection of a request serves further requests; that of plain HTTP does not."""
    return ctx.request is None or bool(connection_of(ctx).session_id)


def progress_to(ctx: Any) -> Callable[[float, float], None]:
    """Return a function that reports progress to the sender of a request, if it asked for that, from any thread.

    Reports are sent at most every PAUSE, and at the end.
    """
    loop, last = asyncio.get_running_loop(), [-PAUSE]

    def report(done: float, total: float) -> None:
        now = time.monotonic()
        if done < total and now < last[0] + PAUSE:
            return
        last[0] = now
        with suppress(RuntimeError):  # the loop is closed, since the client is gone
            asyncio.run_coroutine_threadsafe(ctx.session.report_progress(done, total), loop)

    return report


def on_close(ctx: Any, work: Callable[[], Awaitable[None]]) -> None:
    """Run `work` when the connection of a request ends."""
    connection_of(ctx).exit_stack.push_async_callback(work)


def _meta(ctx: Any) -> Mapping[str, Any]:
    return (ctx.params or {}).get("_meta") or {}


def _client(client_info: object) -> str:
    name = client_info.get("name") if isinstance(client_info, Mapping) else ""
    return client_name(name) if isinstance(name, str) else ""


def _codex_session(ctx: Any) -> str | None:
    """Return the session of a call by Codex, whose application has one server for several conversations."""
    turn = _meta(ctx).get(_CODEX_META)
    session = session_name(turn.get("session_id")) if isinstance(turn, Mapping) else None
    return session_name(conversation_of("codex", session)) if session else None


def _extra_session(client_info: object) -> str | None:
    extra = client_info.get("extra") if isinstance(client_info, Mapping) else None
    return session_name(extra.get("sessionId")) if isinstance(extra, Mapping) else None


def session_name(value: object) -> str | None:
    """Return the name of a session, or None if the value cannot be one."""
    fits = isinstance(value, str) and 0 < len(value) <= SESSION_LENGTH and not unstorable(value)
    return value if fits and isinstance(value, str) else None
