"""The journal in ChromaDB: searched by meaning, in the collections and the metadata of seed e."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from memoryd.core.base.batches import batches
from memoryd.core.journal import metadata as journal_metadata
from memoryd.core.journal.metadata import CollectionName
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import cleaned
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.chroma.across import EMBEDDER, WAIT, Across, JournalVectors
from memoryd.features.chroma.client import OTHER_MODEL, Chroma
from memoryd.features.chroma.database import DEFAULT, ChromaDatabase, ChromaRow, Collection, GoneError
from memoryd.model import Findings, Interaction, SessionSummary, Workspace
from memoryd.store.journal import COLLECTIONS, JournalCounts, JournalHit, Summaries, Turns
from memoryd.text import shortened

T = TypeVar("T")
N = TypeVar("N", Interaction, SessionSummary)
BATCH = 100  # turns or summaries that are embedded and written together
CANARY = "memoryd-healthcheck"


class JournalChroma:
    """A JournalStore in ChromaDB: one database for each workspace; `default` uses ChromaDB's default database."""

    def __init__(self, chroma: Chroma, scope: Scope, vectors: JournalVectors) -> None:
        self.secrets = scope.secrets
        self._scope = scope
        self._chroma = chroma
        self._database = self._of(scope.workspace)
        self._vectors = vectors
        self._across = Across(self._database, vectors)

    def _of(self, workspace: Workspace) -> ChromaDatabase:
        return self._chroma.database(DEFAULT if workspace.name == "default" else workspace.id)

    # turns -----------------------------------------------------------------------------------------------------------

    @cleaned
    def add(self, turn: Interaction) -> Interaction:
        """Store a turn, under another id if its own is taken; return it as stored."""
        vector = self._passages("memories", [journal_metadata.document(turn)])[0]
        mark = f"memoryd:{uuid.uuid4()}"

        def work(collection: Collection) -> Interaction:
            names = _named(turn)
            while True:  # another process may take the id between the check and the write
                kept = next(name for name in names if not any(self._turns(collection, [name.id])))
                self._database.add(collection, [_turn_row(kept, vector, mark)])
                written = next(self._database.rows(collection, [kept.id]), None)
                if written is None:
                    raise GoneError(f"ChromaDB does not return {kept.id}, which it has just accepted. Check its log.")
                if written.uri == mark:
                    return kept

        return self._change("memories", work)

    @cleaned
    def put(self, turns: Sequence[Interaction]) -> int:
        """Store the turns that are not stored yet; return their number."""
        return self._change("memories", lambda collection: self._filled(collection, self._put(collection, turns)))

    def known(self, ids: Sequence[str]) -> set[str]:
        """Return the ids under which a turn is stored."""
        return self._look("memories", lambda collection: {turn.id for turn in self._turns(collection, ids)}, set())

    def of_session(self, session_id: str, limit: int, offset: int) -> Turns:
        """Return a page of the turns of a session, oldest first."""

        def work(collection: Collection) -> Turns:
            ids = self._database.ids(collection, {"sessionId": session_id})
            order = [key for _, key in sorted((turn.created_at, turn.id) for turn in self._turns(collection, ids))]
            return Turns(list(self._turns(collection, order[offset : offset + limit])), len(order))

        return self._look("memories", work, Turns([], 0))

    def find(self, query: str, number: int, session_id: str) -> Findings[JournalHit[Interaction]]:
        """Return the turns that match a query, best first."""
        where = {"sessionId": session_id} if session_id else None
        return self._nearest("memories", query, number, where, _turn)

    def every_turn(self) -> Iterator[Interaction]:
        """Yield all turns, ordered by id."""
        if collection := self._database.collection(COLLECTIONS["memories"]):
            yield from self._turns(collection, sorted(self._database.ids(collection)))

    # summaries -------------------------------------------------------------------------------------------------------

    def unsummarized(self) -> list[str]:
        """Return the sessions without a summary, or with more turns than their summary covers, oldest first."""
        numbers: Counter[str] = Counter()
        begun: dict[str, str] = {}
        for turn in self.every_turn():
            numbers[turn.session_id] += 1
            begun[turn.session_id] = min(begun.get(turn.session_id, turn.created_at), turn.created_at)
        counted: Counter[str] = Counter()
        for summary in self.every_summary():
            counted[summary.session_id] = max(counted[summary.session_id], summary.memory_count)
        left = [session for session, number in numbers.items() if number > counted[session]]
        return sorted(left, key=lambda session: (begun[session], session))

    @cleaned
    def summarized(self, summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
        """Store summaries of sessions, replacing earlier ones; return them as stored."""
        vectors = self._passages("summaries", [_summary_text(summary) for summary in summaries])

        def work(collection: Collection) -> list[SessionSummary]:
            return [self._summarized(collection, *one) for one in zip(summaries, vectors, strict=True)]

        return self._change("summaries", work)

    @cleaned
    def put_summaries(self, summaries: Sequence[SessionSummary]) -> int:
        """Store the summaries that are not stored yet; return their number."""
        return self._change(
            "summaries", lambda collection: self._filled(collection, self._put_summaries(collection, summaries))
        )

    def summaries(self, limit: int, offset: int, category: str) -> Summaries:
        """Return a page of the summaries of one category or all, newest first."""

        def work(collection: Collection) -> Summaries:
            ids = sorted(self._database.ids(collection, {"category": category} if category else None))
            every = [(found.created_at, found.id) for found in self._summaries(collection, ids)]
            order = [key for _, key in sorted(every, key=lambda pair: pair[0], reverse=True)]
            return Summaries(list(self._summaries(collection, order[offset : offset + limit])), len(order))

        return self._look("summaries", work, Summaries([], 0))

    def find_summaries(self, query: str, number: int, category: str) -> Findings[JournalHit[SessionSummary]]:
        """Return the summaries that match a query, best first."""
        where = {"category": category} if category else None
        return self._nearest("summaries", query, number, where, _summary)

    def delete_summaries(self) -> int:
        """Delete all summaries but no turns; return the number of deleted summaries."""

        def work(collection: Collection) -> int:
            self._across.forget(collection.name)
            return self._database.delete(collection, self._database.ids(collection))

        return self._look("summaries", work, 0)

    def every_summary(self) -> Iterator[SessionSummary]:
        """Yield all summaries, ordered by id."""
        if collection := self._database.collection(COLLECTIONS["summaries"]):
            yield from self._summaries(collection, sorted(self._database.ids(collection)))

    # both ------------------------------------------------------------------------------------------------------------

    @cleaned
    def replace(self, turns: Iterable[Interaction] | None, summaries: Iterable[SessionSummary] | None) -> None:
        """Replace all turns and all summaries with these; None leaves them as they are."""
        given = {"memories": turns, "summaries": summaries}
        names = [COLLECTIONS[kind] for kind, news in given.items() if news is not None]
        with self._database.replacing(names, {EMBEDDER: self._vectors.model}) as fresh:
            for batch in batches(turns or (), BATCH):
                self._put(fresh[COLLECTIONS["memories"]], batch)
            for some in batches(summaries or (), BATCH):
                self._put_summaries(fresh[COLLECTIONS["summaries"]], some)
        for name in names:
            self._across.forget(name)
            if collection := self._database.collection(name):
                self._across.fill(collection)

    def numbers(self) -> JournalCounts:
        """Return the number of turns (`memories`) and of summaries."""
        return {
            "memories": self._look("memories", self._database.count, 0),
            "summaries": self._look("summaries", self._database.count, 0),
        }

    def try_out(self) -> None:
        """Write, read and delete a row in a temporary collection; raise StoreError if the row is not found."""
        mark = str(uuid.uuid4())
        collection = self._database.made(CANARY, {})
        self._database.add(collection, [ChromaRow(mark, {"try_out": mark}, mark, [1.0])])
        found = [row.document for row in self._database.rows(collection, [mark])]
        self._database.delete(collection, [mark])
        if found != [mark]:
            raise StoreError("ChromaDB does not return a row that it has just accepted. Check its log.")

    # -----------------------------------------------------------------------------------------------------------------

    def _look(
        self, kind: CollectionName, work: Callable[[Collection], T], nothing: T, within: ChromaDatabase | None = None
    ) -> T:
        """Read a collection of this workspace's database, or of another; return `nothing` if it does not exist."""

        def look() -> T:
            collection = (within or self._database).collection(COLLECTIONS[kind])
            return work(collection) if collection else nothing

        return _again(look)

    def _change(self, kind: CollectionName, work: Callable[[Collection], T]) -> T:
        """Write to a collection, which is created if it is missing."""

        def change() -> T:
            collection = self._database.made(COLLECTIONS[kind], {EMBEDDER: self._vectors.model})
            self._check_model(collection)
            return work(collection)

        return _again(change)

    def _check_model(self, collection: Collection) -> None:
        made_by = collection.metadata.get(EMBEDDER, self._vectors.model)
        if made_by != self._vectors.model:
            raise StoreError(f"{collection.name} was embedded by {made_by}. {OTHER_MODEL}")

    def _nearest(
        self,
        kind: CollectionName,
        query: str,
        number: int,
        where: Mapping[str, Any] | None,
        made: Callable[[ChromaRow], N],
    ) -> Findings[JournalHit[N]]:
        """Return the nearest items of all workspaces that are read; of duplicates only the first workspace's."""
        searched, cut = shortened(query)
        scope, name = self._scope, COLLECTIONS[kind]
        databases = {one.workspace: self._of(one.workspace) for one in scope.each}
        across = {place: Across(database, self._vectors) for place, database in databases.items()}
        mixed = any(one.collection(name) for one in across.values())
        compared, why_not = self._vectors.asked(searched, mixed=mixed)
        once: dict[N, JournalHit[N]] = {}
        lacking = 0

        def nearest(beside: Across, collection: Collection) -> list[ChromaRow]:
            nonlocal lacking
            self._check_model(collection)
            if not (why_not or scope.engine.settings.read_only):
                beside.note(name, [searched])
                lacking += beside.fill(collection, WAIT)
            return beside.nearest(collection, compared, number, where)

        for place, database in databases.items():
            for row in self._look(kind, partial(nearest, across[place]), list[ChromaRow](), database):
                item = made(row)
                once.setdefault(item, JournalHit(item, row.score, place if scope.included else None))
        best = sorted(once.values(), key=lambda hit: -hit.score)[:number]
        left = f"Not yet compared across languages: {lacking:,} of the journal." if lacking else ""
        return Findings(best, " ".join(filter(None, (cut, why_not, left, scope.degraded))))

    def _passages(self, kind: CollectionName, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts for a collection, which has another one beside it if one is not English."""
        vectors = self._vectors.passages(texts)
        self._across.note(COLLECTIONS[kind], texts)
        return vectors

    def _filled(self, collection: Collection, number: int) -> int:
        """Return the number of stored items, after all that is missing beside a collection was added."""
        self._across.fill(collection)
        return number

    def _put(self, collection: Collection, turns: Sequence[Interaction]) -> int:
        """Store the new turns; return their number. Retry those whose id another process took meanwhile."""
        news = self._new(collection, turns)
        vectors = self._passages("memories", [journal_metadata.document(turn) for turn in news])
        rows = [_turn_row(turn, vector, None) for turn, vector in zip(news, vectors, strict=True)]
        self._database.add(collection, rows)
        stored = {found.id: found for found in self._turns(collection, [turn.id for turn in news])}
        lost = [turn for turn in news if not _same(stored.get(turn.id, turn), turn)]
        return len(news) - len(lost) + (self._put(collection, lost) if lost else 0)

    def _new(self, collection: Collection, turns: Sequence[Interaction]) -> list[Interaction]:
        """Return the turns that are not stored yet; if another turn has its id, a turn gets the next free one."""
        known = {found.id: found for found in self._turns(collection, [turn.id for turn in turns])}
        news: list[Interaction] = []
        for turn in turns:
            names = _named(turn)
            kept = next(names)
            while (holder := known.get(kept.id)) and not _same(holder, turn):
                kept = next(names)
                known |= {found.id: found for found in self._turns(collection, [kept.id]) if found.id not in known}
            if holder is None:
                known[kept.id] = kept
                news.append(kept)
        return news

    def _put_summaries(self, collection: Collection, summaries: Sequence[SessionSummary]) -> int:
        """Store the new summaries; return their number. A session keeps its existing summary."""
        sessions = list({summary.session_id for summary in summaries})
        ids = self._database.ids(collection, {"sessionId": {"$in": sessions}}) if sessions else []
        taken = {found.session_id for found in self._summaries(collection, ids)}
        stored = {row.id for row in self._database.rows(collection, [summary.id for summary in summaries])}
        news: list[SessionSummary] = []
        for summary in summaries:
            if summary.session_id not in taken and summary.id not in stored:
                news.append(summary)
                taken.add(summary.session_id)
                stored.add(summary.id)
        vectors = self._passages("summaries", [_summary_text(summary) for summary in news])
        self._database.add(collection, [_summary_row(new, by) for new, by in zip(news, vectors, strict=True)])
        return len(news)

    def _summarized(self, collection: Collection, summary: SessionSummary, vector: list[float]) -> SessionSummary:
        known = sorted(self._database.ids(collection, {"sessionId": summary.session_id}))
        kept = replace(summary, id=known[0]) if known else self._free(collection, summary)
        self._database.put(collection, _summary_row(kept, vector, whole=True))
        self._across.forget(collection.name, [kept.id])
        self._database.delete(collection, known[1:])
        return kept

    def _free(self, collection: Collection, summary: SessionSummary) -> SessionSummary:
        """Return the summary with an id that no other session's summary has."""

        def is_free(kept: SessionSummary) -> bool:
            return all(found.session_id == kept.session_id for found in self._summaries(collection, [kept.id]))

        return next(filter(is_free, _named(summary)))

    def _turns(self, collection: Collection, ids: Sequence[str]) -> Iterator[Interaction]:
        return map(_turn, self._database.rows(collection, ids))

    def _summaries(self, collection: Collection, ids: Sequence[str]) -> Iterator[SessionSummary]:
        return map(_summary, self._database.rows(collection, ids))


def _again(work: Callable[[], T]) -> T:
    """Run `work`, and again if the collection was replaced meanwhile; return its result."""
    try:
        return work()
    except GoneError:
        return work()


def _named(item: N) -> Iterator[N]:
    """Yield the item under its own id, then under others."""
    return (replace(item, id=key) for key in journal_metadata.numbered(item.id))


def _same(one: Interaction, other: Interaction) -> bool:
    return replace(one, id="", created_at="") == replace(other, id="", created_at="")


def _summary_text(summary: SessionSummary) -> str:
    return f"{summary.title}: {summary.summary}"


def _turn_row(turn: Interaction, vector: Sequence[float], mark: str | None) -> ChromaRow:
    metadata = journal_metadata.of_turn(turn)
    return ChromaRow(turn.id, metadata, journal_metadata.document(turn), vector, mark)


def _summary_row(summary: SessionSummary, vector: Sequence[float], *, whole: bool = False) -> ChromaRow:
    """Return the row of a summary; with `whole`, missing fields are None, which clears those of an earlier row."""
    metadata = journal_metadata.of_summary(summary) | {"technologies": ",".join(summary.technologies)}
    present = {name: value for name, value in metadata.items() if whole or value is not None}
    return ChromaRow(summary.id, present, summary.summary, vector)


def _turn(row: ChromaRow) -> Interaction:
    return _read(journal_metadata.turn, row)


def _summary(row: ChromaRow) -> SessionSummary:
    return _read(journal_metadata.summary, row)


def _read(read: Callable[[Mapping[str, Any], Mapping[str, Any]], T], row: ChromaRow) -> T:
    try:
        return read({"id": row.id, "document": row.document}, row.metadata)
    except (InvalidInputError, ValueError, OverflowError, OSError) as error:  # OverflowError, OSError: not a time
        raise StoreError(
            f"{row.id[:100]!r} in ChromaDB is not a turn or summary ({error}). Correct or delete it with the program "
            "that wrote it."
        ) from error


class ChromaHome(Chroma):
    """A ChromaDB with the journals of all workspaces; see `core.journal.journal.JournalHome`."""

    def check(self) -> None:
        """Raise StoreError if an external server does not answer; neither start nor stop memoryd's own."""
        if self.state() == "external":
            self.ask("GET", "/api/v2/heartbeat")

    def of(self, scope: Scope) -> JournalChroma:
        """Return the journal of a workspace."""
        return JournalChroma(self, scope, JournalVectors(scope.engine.helpers))
