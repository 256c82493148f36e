"""Who calls, in which session, and where. What the SDK keeps private of a connection is touched here alone."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp import types

from memoryd.core.access.tokens import EVERYTHING, Grant
from memoryd.model import Workspace
from memoryd.settings import SESSION_LENGTH
from memoryd.text import storable, unstorable

HELLO, DISCOVER = "initialize", "server/discover"  # what opens a connection of either era
SESSION_META = "memoryd/session"
_CLIENT_INFO_META = "io.modelcontextprotocol/clientInfo"
ENTRY = "memoryd.entry"  # in the ASGI scope
_STATE = "memoryd/session"
_CLIENT = "memoryd/client"
CLIENT_LENGTH = 100  # characters of a client's name that are kept
_CHOSEN = "memoryd/chosen"
PAUSE = 0.1  # seconds between notices of progress


@dataclass(frozen=True, slots=True)
class Entry:
    """What HTTP found out about a request before it came to the protocol."""

    grant: Grant = EVERYTHING
    workspace: Workspace | None = None
    """The one that its header or its token names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """In whose name a request comes."""

    session_id: str
    """As the client names it; '' where a request over HTTP has none."""
    grant: Grant = EVERYTHING
    workspace: Workspace | None = None
    """Where HTTP has bound it."""
    remote: bool = False
    """Whether it came over HTTP."""
    client: str = ""
    """The client's name and version, as it says."""


class Sessions:
    """Tells the session of each request: its own handle, the client's, or else the default of this process.

    `of_clients`: the session that a client has given this process, by the client's name.
    """

    def __init__(self, default: str, of_clients: Mapping[str, str | None] | None = None) -> None:
        self._default = default
        self._of_clients = of_clients or {}
        self._chosen: str | None = None
        self.opened: dict[str, Entry] = {}
        """Of each stream that lasts, what opened it: over SSE the later requests need not name the workspace again."""

    async def remember(self, ctx: Any, call_next: Any) -> Any:
        """Middleware. Only the raw parameters of `initialize` hold `clientInfo.extra`: the SDK's model drops it."""
        if ctx.method == HELLO:
            told = (ctx.params or {}).get("clientInfo")
            connection_of(ctx).state |= {_STATE: _extra_session(told), _CLIENT: _client(told)}
        return await call_next(ctx)

    def choose(self, ctx: Any, session: str) -> bool:
        """From now on the requests of this connection belong to that session, unless they name another.

        False where a request is all there is of a connection.
        """
        if ctx.request is None:
            self._chosen = session
        elif not is_modern(ctx):
            connection_of(ctx).state[_CHOSEN] = session
        return ctx.request is None or not is_modern(ctx)

    def caller(self, ctx: Any) -> Caller:
        """Who sent a request."""
        client = _client(_meta(ctx).get(_CLIENT_INFO_META)) or connection_of(ctx).state.get(_CLIENT, "")
        if ctx.request is None:
            own = session_name(self._of_clients.get(client.partition(" ")[0]))
            return Caller(session_id=self._named(ctx) or own or self._default, client=client)
        entry: Entry = ctx.request.scope.get(ENTRY, Entry())
        stream = connection_of(ctx).session_id or ""
        opened = self.opened.get(stream, entry)
        session_id = self._named(ctx) or stream or entry.grant.principal
        bound = entry.workspace or opened.workspace
        return Caller(session_id=session_id, grant=entry.grant, workspace=bound, remote=True, client=client)

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
    """Which era of the protocol a connection speaks. As long as a client only asks for it, its last word counts."""

    def __init__(self) -> None:
        self._modern: bool | None = None
        self._open = True

    def turns(self, message: object) -> bool:
        """Whether a message, heard in their order, leads from one era to the other.

        Some clients ask `server/discover`, and do not wait for a slow start to answer before they `initialize`.
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
    """What all requests of one connection share."""
    return ctx.session._connection  # noqa: SLF001


def is_modern(ctx: Any) -> bool:
    """Whether a request is of the protocol from 2026-07-28 on, without handshakes."""
    return bool(connection_of(ctx).protocol_version >= "2026")


def progress_to(ctx: Any) -> Callable[[float, float], None]:
    """What tells the sender of a request how far it is, from any thread; he hears only of what he asked to hear.

    Not more often than PAUSE, except that it is done: the loop has other callers too.
    """
    loop, told = asyncio.get_running_loop(), [-PAUSE]

    def tell(done: float, total: float) -> None:
        now = time.monotonic()
        if done < total and now < told[0] + PAUSE:
            return
        told[0] = now
        with suppress(RuntimeError):  # the loop is closed: nobody is there to be told
            asyncio.run_coroutine_threadsafe(ctx.session.report_progress(done, total), loop)

    return tell


def on_close(ctx: Any, work: Callable[[], Awaitable[None]]) -> None:
    """Do something when the connection of a request is over."""
    connection_of(ctx).exit_stack.push_async_callback(work)


def _meta(ctx: Any) -> Mapping[str, Any]:
    return (ctx.params or {}).get("_meta") or {}


def _client(client_info: object) -> str:
    """The name and version of a client."""
    said = (client_info.get("name"), client_info.get("version")) if isinstance(client_info, Mapping) else ()
    return client_name(" ".join(part for part in said if isinstance(part, str)))


def client_name(said: str) -> str:
    """As much of what a client says of itself as is kept."""
    return storable(said.strip()[:CLIENT_LENGTH])


def _extra_session(client_info: object) -> str | None:
    extra = client_info.get("extra") if isinstance(client_info, Mapping) else None
    return session_name(extra.get("sessionId")) if isinstance(extra, Mapping) else None


def session_name(value: object) -> str | None:
    """The name of a session; what could not be stored as one counts as none."""
    fits = isinstance(value, str) and 0 < len(value) <= SESSION_LENGTH and not unstorable(value)
    return value if fits and isinstance(value, str) else None
