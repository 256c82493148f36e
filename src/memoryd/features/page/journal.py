"""Sessions turn by turn, and the days of a workspace."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from urllib.parse import quote

from starlette.responses import Response

from memoryd.core.journal import summarizer
from memoryd.core.journal.journal import Journal
from memoryd.core.memories import listing
from memoryd.core.memories.listing import Facets
from memoryd.core.records.client_names import client_name
from memoryd.core.scope import Scope
from memoryd.features.page.visit import View, Visit
from memoryd.model import Kind
from memoryd.store.base import of_row

AFTER_ALL = "~"  # sorts after every time
TURNS = 50  # of a page
BESIDE = 200  # maximum memories shown for a session
RANGES = (30, 90, 365)  # days


def sessions(visit: Visit) -> Response:
    """Show the sessions, the latest first; with a query, the turns that match it."""
    query = visit.text("q").strip()
    found = Journal(visit.scope).kept.find(query, TURNS, "") if query else None
    every = visit.kept.get(visit.scope, "sessions", lambda: seen_sessions(visit.scope))
    return visit.page("sessions.html", "sessions", sessions=every, q=query, found=found)


def session(visit: Visit) -> Response:
    """Show a session turn by turn, with the memories stored in each."""
    name, offset = visit.request.path_params["session"], visit.offset
    turns = Journal(visit.scope).kept.of_session(name, TURNS, offset)
    kinds = (Kind.MEMORY, Kind.OBSERVATION, Kind.SUMMARY)
    stored = list(listing.page(visit.scope, Facets(kinds=kinds, session=name), limit=BESIDE).records)
    summary = next((one for one in stored if one.record.kind is Kind.SUMMARY), None)
    others = sorted((one for one in stored if one is not summary), key=lambda one: one.record.created_at)
    beginnings = [turn.created_at for turn in turns.page]
    beside = [
        [one for one in others if begins <= one.record.created_at < ends]
        for begins, ends in pairwise([*beginnings, AFTER_ALL])
    ]
    before = [one for one in others if not beginnings or one.record.created_at < beginnings[0]]
    title = summary.record.name if summary else None
    if not title and (turns.page or others):
        first = Journal(visit.scope).kept.of_session(name, 1, 0).page[0].prompt if turns.page else others[0].record.body
        title = summarizer.title(first[:BEGINNING])
    return visit.page(
        "session.html",
        "sessions",
        name=name,
        title=title or name,
        turns=list(zip(turns.page, beside, strict=True)),
        total=turns.total,
        before=before if offset == 0 else [],
        summary=summary,
        more=visit.address(f"/sessions/{quote(name)}", offset=offset + TURNS) if offset + TURNS < turns.total else "",
    )


def timeline(visit: Visit) -> Response:
    """Show what was stored, changed and forgotten on each day."""
    number = int(visit.number("days", RANGES[0]))
    number = number if number in RANGES else RANGES[0]
    found = visit.kept.get(visit.scope, f"days {number}", lambda: days(visit.scope, number))
    return visit.page("timeline.html", "timeline", days=found, number=number, ranges=RANGES)


# what happened on each day, and the sessions -------------------------------------------------------------------------

SESSIONS = 1_000  # maximum sessions listed
BEGINNING = 1_000  # characters of a text that a title is taken from
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
    """The title of its summary, else that of its first turn or memory; '' if there is none of them."""
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


def seen_sessions(scope: Scope) -> list[SeenSession]:
    """Return the sessions from which something durable is stored, latest first."""
    found = []
    for row in scope.read(lambda q: q.all("chronicle.sessions", limit=SESSIONS)):
        title = row["title"] or (summarizer.title(row["beginning"][:BEGINNING]) if row["beginning"] else "")
        found.append(of_row(SeenSession, row, title=title, client=client_name(row["client"])))
    return found


VIEWS = (
    View("/sessions", sessions),
    View("/sessions/{session:path}", session),
    View("/timeline", timeline),
)
