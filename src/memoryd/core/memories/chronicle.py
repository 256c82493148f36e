"""What happened when: the days of a workspace, and its sessions."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from memoryd.core.scope import Scope

SESSIONS = 1_000  # that are listed
VERBS: Mapping[str, str] = {"create": "stored", "update": "changed", "restore": "changed", "delete": "forgotten"}
"""What a day's figures call the verbs of events."""


@dataclass(frozen=True, slots=True)
class ChronicleDay:
    """How much happened on a day, in UTC."""

    day: str
    stored: int
    changed: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class SeenSession:
    """A session that something is remembered from."""

    id: str
    began: str
    ended: str
    turns: int
    stored: int
    """Memories and observations."""
    title: str | None
    """Of its summary."""
    client: str


def days(scope: Scope, number: int) -> list[ChronicleDay]:
    """Return the days on which anything happened, of the last `number` days, the last first."""
    since = scope.engine.clock.ago(timedelta(days=number))
    figures: defaultdict[str, dict[str, int]] = defaultdict(
        lambda: dict.fromkeys(("stored", "changed", "forgotten"), 0)
    )
    for row in scope.read(lambda q: q.all("chronicle.days", since=since)):
        if word := VERBS.get(row["operation"].partition("_")[0]):
            figures[row["day"]][word] += row["number"]
    return [ChronicleDay(day, **of) for day, of in figures.items()]


def sessions(scope: Scope) -> list[SeenSession]:
    """Return the sessions that something durable is from, the last one first."""
    rows = scope.read(lambda q: q.all("chronicle.sessions", limit=SESSIONS))
    return [SeenSession(**row) for row in rows]
