"""Who calls, and in which session. What the SDK keeps private of a connection is touched here alone."""

from collections.abc import Callable, Mapping
from typing import Any

from memoryd.settings import SESSION_LENGTH
from memoryd.text import unstorable

SESSION_META = "memoryd/session"
_CLIENT_INFO_META = "io.modelcontextprotocol/clientInfo"
_STATE = "memoryd/session"


class Sessions:
    """Tells the session of each request: its own handle, the client's, or else the default of this process."""

    def __init__(self, default: str) -> None:
        self._default = default
        self.chosen: str | None = None
        """The session that set_session_id named last."""

    async def remember(self, ctx: Any, call_next: Any) -> Any:
        """Middleware. Only the raw parameters of `initialize` hold `clientInfo.extra`: the SDK's model drops it."""
        if ctx.method == "initialize":
            connection_of(ctx).state[_STATE] = _extra_session((ctx.params or {}).get("clientInfo"))
        return await call_next(ctx)

    def choose(self, session: str) -> None:
        """From now on the requests of this process belong to that session, unless they name another."""
        self.chosen = session

    def of(self, ctx: Any) -> str:
        """The session of one request."""
        meta = (ctx.params or {}).get("_meta") or {}
        return (
            _text(meta.get(SESSION_META))
            or self.chosen
            or _extra_session(meta.get(_CLIENT_INFO_META))
            or connection_of(ctx).state.get(_STATE)
            or self._default
        )


def connection_of(ctx: Any) -> Any:
    """What all requests of one connection share."""
    return ctx.session._connection  # noqa: SLF001


def is_modern(ctx: Any) -> bool:
    """Whether a request is of the protocol from 2026-07-28 on, without handshakes."""
    return bool(connection_of(ctx).protocol_version >= "2026")


def on_close(ctx: Any, work: Callable[[], object]) -> None:
    """Do something when the connection of a request is over."""
    connection_of(ctx).exit_stack.callback(work)


def _extra_session(client_info: object) -> str | None:
    extra = client_info.get("extra") if isinstance(client_info, Mapping) else None
    return _text(extra.get("sessionId")) if isinstance(extra, Mapping) else None


def _text(value: object) -> str | None:
    """A session's name; what could not be stored as one counts as none."""
    fits = isinstance(value, str) and 0 < len(value) <= SESSION_LENGTH and not unstorable(value)
    return value if fits and isinstance(value, str) else None
