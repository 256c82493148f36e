"""a: memories with a key, of one session or of the vault, which all sessions share."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memoryd.core.base.clock import FOREVER, moment, timestamp
from memoryd.core.engine import Engine
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.core.search import ranking
from memoryd.core.security.secrets import cleaned, matched
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import CLIENT, Filter, Kind, Record, Shelf, VectorSet, Workspace
from memoryd.query_syntax import WordQuery, parse_query
from memoryd.store.base import Queries
from memoryd.text import unstorable

DEPTH = 100  # candidates by words, and as many by vector, where no more are asked for
TERMS = 16  # of a query that a candidate is compared with, to see how many it has
ALL = 1 << 40
AFTER_ALL = "\U0010ffff" * 401  # behind every key that begins with what stands before it: none is so long


@dataclass(frozen=True, slots=True)
class Match:
    """A memory that was found, and how relevant it is: 0 to 1."""

    record: Record
    relevance: float


class Vault:
    """The memories with a key of one workspace, as one session sees them."""

    def __init__(self, engine: Engine, workspace: Workspace, session: str) -> None:
        self.secrets = engine.secrets
        self._engine = engine
        self._workspace = workspace
        self._session = session

    # writing ---------------------------------------------------------------------------------------------------------

    @cleaned
    def commit(
        self,
        shelf: Shelf,
        key: str,
        content: str,
        tags: Sequence[str] | None = None,
        vector: Sequence[float] | None = None,
    ) -> str:
        """Keep a text under a key; durable when this returns the key, with secrets masked.

        What the key held is replaced. Its tags stay where `tags` is None, and the caller's vector where the content
        stays and no other `vector` is given. Raises InvalidInputError for a vector that points nowhere.
        """
        own = _unit(vector) if vector is not None else None
        scope = self._scope(shelf)
        embedded = self._engine.embedding.passages([records.text_of(Kind.MEMORY, key, "", content)])[0]

        def work(queries: Queries) -> str:
            now = self._engine.clock.now()
            known = queries.one("vault.named", scope=scope, key=key)
            if known is None:
                record = Record(
                    id=records.new_id(), kind=Kind.MEMORY, name=key, body=content, tags=tuple(tags or ()),
                    scope=scope, session_id=self._session or None,
                )  # fmt: skip
                records.add(queries, record, embedded, now)
                queries.run("memories.add", id=record.id, fingerprint="", importance=0.5, consolidated=1)
                records.embed(queries, record.id, CLIENT, own)
                return record.id
            kept = json.loads(known["tags"]) if tags is None else tags
            same = known["body"] == content
            if own is not None or not same:
                queries.run("embeddings.withdraw", id=known["id"], perspective=CLIENT)
            if same:
                records.retag(queries, known["id"], kept, now)
            else:
                records.change(queries, known["id"], content, kept, embedded, now)
            records.embed(queries, known["id"], CLIENT, own)
            return str(known["id"])

        written = self._engine.write(self._workspace, work)
        if embedded is None:
            self._engine.embed_later(self._workspace, [written])
        return key

    @matched
    def prune(
        self, shelf: Shelf, key: str | None = None, older_than: str | None = None, tags: Sequence[str] = ()
    ) -> int:
        """Delete what all criteria match; returns how many. Raises InvalidInputError for no time.

        The vault's go softly, a session's at once and for good.
        """
        before = timestamp(moment(older_than)) if older_than else FOREVER

        def work(queries: Queries) -> int:
            chosen = queries.all("vault.chosen", **self._asked(shelf, tags), key=key or "", before=before, limit=ALL)
            durable = [row["id"] for row in chosen if not row["scope"]]
            volatile = [row["id"] for row in chosen if row["scope"]]
            now = self._engine.clock.now()
            if durable:
                records.delete(queries, durable, now)
            if volatile:
                records.erase(queries, volatile, now)
            return len(chosen)

        gone = self._engine.write(self._workspace, work)
        if gone:
            self._engine.purge_if_at_once(self._workspace)
        return gone

    def _scope(self, shelf: Shelf) -> str:
        """Where a new memory goes; a session that is written to is held from then on."""
        if shelf == "vault":
            return ""
        if not self._session:
            raise InvalidInputError("There is no session to keep this in. Name one, or use the scope vault.")
        self._engine.sessions.hold(self._session, writing=True)
        return self._session

    # searching -------------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        shelf: Shelf = "all",
        tags: Sequence[str] = (),
        vector: Sequence[float] | None = None,
        limit: int = 10,
    ) -> tuple[list[Match], int]:
        """What bears on a query, best first, and how many memories were searched: those of a shelf that have the tags.

        a: relevance = .4 words + .6 cosine for a memory with a vector where the query has one too, else the words
        alone. Without any words, tags alone choose: the newest first. Raises InvalidInputError where nothing is asked.
        """
        parsed = parse_query(query)
        question = _unit(vector) if vector is not None else None
        total = self._engine.store.read(
            self._workspace, lambda q: q.one("vault.number", **self._asked(shelf, tags))
        )  # fmt: skip
        if parsed is None and question is None:
            found = self._tagged(query, shelf, tags, limit)
        else:
            allowed = Filter(tags=tuple(tags), session=self._session, shelf=shelf)
            found = self._relevant(parsed, question, allowed, max(limit, DEPTH))
        records_ = self._fetch(list(found))
        matches = [Match(records_[key], found[key]) for key in found if key in records_]
        matches.sort(key=lambda match: -match.relevance)
        return matches[:limit], total["number"] if total else 0

    def _tagged(self, query: str, shelf: Shelf, tags: Sequence[str], limit: int) -> dict[str, float]:
        if query.strip():
            return {}  # there is no word in it
        if not tags:
            raise InvalidInputError("There is nothing to search for. Give a query, tags, or both.")
        asked = self._asked(shelf, tags)
        rows = self._engine.store.read(
            self._workspace, lambda q: q.all("vault.chosen", **asked, key="", before=FOREVER, limit=limit)
        )  # fmt: skip
        return {row["id"]: 1.0 for row in rows}

    def _relevant(
        self, parsed: WordQuery | None, question: Embedded | None, allowed: Filter, depth: int
    ) -> dict[str, float]:
        """The relevance of all candidates by id."""
        store, index = self._engine.store, self._engine.store.index
        scores: dict[str, float] = {}
        if parsed:
            scores = dict(store.read(self._workspace, lambda q: index.words(q, parsed, allowed, depth)))
        cosines = self._cosines(question, allowed, scores, depth) if question else {}
        if parsed is None:
            return {key: cosine for key, cosine in cosines.items() if cosine > 0}
        if len(scores) >= depth:  # what is near may match, too, but not better than the last of these
            rest = [key for key in cosines if key not in scores]
            others = store.read(self._workspace, lambda q: index.matching(q, parsed, rest))
            scores |= dict.fromkeys(others, min(scores.values()))
        if parsed.binding:
            cosines = {key: cosine for key, cosine in cosines.items() if key in scores}
        return ranking.relevances(self._words(parsed, scores), cosines)

    def _words(self, parsed: WordQuery, scores: Mapping[str, float]) -> dict[str, float]:
        """How well each candidate matches by words: 1 for the best of those that have every term."""
        terms = parsed.terms()
        if len(terms) < 2 or not scores:
            return ranking.bm25_norm(scores, dict.fromkeys(scores, 1.0))
        having = self._engine.store.read(self._workspace, lambda q: [
            self._engine.store.index.matching(q, WordQuery(term), list(scores)) for term in terms[:TERMS]
        ])  # fmt: skip
        covered = {key: sum(key in some for some in having) / len(having) for key in scores}
        return ranking.bm25_norm(scores, covered)

    def _cosines(
        self, question: Embedded, allowed: Filter, scores: Mapping[str, float], depth: int
    ) -> dict[str, float]:
        """Those of the candidates by words, and of the nearest."""
        index, sets, vector = self._engine.store.index, [VectorSet(CLIENT, question.model)], question.vectors[0]

        def work(queries: Queries) -> dict[str, float]:
            (near,) = index.nearest(queries, sets, vector, allowed, depth)
            (cosines,) = index.cosines(queries, sets, vector, list(scores))
            return dict(near) | cosines

        return self._engine.store.read(self._workspace, work)

    # looking ---------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Record:
        """The memory of a key in the vault. Raises NotFoundError."""

        def work(queries: Queries) -> Record | None:
            row = queries.one("vault.named", scope="", key=key)
            return next(iter(records.fetch(queries, [row["id"]], "").values()), None) if row else None

        if found := self._engine.store.read(self._workspace, work):
            return found
        raise NotFoundError(f"There is no memory {key[:100]!r} in the vault.")

    def page(self, offset: int, limit: int) -> list[Record]:
        """The vault's memories in the order of their keys, so many from a place on."""
        return self._page("", offset, limit)

    def volatile(self) -> list[Record]:
        """The session's memories, in the order of their keys."""
        return self._page(self._session, 0, ALL) if self._session else []

    def keys(self, begins: str, after: str, limit: int) -> list[str]:
        """The vault's keys that begin so and follow `after`, in their order."""
        if unstorable(begins):
            return []
        found = self._engine.store.read(
            self._workspace,
            lambda q: q.all("vault.keys", begins=begins, after=after, end=begins + AFTER_ALL, limit=limit),
        )
        return [row["key"] for row in found]

    def _page(self, scope: str, offset: int, limit: int) -> list[Record]:
        def work(queries: Queries) -> list[Record]:
            ids = [row["id"] for row in queries.all("vault.page", scope=scope, offset=offset, limit=limit)]
            found = records.fetch(queries, ids, self._session)
            return [found[key] for key in ids]

        return self._engine.store.read(self._workspace, work)

    def _fetch(self, ids: Sequence[str]) -> dict[str, Record]:
        return self._engine.store.read(self._workspace, lambda q: records.fetch(q, ids, self._session))

    def _asked(self, shelf: Shelf, tags: Sequence[str]) -> dict[str, object]:
        distinct = list(dict.fromkeys(tags))
        return {"session": self._session, "shelf": shelf, "tags": json.dumps(distinct), "tag_count": len(distinct)}


def _unit(vector: Sequence[float]) -> Embedded:
    """A caller's vector as those of models are kept. Raises InvalidInputError where it points nowhere."""
    wide = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(wide))
    if not 0 < length < np.inf:
        raise InvalidInputError("The embedding is all zeros, or too large to have a length: it points nowhere.")
    return Embedded(f"{CLIENT}:{len(wide)}", np.asarray(wide / length, np.float32)[None, :])
