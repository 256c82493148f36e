"""Who calls, and in which session. What the SDK keeps private of a connection is touched here alone."""

from collections.abc import Mapping
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

    async def remember(self, ctx: Any, call_next: Any) -> Any:
        """Middleware. Only the raw parameters of `initialize` hold `clientInfo.extra`: the SDK's model drops it."""
        if ctx.method == "initialize":
            ctx.session._connection.state[_STATE] = _extra_session((ctx.params or {}).get("clientInfo"))  # noqa: SLF001
        return await call_next(ctx)

    def of(self, ctx: Any) -> str:
        """The session of one request."""
        meta = (ctx.params or {}).get("_meta") or {}
        return (
            _text(meta.get(SESSION_META))
            or _extra_session(meta.get(_CLIENT_INFO_META))
            or ctx.session._connection.state.get(_STATE)  # noqa: SLF001
            or self._default
        )


def _extra_session(client_info: object) -> str | None:
    extra = client_info.get("extra") if isinstance(client_info, Mapping) else None
    return _text(extra.get("sessionId")) if isinstance(extra, Mapping) else None


def _text(value: object) -> str | None:
    """A session's name; what could not be stored as one counts as none."""
    fits = isinstance(value, str) and 0 < len(value) <= SESSION_LENGTH and not unstorable(value)
    return value if fits and isinstance(value, str) else None
