"""Search on SQLite, with the indexes of words and vectors in memory."""

import json
from collections.abc import Sequence

import apsw

from memoryd.model import Filter, VectorSet
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.base import Index, Queries, Scored, Vector, visible
from memoryd.store.postings import best
from memoryd.store.sqlite.connection import looked_up
from memoryd.store.sqlite.vector_index import VectorIndexes, by_record, means, sieve_for
from memoryd.store.sqlite.word_index import WEIGHTS, WordIndex

COLUMNS = ("title", "type", "body", "tags")  # the index's columns of words
TEXT = f"{{{' '.join(COLUMNS)}}}"
ADMITTED = 32  # records per hit that are checked one by one; if too few of them may be found, FTS5 checks all
FIRST = 1, 3  # records per hit that are checked first, without and with a shelf: nearly always enough may be found


class SqliteIndex(Index):
    """See `store.base.Index`."""

    def __init__(self) -> None:
        super().__init__()
        self._vectors = VectorIndexes()
        self._words = WordIndex()

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        within = _within(queries, allowed)
        if not (query.syntax or allowed.tags or allowed.entity or allowed.among is not None):
            matches = _matches(query.terms(), within)
            scores = self._known(queries).scores(queries, matches, every=query.every)
            for number in (FIRST[bool(allowed.shelf)] * limit, ADMITTED * limit):
                order = best(scores, number)
                given = visible(allowed) | {"rids": json.dumps(order.tolist()), "limit": limit}
                row = queries.one("search.admitted", **given) or {}
                rids, ids = json.loads(row["rids"]), json.loads(row["ids"])
                if len(ids) == limit or len(order) < number:
                    looked_up(queries).update(zip(ids, rids, strict=True))
                    return list(zip(ids, scores[rids].tolist(), strict=True))
        match = f"{within} : ({query.fts5()})"
        rows = queries.all("search.words", match=match, **visible(allowed), limit=limit, **WEIGHTS)
        return [(row["id"], row["score"]) for row in rows]

    def _known(self, queries: Queries) -> WordIndex:
        """Return the index in memory; an empty one for a transaction that writes, since it may be rolled back."""
        return WordIndex() if queries.writing else self._words

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        match = f"{TEXT} : ({query.fts5()})"
        return {row["id"] for row in queries.all("search.matching", ids=json.dumps(list(ids)), match=match)}

    def coverage(self, queries: Queries, terms: Sequence[Phrase], ids: Sequence[str]) -> dict[str, int]:
        matches = _matches(terms, _within(queries, Filter()))
        numbers = self._known(queries).numbers(queries, matches)
        return {key: int(numbers[rid]) for key, rid in _rids(queries, ids).items()}

    def kept(self) -> dict[str, int]:
        """Return the bytes in memory used by words, by vectors, and by the pages and statements of all connections."""
        return {"words": self._words.bytes, "vectors": self._vectors.bytes, "pages": apsw.memory_used()}

    def nearest(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, allowed: Filter, limit: int
    ) -> list[Scored]:
        sieve = sieve_for(queries, allowed)
        near = self._vectors.ask(queries, sets, len(vector), lambda one: one.nearest(queries, vector, limit, sieve))
        rids = sorted({rid for found in near for rid, _ in found})
        ids = {row["rid"]: row["id"] for row in queries.all("search.ids", rids=json.dumps(rids))}
        return [[(ids[rid], cosine) for rid, cosine in found if rid in ids] for found in near]

    def cosines(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        names = {rid: key for key, rid in _rids(queries, ids).items()}
        found = self._vectors.ask(queries, sets, len(vector), lambda one: one.cosines(queries, vector, list(names)))
        return [{names[rid]: cosine for rid, cosine in cosines.items()} for cosines in found]

    def vectors(self, queries: Queries, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        return by_record(
            queries.all("vectors.of", ids=json.dumps(list(ids)), perspective=among.perspective, model=among.model)
        )

    def means(self, queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
        return means(queries, among)


def _within(queries: Queries, allowed: Filter) -> str:
    """Return the restriction of a match: to words, in records of this workspace and of the allowed kinds."""
    scope = [f"w{queries.workspace_id.replace('-', '')}"] if queries.marks()["shared"] else []
    scope += [f"({' OR '.join(f'k{kind}' for kind in allowed.kinds)})"] if allowed.kinds else []
    return f"scope_tokens : ({' AND '.join(scope)}) AND {TEXT}" if scope else TEXT


def _matches(terms: Sequence[Phrase], within: str) -> list[str]:
    return [f"{within} : ({term.fts5()})" for term in terms]


def _rids(queries: Queries, ids: Sequence[str]) -> dict[str, int]:
    known = looked_up(queries)
    if unknown := [key for key in ids if key not in known]:
        row = queries.one("search.rids", ids=json.dumps(unknown)) or {}
        known.update(json.loads(row["rids"]))
    return {key: known[key] for key in ids if key in known}
