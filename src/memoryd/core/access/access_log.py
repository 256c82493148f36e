"""The access log: which clients were admitted, who was refused, what was revoked."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from memoryd.core.base.clock import Clock
from memoryd.core.workspaces.registry import from_registry
from memoryd.store.base import Queries, Store

KEPT = timedelta(days=365)
REFUSED = 10_000  # refused logins that are kept: strangers may cause more than 100,000 a day
SHOWN = 200  # characters that are kept of a name or a detail: strangers choose them

AccessAct = Literal[
    "account set",
    "account removed",
    "client registered",
    "login refused",
    "logged in",
    "consent given",
    "consent denied",
    "code refused",
    "code replayed",
    "refresh token reused",
    "login revoked",
    "token created",
    "token revoked",
]


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """One entry of the log."""

    at: str
    act: AccessAct
    subject: str
    """The person or the token concerned; '' if unknown."""
    client: str
    """The name that the client gives itself; '' if there is no client."""
    detail: str


def note(queries: Queries, clock: Clock, act: AccessAct, subject: str = "", client: str = "", detail: str = "") -> None:
    """Add an entry, in the transaction that makes the change."""
    texts = {"subject": subject[:SHOWN], "client": client[:SHOWN], "detail": detail[:SHOWN]}
    queries.run("access_log.add", id=uuid.uuid4().hex, now=clock.now(), act=act, **texts)


def last(store: Store, limit: int) -> list[AccessEntry]:
    """Return the newest entries, the newest first."""
    rows = from_registry(store, lambda q: q.all("access_log.last", limit=limit), ())
    return [AccessEntry(**row) for row in rows]
