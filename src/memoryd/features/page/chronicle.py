"""The chronicle of a workspace: what happened on each day, and its sessions."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from memoryd.core.journal import summarizer
from memoryd.core.records.client_names import client_name
from memoryd.core.scope import Scope
from memoryd.store.base import of_row

SESSIONS = 1_000  # maximum sessions listed
BEGINNING = 1_000  # characters of a prompt that its title is taken from
VERBS: Mapping[str, str] = {"create": "stored", "update": "changed", "restore": "changed", "delete": "forgotten"}
"""The figure of a day that each verb of an event counts towards."""


@dataclass(frozen=True, slots=True)
class ChronicleDay:
    """The numbers of events on a day (UTC)."""

    day: str
    stored: int
    changed: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class SeenSession:
    """A session of which something is still stored."""

    id: str
    ended: str
    turns: int
    stored: int
    """The number of memories and observations."""
    title: str
    """The title of its summary, else that of its first turn; '' if there is neither."""
    client: str


def days(scope: Scope, number: int) -> list[ChronicleDay]:
    """Return those of the last `number` days on which anything happened, latest first."""
    since = scope.engine.clock.ago(timedelta(days=number))
    figures: defaultdict[str, dict[str, int]] = defaultdict(
        lambda: dict.fromkeys(("stored", "changed", "forgotten"), 0)
    )
    for row in scope.read(lambda q: q.all("chronicle.days", since=since)):
        if word := VERBS.get(row["operation"].partition("_")[0]):
            figures[row["day"]][word] += row["number"]
    return [ChronicleDay(day, **of) for day, of in figures.items()]


def sessions(scope: Scope) -> list[SeenSession]:
    """Return the sessions from which something durable is stored, latest first."""
    found = []
    for row in scope.read(lambda q: q.all("chronicle.sessions", limit=SESSIONS)):
        title = row["title"] or (summarizer.title(row["prompt"][:BEGINNING]) if row["prompt"] else "")
        found.append(of_row(SeenSession, row, title=title, client=client_name(row["client"])))
    return found
