"""Sessions turn by turn, and the days of a workspace."""

from itertools import pairwise
from urllib.parse import quote

from starlette.responses import Response

from memoryd.core.journal import summarizer
from memoryd.core.journal.journal import Journal
from memoryd.core.memories import listing
from memoryd.core.memories.listing import Facets
from memoryd.features.page import chronicle
from memoryd.features.page.visit import View, Visit
from memoryd.model import Kind

AFTER_ALL = "~"  # sorts after every time
TURNS = 50  # of a page
BESIDE = 200  # maximum memories shown for a session
RANGES = (30, 90, 365)  # days


def sessions(visit: Visit) -> Response:
    """Show the sessions, the latest first; with a query, the turns that match it."""
    query = visit.text("q").strip()
    found = Journal(visit.scope).kept.find(query, TURNS, "") if query else None
    every = visit.kept.get(visit.scope, "sessions", lambda: chronicle.sessions(visit.scope))
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
    if not title and turns.page:
        title = summarizer.title(Journal(visit.scope).kept.of_session(name, 1, 0).page[0].prompt)
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
    days = visit.kept.get(visit.scope, f"days {number}", lambda: chronicle.days(visit.scope, number))
    return visit.page("timeline.html", "timeline", days=days, number=number, ranges=RANGES)


VIEWS = (
    View("/sessions", sessions),
    View("/sessions/{session:path}", session),
    View("/timeline", timeline),
)
