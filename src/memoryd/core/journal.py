"""e: the turns of agents, session by session, and what each session was about."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd import ranking
from memoryd.core import digest, records
from memoryd.core.engine import Engine
from memoryd.core.search import Search
from memoryd.errors import NotFoundError
from memoryd.model import Filter, Interaction, Kind, Record, SessionSummary, Workspace
from memoryd.store.base import Queries, Row

AGENT_INTERACTION = "agent-interaction"
BETWEEN = "\n\n"  # the three texts of a turn, so that no words run together
EVERY = 1 << 40


@dataclass(frozen=True, slots=True)
class Found:
    """A turn that a query found, and how well."""

    interaction: Interaction
    score: float


@dataclass(frozen=True, slots=True)
class FoundSummary:
    """A summary that a query found, and how well."""

    summary: SessionSummary
    score: float


class Journal:
    """The turns and summaries of one workspace."""

    def __init__(self, engine: Engine, workspace: Workspace, session: str) -> None:
        self._engine = engine
        self._workspace = workspace
        self._session = session
        self._search = Search(engine, workspace, ranking.JOURNAL)

    # turns -----------------------------------------------------------------------------------------------------------

    def add(self, prompt: str, thought: str, response: str, session_id: str) -> Interaction:
        """Keep a turn verbatim; durable when this returns."""
        body = BETWEEN.join((prompt, thought, response))
        embedded = self._engine.embedding.passages([body])[0]

        def work(queries: Queries) -> Interaction:
            now = self._engine.clock.now()
            turn = Interaction(
                id=_free(queries, f"mem_{now}"), session_id=session_id, created_at=now,
                prompt=prompt, thought=thought, response=response,
            )  # fmt: skip
            record = Record(id=turn.id, kind=Kind.INTERACTION, type=AGENT_INTERACTION, body=body, session_id=session_id)
            records.add(queries, record, embedded, now)
            thought_at = len(prompt) + len(BETWEEN)
            response_at = thought_at + len(thought) + len(BETWEEN)
            queries.run("journal.add", id=turn.id, thought_at=thought_at, response_at=response_at)
            return turn

        added = self._engine.write(self._workspace, work)
        if embedded is None:
            self._engine.embed_later(self._workspace, [added.id])
        return added

    def of_session(self, session_id: str, limit: int, offset: int) -> tuple[list[Interaction], int]:
        """The turns of a session in the order of time, and how many it has."""

        def work(queries: Queries) -> tuple[list[Interaction], int]:
            rows = queries.all("journal.session", session=session_id, limit=limit, offset=offset)
            total = queries.one("journal.number", session=session_id)
            return [_turn(row) for row in rows], total["number"] if total else 0

        return self._engine.store.read(self._workspace, work)

    def query(self, query: str, number: int, session_id: str = "") -> list[Found]:
        """The turns that bear on a query, of one session or any, best first."""
        among = self._ids("journal.ids", session=session_id) if session_id else None
        hits = self._search.find(query, Filter(kinds=(Kind.INTERACTION,), session=self._session, among=among))
        scores = {hit.record.id: hit.score for hit in hits[:number]}
        rows = self._engine.store.read(self._workspace, lambda q: q.all("journal.cuts", ids=json.dumps(list(scores))))
        turns = {row["id"]: _turn(row) for row in rows}
        return [Found(turns[key], score) for key, score in scores.items() if key in turns]

    # summaries -------------------------------------------------------------------------------------------------------

    def summaries(self, limit: int, offset: int, category: str = "") -> tuple[list[SessionSummary], int]:
        """The summaries of a category or all, the newest first, and how many there are."""

        def work(queries: Queries) -> tuple[list[SessionSummary], int]:
            rows = queries.all("summaries.page", category=category, limit=limit, offset=offset)
            total = queries.one("summaries.number", category=category)
            found = _summaries(queries, [row["id"] for row in rows])
            return list(found.values()), total["number"] if total else 0

        return self._engine.store.read(self._workspace, work)

    def query_summaries(self, query: str, number: int, category: str = "") -> list[FoundSummary]:
        """The summaries that bear on a query, of one category or any, best first."""
        among = self._ids("summaries.ids", category=category) if category else None
        hits = self._search.find(query, Filter(kinds=(Kind.SUMMARY,), session=self._session, among=among))
        scores = {hit.record.id: hit.score for hit in hits[:number]}
        found = self._engine.store.read(self._workspace, lambda q: _summaries(q, list(scores)))
        return [FoundSummary(found[key], score) for key, score in scores.items() if key in found]

    def delete_summaries(self) -> int:
        """Delete all of them; the turns stay. Returns how many there were."""

        def work(queries: Queries) -> int:
            ids = [row["id"] for row in queries.all("summaries.ids", category="")]
            return records.delete(queries, ids, self._engine.clock.now()) if ids else 0

        gone = self._engine.write(self._workspace, work)
        if gone:
            self._engine.purge_if_at_once(self._workspace)
        return gone

    # summarizing -----------------------------------------------------------------------------------------------------

    def pending(self, but: str = "") -> list[str]:
        """The sessions that have no summary, or have grown since, without one that goes on."""
        rows = self._engine.store.read(self._workspace, lambda q: q.all("journal.pending"))
        return [row["session_id"] for row in rows if row["session_id"] != but]

    def summarize(self, session_id: str) -> SessionSummary:
        """Summarize a session by what it says; its summary is replaced. Raises NotFoundError where it has no turns."""
        turns, _ = self.of_session(session_id, EVERY, 0)
        if not turns:
            raise NotFoundError(f"There are no memories of the session {session_id[:200]!r}.")
        told = digest.of(turns)
        said = records.text_of(Kind.SUMMARY, told.title, told.category, told.summary)
        embedded = self._engine.embedding.passages([said])[0]
        made = self._engine.write(self._workspace, lambda q: self._keep(q, session_id, told, len(turns), embedded))
        if embedded is None:
            self._engine.embed_later(self._workspace, [made.id])
        return made

    def _keep(
        self, queries: Queries, session_id: str, told: digest.Digest, count: int, embedded: records.Embedded | None
    ) -> SessionSummary:
        now = self._engine.clock.now()
        details = {
            "memory_count": count, "technologies": json.dumps(told.technologies),
            "quality": None, "productivity": None, "impact": None, "complexity": None,
        }  # fmt: skip
        known = queries.one("summaries.of_session", session=session_id)
        key = known["id"] if known else _free(queries, f"summary_{session_id}")
        if known:
            queries.run("summaries.name", id=key, title=told.title, category=told.category)
            records.change(queries, key, told.summary, (), embedded, now)
            queries.run("summaries.change", id=key, **details)
        else:
            record = Record(
                id=key, kind=Kind.SUMMARY, name=told.title, type=told.category, body=told.summary, session_id=session_id
            )
            records.add(queries, record, embedded, now)
            queries.run("summaries.add", id=key, **details)
        return _summaries(queries, [key])[key]

    def _ids(self, statement: str, **parameters: str) -> tuple[str, ...]:
        rows = self._engine.store.read(self._workspace, lambda q: q.all(statement, **parameters))
        return tuple(row["id"] for row in rows)


def _free(queries: Queries, wanted: str) -> str:
    """An id that nothing has: two turns of two processes may fall into one millisecond."""
    number, found = 1, wanted
    while queries.one("journal.exists", id=found):
        number += 1
        found = f"{wanted}-{number}"
    return found


def _turn(row: Row) -> Interaction:
    body, thought, response = row["body"], row["thought_at"], row["response_at"]
    return Interaction(
        id=row["id"], session_id=row["session_id"] or "", created_at=row["created_at"],
        prompt=body[: thought - len(BETWEEN)], thought=body[thought : response - len(BETWEEN)], response=body[response:],
    )  # fmt: skip


def _summaries(queries: Queries, ids: Sequence[str]) -> dict[str, SessionSummary]:
    rows = {row["id"]: row for row in queries.all("summaries.whole", ids=json.dumps(list(ids)))}
    return {
        key: SessionSummary(**rows[key] | {"technologies": tuple(json.loads(rows[key]["technologies"]))})
        for key in ids if key in rows
    }  # fmt: skip
