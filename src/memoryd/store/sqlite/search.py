"""Searching on SQLite: words by FTS5, vectors by the indexes in memory."""

import json
from collections.abc import Sequence
from typing import Any

from memoryd.model import Filter, VectorSet
from memoryd.query_syntax import WordQuery
from memoryd.store.base import Queries, Scored, Vector
from memoryd.store.sqlite.vector_index import VectorIndexes, by_record, means, sieve_for

TEXT = "{title type body tags}"  # the columns of the index that hold words
TITLE_WEIGHT, TYPE_WEIGHT, BODY_WEIGHT, TAGS_WEIGHT = 2.0, 1.0, 1.0, 1.0


class SqliteIndex:
    """See `store.base.Index`."""

    def __init__(self) -> None:
        self._vectors = VectorIndexes()

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match by words, scored by BM25 over title, type, body and tags."""
        scope = [f"w{queries.workspace_id.replace('-', '')}"] if queries.one("search.shared") else []
        scope += [f"({' OR '.join(f'k{kind}' for kind in allowed.kinds)})"] if allowed.kinds else []
        match = f"{TEXT} : ({query.fts5()})"
        if scope:
            match = f"scope_tokens : ({' AND '.join(scope)}) AND {match}"
        rows = queries.all(
            "search.words", match=match, **_visible(allowed), limit=limit,
            title=TITLE_WEIGHT, type=TYPE_WEIGHT, body=BODY_WEIGHT, tag=TAGS_WEIGHT,
        )  # fmt: skip
        return [(row["id"], row["score"]) for row in rows]

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        """Return those of some records that match by words."""
        match = f"{TEXT} : ({query.fts5()})"
        return {row["id"] for row in queries.all("search.matching", ids=json.dumps(list(ids)), match=match)}

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


def _visible(allowed: Filter) -> dict[str, Any]:
    tags = list(dict.fromkeys(allowed.tags))
    return {
        "session": allowed.session, "entity": allowed.entity, "shelf": allowed.shelf,
        "tags": json.dumps(tags), "tag_count": len(tags),
        "among": json.dumps(allowed.among) if allowed.among is not None else "",
    }  # fmt: skip
