"""Answers of the journal tools: turns, summaries and the state of the database, in e's spelling."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, cast

from typing_extensions import TypedDict

from memoryd.core.base.results import Placed, Searched, placed, without_empty
from memoryd.core.journal import metadata
from memoryd.model import Findings, Interaction, SessionSummary
from memoryd.store.journal import Database, JournalCounts, JournalHit, State
from memoryd.text import SEARCHED

T = TypeVar("T")

DatabaseOutcome = Literal["started", "already_running", "stopped", "already_stopped", "embedded", "external"]
MESSAGES: Mapping[DatabaseOutcome, str] = {
    "started": "It was started.",
    "already_running": "It is already running.",
    "stopped": "It was stopped; start_database starts it again.",
    "already_stopped": "It is not running.",
    "embedded": "It is a file in this process: there is nothing to start or stop.",
    "external": "It is not memoryd's own server: memoryd does not start or stop it.",
}


# turns ---------------------------------------------------------------------------------------------------------------


class AddedTurn(TypedDict):
    """A turn that was stored."""

    id: str
    sessionId: str
    timestamp: str
    message: str


class ShownTurn(TypedDict):
    """One turn of an agent."""

    id: str
    sessionId: str
    timestamp: str
    prompt: str
    thought: str
    response: str
    type: Literal["agent-interaction"]


class SessionTurns(TypedDict):
    """A page of the turns of a session, oldest first."""

    sessionId: str
    count: int
    total: int
    memories: list[ShownTurn]


class FoundTurn(ShownTurn, Placed):
    """A found turn; its score is at most 1."""

    score: float


class FoundTurns(Searched):
    """The turns that were found, best first."""

    query: str
    count: int
    results: list[FoundTurn]


def found_turns(query: str, found: Findings[JournalHit[Interaction]]) -> FoundTurns:
    """Return the turns that match a query."""
    return cast(FoundTurns, _found(query, found, shown_turn))


def shown_turn(turn: Interaction) -> ShownTurn:
    """Return a turn as the tools show it."""
    return cast(ShownTurn, {"id": turn.id, **metadata.of_turn(turn)})


def _found(query: str, found: Findings[JournalHit[T]], shown: Callable[[T], Mapping[str, Any]]) -> dict[str, Any]:
    hits = [{**shown(hit.item), "score": round(hit.score, 4), **placed(hit.workspace)} for hit in found.best]
    result = {"degraded": found.degraded, "query": query[:SEARCHED], "count": len(hits), "results": hits}
    return without_empty(result, "degraded")


# summaries -----------------------------------------------------------------------------------------------------------


class ShownSummary(TypedDict):
    """The summary of a session; scores are 0 to 100, or null if they are not known."""

    id: str
    sessionId: str
    timestamp: str
    title: str
    summary: str
    category: str
    memoryCount: int
    quality: int | None
    productivity: int | None
    impact: int | None
    complexity: int | None
    technologies: list[str]


class SummarizedSessions(TypedDict):
    """The number of summarized sessions, and the first SUMMARIES of their summaries."""

    processed: int
    sessions: list[ShownSummary]


class SummaryPage(TypedDict):
    """A page of summaries, the newest first."""

    count: int
    total: int
    summaries: list[ShownSummary]


class FoundSummary(ShownSummary, Placed):
    """A found summary; its score is at most 1."""

    score: float


class FoundSummaries(Searched):
    """The summaries that were found, best first."""

    query: str
    count: int
    results: list[FoundSummary]


class DeletedSummaries(TypedDict):
    """The number of deleted summaries."""

    deleted: int
    message: str


SUMMARIES = 50  # maximum summaries that summarize_sessions shows


def summarized(made: list[SessionSummary]) -> SummarizedSessions:
    """Return the summaries that were made."""
    return {"processed": len(made), "sessions": list(map(shown_summary, made[:SUMMARIES]))}


def found_summaries(query: str, found: Findings[JournalHit[SessionSummary]]) -> FoundSummaries:
    """Return the summaries that match a query."""
    return cast(FoundSummaries, _found(query, found, shown_summary))


def shown_summary(summary: SessionSummary) -> ShownSummary:
    """Return a summary as the tools show it."""
    return cast(ShownSummary, {"id": summary.id, **metadata.of_summary(summary), "summary": summary.summary})


# the database --------------------------------------------------------------------------------------------------------


class JournalDatabase(TypedDict):
    """The database that holds the journal."""

    product: str
    place: str | None
    """Where the database is; None for callers with a token."""
    state: State


class JournalHealth(TypedDict):
    """The answer of a healthy database; otherwise the tool answers with an error."""

    status: Literal["healthy"]
    database: JournalDatabase
    collections: JournalCounts


class ChangedDatabase(TypedDict):
    """The outcome of starting or stopping the database."""

    status: DatabaseOutcome
    database: JournalDatabase
    message: str


class ExportedJournal(TypedDict):
    """The file of an export, and what it contains."""

    file: str
    bytes: int
    memories: int
    summaries: int
    message: str


class ImportedJournal(TypedDict):
    """What the file of an import contained, and how much of it was new."""

    file: str
    mode: Literal["merge", "replace"]
    memories: int
    summaries: int
    newMemories: int
    newSummaries: int
    message: str


def database_of(database: Database, *, discreet: bool) -> JournalDatabase:
    """Return the state of a database; with `discreet`, without its place."""
    place = None if discreet else database.place
    return {"product": database.product, "place": place, "state": database.state()}


def changed(outcome: DatabaseOutcome, database: JournalDatabase) -> ChangedDatabase:
    """Return the outcome of a start or stop; a database that is not memoryd's own server stays as it is."""
    if database["state"] in ("embedded", "external"):
        outcome = database["state"]
    return {"status": outcome, "database": database, "message": MESSAGES[outcome]}
