"""The journal as records of the store: searched by words and meaning, like memories and the graph."""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import TypeVar

from memoryd.core.journal.metadata import SCORES, numbered
from memoryd.core.records import records
from memoryd.core.records.question import Question
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Found
from memoryd.core.search.pipeline import Search
from memoryd.core.security.secrets import cleaned
from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import AGENT_INTERACTION, Filter, Findings, Interaction, Kind, Record, SessionSummary
from memoryd.store.base import Queries, Row, number_of
from memoryd.store.journal import JournalCounts, JournalHit, Summaries, Turns

T = TypeVar("T")

BETWEEN = "\n\n"  # separates the three texts of a turn
PAGE = 200  # turns that are read at once; each may be long
ERASED = (Kind.INTERACTION, Kind.SUMMARY)


class JournalRows:
    """A JournalStore in the records of a workspace."""

    def __init__(self, scope: Scope) -> None:
        self.secrets = scope.secrets
        self._scope = scope
        self._engine = scope.engine
        self._search = Search(scope, ranking.JOURNAL)

    # turns -----------------------------------------------------------------------------------------------------------

    @cleaned
    def add(self, turn: Interaction) -> Interaction:
        embedded = self._scope.passages([_body(turn)])[0]

        def work(queries: Queries) -> Interaction:
            added = replace(turn, id=_free(queries, turn.id))
            _add_turn(queries, added, embedded, self._engine.clock.now())
            return added

        added = self._scope.write(work)
        self._scope.embed_later([] if embedded else [added.id])
        return added

    @cleaned
    def put(self, turns: Sequence[Interaction]) -> int:
        new = self._scope.write(lambda q: list(self._put_turns(q, turns)))
        self._scope.embed_later(new)
        return len(new)

    def known(self, ids: Sequence[str]) -> set[str]:
        rows = self._scope.read(lambda q: q.all("journal.some", ids=json.dumps(list(ids))))
        return {row["id"] for row in rows}

    def of_session(self, session_id: str, limit: int, offset: int) -> Turns:
        def work(queries: Queries) -> Turns:
            rows = queries.all("journal.session", session=session_id, limit=limit, offset=offset)
            return Turns([_turn(row) for row in rows], number_of(queries, "journal.number", session=session_id))

        return self._scope.read(work)

    def find(self, query: str, number: int, session_id: str) -> Findings[JournalHit[Interaction]]:
        def work(question: Question) -> tuple[Found, dict[str, Row]]:
            among = _ids(question.queries, "journal.ids", session=session_id) if session_id else None
            return self._found(question, Kind.INTERACTION, among, "journal.cuts")

        return self._ranked(query, number, work, lambda record, cuts: _turn(asdict(record) | cuts))

    def every_turn(self) -> Iterator[Interaction]:
        return turns(lambda after: self._page("journal.page", after))

    # summaries -------------------------------------------------------------------------------------------------------

    def unsummarized(self) -> list[str]:
        return list(self._scope.read(lambda q: _ids(q, "journal.unsummarized")))

    @cleaned
    def summarized(self, summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
        texts = [records.text_of(Kind.SUMMARY, one.title, one.category, one.summary) for one in summaries]
        embedded = self._scope.passages(texts)

        def work(queries: Queries) -> list[SessionSummary]:
            now = self._engine.clock.now()
            return [_replace_summary(queries, *one, now) for one in zip(summaries, embedded, strict=True)]

        kept = self._scope.write(work)
        self._scope.embed_later([one.id for one, vectors in zip(kept, embedded, strict=True) if vectors is None])
        return kept

    @cleaned
    def put_summaries(self, summaries: Sequence[SessionSummary]) -> int:
        new = self._scope.write(lambda q: list(self._put_summaries(q, summaries)))
        self._scope.embed_later(new)
        return len(new)

    def summaries(self, limit: int, offset: int, category: str) -> Summaries:
        def work(queries: Queries) -> Summaries:
            rows = queries.all("summaries.newest", category=category, limit=limit, offset=offset)
            return Summaries([_summary(row) for row in rows], number_of(queries, "summaries.number", category=category))

        return self._scope.read(work)

    def find_summaries(self, query: str, number: int, category: str) -> Findings[JournalHit[SessionSummary]]:
        def work(question: Question) -> tuple[Found, dict[str, Row]]:
            among = _ids(question.queries, "summaries.ids", category=category) if category else None
            return self._found(question, Kind.SUMMARY, among, "summaries.some")

        return self._ranked(query, number, work, lambda _, row: _summary(row))

    def delete_summaries(self) -> int:
        def work(queries: Queries) -> int:
            ids = _ids(queries, "summaries.ids", category="")
            return records.delete(queries, ids, self._engine.clock.now()) if ids else 0

        gone = self._scope.write(work)
        if gone:
            self._engine.purge_if_at_once(self._scope.workspace)
        return gone

    def every_summary(self) -> Iterator[SessionSummary]:
        return _paged(lambda after: self._page("summaries.page", after), _summary)

    # both ------------------------------------------------------------------------------------------------------------

    @cleaned
    def replace(self, turns: Iterable[Interaction] | None, summaries: Iterable[SessionSummary] | None) -> None:
        begun = False

        def work(queries: Queries) -> None:
            nonlocal begun
            if begun:  # a store may repeat a transaction, but the iterators are exhausted
                raise StoreBusyError("Another process interfered. Nothing was changed by this call; try again.")
            begun = True
            now = self._engine.clock.now()
            for kind, news in zip(ERASED, (turns, summaries), strict=True):
                if news is not None:
                    queries.run("journal.note_erased", kind=str(kind), now=now)
                    queries.run("journal.erase", kind=str(kind))
            for _ in chain(self._put_turns(queries, turns or ()), self._put_summaries(queries, summaries or ())):
                pass

        self._scope.write(work)
        self._scope.embed_later(None)

    def numbers(self) -> JournalCounts:
        def work(queries: Queries) -> JournalCounts:
            kinds = records.numbers(queries)
            return {"memories": kinds[Kind.INTERACTION], "summaries": kinds[Kind.SUMMARY]}

        return self._scope.read(work)

    def try_out(self) -> None:
        mark = {"now": self._engine.clock.now(), "operation": "try_out", "subject": str(uuid.uuid4())}
        self._scope.write(lambda q: q.run("events.add", **mark))
        found = self._scope.read(lambda q: q.one("events.there", **mark))
        self._scope.write(lambda q: q.run("events.remove", **mark))
        if not found:
            raise StoreError(
                f"{self._engine.store.place} does not return a row that it has just accepted. Run `memoryd doctor`."
            )

    # -----------------------------------------------------------------------------------------------------------------

    def _put_turns(self, queries: Queries, turns: Iterable[Interaction]) -> Iterator[str]:
        """Store new turns and yield their ids; if another turn has its id, a turn gets the next free one."""
        for turn in turns:
            for key in numbered(turn.id):
                known = _holder(queries, key)
                if not known:
                    _add_turn(queries, replace(turn, id=key), None, self._engine.clock.now())
                    yield key
                if not known or (known["body"], known["session_id"]) == (_body(turn), turn.session_id):
                    break

    def _put_summaries(self, queries: Queries, summaries: Iterable[SessionSummary]) -> Iterator[str]:
        """Store new summaries and yield their ids; a session keeps its existing summary."""
        for summary in summaries:
            known = queries.one("summaries.of_session", session=summary.session_id)
            if not known and not _holder(queries, summary.id):
                _add_summary(queries, summary, None, self._engine.clock.now())
                yield summary.id

    def _found(
        self, question: Question, kind: Kind, among: tuple[str, ...] | None, statement: str
    ) -> tuple[Found, dict[str, Row]]:
        """Return the records of one kind that a search found, and the rows of `statement` for their ids."""
        allowed = Filter(kinds=(kind,), session=self._scope.session, among=among)
        found = self._search.find(question, allowed, joined=bool(self._scope.included))
        rows = question.queries.all(statement, ids=json.dumps(found.ids))
        return found, {row["id"]: row for row in rows}

    def _ranked(
        self,
        query: str,
        number: int,
        work: Callable[[Question], tuple[Found, dict[str, Row]]],
        made: Callable[[Record, Row], T],
    ) -> Findings[JournalHit[T]]:
        """Return what `work` finds in each workspace that is read, built by `made` from record and row, best first."""
        parts = [(scope.workspace, *scope.ask(query, work)) for scope in self._scope.each]
        rows = {key: row for *_, of in reversed(parts) for key, row in of.items()}
        ranked = self._search.ranked(
            self._search.union([(place, found) for place, found, _ in parts]), with_related=True
        )
        best = [
            JournalHit(made(hit.record, rows[hit.record.id]), hit.score, hit.workspace) for hit in ranked.best[:number]
        ]
        return Findings(best, " ".join(filter(None, (ranked.degraded, self._scope.degraded))))

    def _page(self, statement: str, after: str) -> list[Row]:
        return self._scope.read(lambda q: q.all(statement, after=after, limit=PAGE))


def turns(page: Callable[[str], list[Row]]) -> Iterator[Interaction]:
    """Yield the turns of all pages; `page` returns the rows that follow an id."""
    return _paged(page, _turn)


def _paged(page: Callable[[str], list[Row]], made: Callable[[Row], T]) -> Iterator[T]:
    after = ""
    while rows := page(after):
        yield from map(made, rows)
        after = rows[-1]["id"]


def _ids(queries: Queries, statement: str, **parameters: str) -> tuple[str, ...]:
    return tuple(row["id"] for row in queries.all(statement, **parameters))


def _body(turn: Interaction) -> str:
    return BETWEEN.join((turn.prompt, turn.thought, turn.response))


def _turn(row: Row) -> Interaction:
    body, thought, response = row["body"], row["thought_at"], row["response_at"]
    return Interaction(
        id=row["id"],
        session_id=row["session_id"] or "",
        created_at=row["created_at"],
        prompt=body[: thought - len(BETWEEN)],
        thought=body[thought : response - len(BETWEEN)],
        response=body[response:],
    )


def _add_turn(queries: Queries, turn: Interaction, embedded: records.Embedded | None, now: str) -> None:
    record = Record(
        id=turn.id,
        kind=Kind.INTERACTION,
        type=AGENT_INTERACTION,
        body=_body(turn),
        session_id=turn.session_id,
        created_at=turn.created_at,
    )
    records.add(queries, record, embedded, now)
    thought_at = len(turn.prompt) + len(BETWEEN)
    response_at = thought_at + len(turn.thought) + len(BETWEEN)
    queries.run("journal.add", id=turn.id, thought_at=thought_at, response_at=response_at)


def _summary(row: Row) -> SessionSummary:
    return SessionSummary(**row | {"technologies": tuple(json.loads(row["technologies"]))})


def _add_summary(queries: Queries, summary: SessionSummary, embedded: records.Embedded | None, now: str) -> None:
    record = Record(
        id=summary.id,
        kind=Kind.SUMMARY,
        name=summary.title,
        type=summary.category,
        body=summary.summary,
        session_id=summary.session_id,
        created_at=summary.created_at,
    )
    records.add(queries, record, embedded, now)
    numbers = {name: getattr(summary, name) for name in ("memory_count", *SCORES)}
    technologies = json.dumps(summary.technologies, ensure_ascii=False)
    queries.run("summaries.add", id=summary.id, **numbers, technologies=technologies)


def _replace_summary(
    queries: Queries, summary: SessionSummary, embedded: records.Embedded | None, now: str
) -> SessionSummary:
    known = queries.one("summaries.of_session", session=summary.session_id)
    if known:
        records.erase(queries, [known["id"]], now)
    kept = replace(summary, id=_free(queries, known["id"] if known else summary.id))
    _add_summary(queries, kept, embedded, now)
    return kept


def _holder(queries: Queries, wanted: str) -> Row | None:
    """Return the record with an id; if it is marked as deleted, erase it and return None."""
    known = queries.one("journal.known", id=wanted)
    if known and known["deleted_at"]:
        queries.run("records.erase", ids=json.dumps([wanted]))
        return None
    return known


def _free(queries: Queries, wanted: str) -> str:
    """Return a free id: two processes may add turns in the same millisecond."""
    return next(key for key in numbered(wanted) if not _holder(queries, key))
