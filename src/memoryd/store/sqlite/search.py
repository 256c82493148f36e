"""Searching on SQLite: words by FTS5, vectors by the indexes in memory."""

import json
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from memoryd.model import Filter, VectorSet
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.base import Queries, Scored, Vector
from memoryd.store.sqlite.connection import SqliteQueries, stemmer
from memoryd.store.sqlite.vector_index import VectorIndexes, by_record, means, sieve_for

COLUMNS = ("title", "type", "body", "tags")  # of the index that hold words
TEXT = f"{{{' '.join(COLUMNS)}}}"
DRIVEN = 10  # records for each hit that the rarest words of a question may find; commoner words must come together
TOGETHER = 4  # common words that a record must have at most
TITLE_WEIGHT, TYPE_WEIGHT, BODY_WEIGHT, TAGS_WEIGHT = 2.0, 1.0, 1.0, 1.0


class SqliteIndex:
    """See `store.base.Index`."""

    def __init__(self) -> None:
        self._vectors = VectorIndexes()

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match by words, scored by BM25 over title, type, body and tags."""
        extent = queries.one("search.extent") or {}
        scope = [f"w{queries.workspace_id.replace('-', '')}"] if extent["shared"] else []
        scope += [f"({' OR '.join(f'k{kind}' for kind in allowed.kinds)})"] if allowed.kinds else []
        within = f"scope_tokens : ({' AND '.join(scope)}) AND {TEXT}" if scope else TEXT
        found: dict[str, float] = {}
        large = extent["most"] > DRIVEN * limit
        for match, times in _narrowing(queries, query, within, allowed, limit) if large else [(query.fts5(), 1)]:
            rows = queries.all(
                "search.words", match=f"{within} : ({match})", **_visible(allowed), limit=limit,
                title=TITLE_WEIGHT, type=TYPE_WEIGHT, body=BODY_WEIGHT, tag=TAGS_WEIGHT,
            )  # fmt: skip
            found |= {row["id"]: row["score"] / times for row in rows}
            if len(found) >= limit:
                break
        return sorted(found.items(), key=lambda hit: -hit[1])[:limit]

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        """Return those of some records that match by words."""
        match = f"{TEXT} : ({query.fts5()})"
        return {row["id"] for row in queries.all("search.matching", ids=json.dumps(list(ids)), match=match)}

    def coverage(self, queries: Queries, terms: Sequence[Phrase], ids: Sequence[str]) -> dict[str, int]:
        """Return how many of some terms each of some records has. Reading their texts is quicker than the index."""
        assert isinstance(queries, SqliteQueries)
        stemmed = stemmer(queries.connection)
        asked = [replace(term, words=" ".join(stemmed(term.words))) for term in terms]
        found = {}
        for row in queries.all("search.texts", ids=json.dumps(list(ids))):
            text = [word for column in COLUMNS for word in ("", *stemmed(row[column]))]  # no phrase spans two columns
            found[row["id"]] = sum(term.matches(text) for term in asked)
        return found

    def nearest(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, allowed: Filter, limit: int
    ) -> list[Scored]:
        """Return for each set the records whose vectors are nearest, scored by cosine."""
        sieve = sieve_for(queries, allowed)
        near = self._vectors.ask(queries, sets, len(vector), lambda one: one.nearest(queries, vector, limit, sieve))
        rids = sorted({rid for found in near for rid, _ in found})
        ids = {row["rid"]: row["id"] for row in queries.all("search.ids", rids=json.dumps(rids))}
        return [[(ids[rid], cosine) for rid, cosine in found if rid in ids] for found in near]

    def cosines(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return for each set the cosine of `vector` with each of some records that have a vector in it."""
        names = {row["rid"]: row["id"] for row in queries.all("search.rids", ids=json.dumps(list(ids)))}
        found = self._vectors.ask(queries, sets, len(vector), lambda one: one.cosines(queries, vector, list(names)))
        return [{names[rid]: cosine for rid, cosine in cosines.items()} for cosines in found]

    def vectors(self, queries: Queries, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of some records, one a chunk."""
        return by_record(
            queries.all("vectors.of", ids=json.dumps(list(ids)), perspective=among.perspective, model=among.model)
        )

    def means(self, queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
        """Return the entities whose observations have vectors in a set, and the mean of those."""
        return means(queries, among)


def _narrowing(
    queries: Queries, query: WordQuery, within: str, allowed: Filter, limit: int
) -> Iterator[tuple[str, int]]:
    """Yield what must match, narrow at first, and how many times it counts each word.

    A question finds by its rare words, then by its common ones together: a record with only one of those is not among
    the best if thousands have more. To count alike, each word is there twice: once to find, or else once more to score.
    """
    terms = [term.fts5() for term in query.terms()]
    narrow = allowed.tags or allowed.entity or allowed.among is not None  # and may leave none of what is found first
    if not query.syntax and len(terms) > 1 and not narrow:
        rows = queries.all("search.having", terms=json.dumps([f"{within} : ({term})" for term in terms]),
                           most=DRIVEN * limit)  # fmt: skip
        having = dict(zip(terms, (row["number"] for row in rows), strict=True))
        terms.sort(key=lambda term: having[term])
        number = bisect(list(accumulate(having[term] for term in terms)), DRIVEN * limit)
        if number < len(terms):
            rare, common = terms[:number], terms[number:]
            if rare:
                yield _driven(" OR ", rare, common), 2
            for together in range(min(len(common), TOGETHER), 1, -1):
                yield _driven(" AND ", common[:together], rare + common[together:]), 2
    yield query.fts5(), 1


def _driven(joined: str, finding: Sequence[str], others: Sequence[str]) -> str:
    return f"({joined.join(finding)}) AND ({' OR '.join([*finding, *others, *others])})"


def _visible(allowed: Filter) -> dict[str, Any]:
    tags = list(dict.fromkeys(allowed.tags))
    return {
        "session": allowed.session, "entity": allowed.entity, "shelf": allowed.shelf,
        "tags": json.dumps(tags), "tag_count": len(tags),
        "among": json.dumps(allowed.among) if allowed.among is not None else "",
    }  # fmt: skip
