"""Search on Postgres: words with the index in memory, vectors by a scan or with HNSW, whichever is faster."""

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from memoryd.model import Filter, VectorSet
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.base import Index, Queries, Row, Scored, Vector, visible
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.postgres.word_index import PostgresWordIndex, Recent

FILTERS = ("kinds", "tags", "entity", "shelf", "among", "after", "before")  # the filters of records, except by session
LONGEST = 4_000  # maximum dimensions of a halfvec that pgvector can index
INDEXED = 5_000  # vectors of a set from which on an index is worth its cost on each write
PASSED = 150  # vectors scanned in the time that the index takes to find one more hit
EFFORT = 100  # minimum candidates of HNSW: recall@10 of .99 and more
MOST_EFFORT = 1_000  # pgvector's maximum
CHUNKS = 4  # chunks searched for each hit: recall@10 .99 if a third of the records has 2 to 6 chunks; with 2, .97
FEW = 2_000  # maximum records that pass a filter to be looked up one by one


@dataclass(frozen=True, slots=True)
class HnswIndex:
    """An HNSW index: the vectors of one dimension and perspective, in one partition."""

    partition: str
    dim: int
    perspective: str

    @property
    def name(self) -> str:
        """The name of the index, at most 63 characters, since a perspective's name has at most 50."""
        return prefix(self.dim, self.perspective) + self.partition.rpartition("_")[2]


def prefix(dim: int, perspective: str) -> str:
    """Return the prefix of the names of these indexes, before the number of the partition."""
    return f"near_{dim}_{perspective}_"


class PostgresIndex(Index):
    """See `store.base.Index`."""

    def __init__(self) -> None:
        super().__init__()
        self._words = PostgresWordIndex()
        self.near = Vectors()

    def kept(self) -> dict[str, int]:
        """Return the bytes in memory used by words; vectors stay in the database."""
        return {"words": self._words.bytes}

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        return self._words.search(queries, query, allowed, limit)

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        rows = queries.all("search.matching", ids=json.dumps(list(ids)), match=query.tsquery())
        return {row["id"] for row in rows}

    def coverage(self, queries: Queries, terms: Sequence[Phrase], ids: Sequence[str]) -> dict[str, int]:
        asked = json.dumps([term.tsquery() for term in terms])
        rows = queries.all("search.coverage", ids=json.dumps(list(ids)), terms=asked)
        return {row["id"]: row["number"] for row in rows}

    def nearest(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, allowed: Filter, limit: int
    ) -> list[Scored]:
        assert isinstance(queries, PostgresQueries)
        return [self.near.search(queries, among, vector, allowed, limit) for among in sets]

    def cosines(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        asked = {"vector": vector, "dim": len(vector), "ids": json.dumps(list(ids))}
        found = (queries.all("vectors.cosines", **of(among), **asked) for among in sets)
        return [{row["id"]: row["cosine"] for row in rows} for rows in found]

    def vectors(self, queries: Queries, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        return _by_record(queries.all("vectors.of", **of(among), ids=json.dumps(list(ids))))

    def means(self, queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
        rows = queries.all("vectors.means", **of(among))
        if not rows:
            return [], np.empty((0, 0), np.float32)
        matrix = np.stack([row["vector"] for row in rows])
        return [row["id"] for row in rows], matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def _by_record(rows: Sequence[Row]) -> dict[str, Vector]:
    """Return (chunks, dim) for each id; rows with another dim than most are omitted."""
    dims = Counter(row["dim"] for row in rows)
    found: dict[str, list[Vector]] = {}
    for row in rows:
        if row["dim"] == dims.most_common(1)[0][0]:
            found.setdefault(row["id"], []).append(row["vector"])
    return {key: np.stack(vectors) for key, vectors in found.items()}


class Vectors:
    """Nearest neighbours: a scan for few vectors; a large set gets an HNSW index once it is searched."""

    def __init__(self) -> None:
        self._known = Recent()
        self.wanted: set[HnswIndex] = set()
        """Indexes that a search could have used."""

    def forget(self) -> None:
        """Forget cached counts, after indexes were built."""
        self._known.clear()

    def search(self, queries: PostgresQueries, among: VectorSet, vector: Vector, allowed: Filter, limit: int) -> Scored:
        """Return the records whose vectors are nearest, best first."""
        given = {**of(among), **visible(allowed), "vector": vector, "dim": len(vector)}
        place = self._place(queries, prefix(len(vector), among.perspective))
        total = place["total"] if place else None
        most = INDEXED if total is None else math.isqrt(int(PASSED * limit * max(total, INDEXED)))
        number = self._number(queries, given, most + 1)
        if number > most and place and total is None and len(vector) <= LONGEST:
            self.wanted.add(HnswIndex(place["partition"], len(vector), among.perspective))
        if number > most and total is not None:
            found = _approximately(queries, given, limit)
            queries.one("vectors.settings", ef=str(EFFORT), sort="on")  # for other queries in this transaction
            if len(found) == limit:
                return found
        return _exactly(queries, given, limit, few=bool(_filters(given)) and number <= FEW)

    def _place(self, queries: Queries, begins: str) -> Row | None:
        """Return the partition of the workspace and how many vectors its index has; None if there are no rows."""
        return self._remember((queries.workspace_id, begins), lambda: queries.one("vectors.place", prefix=begins))

    def _number(self, queries: Queries, given: Row, most: int) -> int:
        """Return how many vectors there are, or records that pass the filter."""
        filters = _filters(given)
        key = (queries.workspace_id, given["perspective"], given["model"], given["dim"], filters, most)
        if filters:
            asked = {name: given[name] for name in FILTERS}
            row = self._remember(key, lambda: queries.one("vectors.passing", **asked, most=most))
        else:
            asked = {name: given[name] for name in ("perspective", "model", "dim")}
            row = self._remember(key, lambda: queries.one("vectors.number", **asked, most=most))
        return int(row["number"]) if row else 0

    def _remember(self, key: Hashable, find: Callable[[], Row | None]) -> Row | None:
        found: Row | None = self._known.get(key)
        if found is None and (found := find()):
            self._known.put(key, found)
        return found


def _exactly(queries: Queries, given: Row, limit: int, *, few: bool) -> Scored:
    rows = queries.all("vectors.among" if few else "vectors.nearest", **given, limit=limit)
    return [(row["id"], row["cosine"]) for row in rows]


def _approximately(queries: PostgresQueries, given: Row, limit: int) -> Scored:
    """Search with the index, which finds chunks; then compare their records by all their chunks."""
    asked = {name: given[name] for name in ("model", "vector", "session", *FILTERS)}
    parts = {name: given[name] for name in ("dim", "perspective")}
    wanted, ids, more = CHUNKS * limit, list[str](), True
    while len(ids) < limit and more:
        queries.one("vectors.settings", ef=str(min(max(wanted, EFFORT), MOST_EFFORT)), sort="off")
        rows = queries.composed("vectors.candidates", parts, **asked, limit=wanted)
        ids, more, wanted = list(dict.fromkeys(row["id"] for row in rows)), len(rows) == wanted, 4 * wanted
    known = {name: given[name] for name in ("perspective", "model", "dim", "vector")}
    found = [(row["id"], row["cosine"]) for row in queries.all("vectors.cosines", **known, ids=json.dumps(ids))]
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:limit]


def of(among: VectorSet) -> dict[str, str]:
    """Return a set of vectors as parameters."""
    return {"perspective": among.perspective, "model": among.model}


def _filters(given: Row) -> tuple[str, ...]:
    """Return the parameters that filter records, except the session; empty if all records pass."""
    asked = tuple(given[name] for name in FILTERS)
    return () if set(asked) <= {"", "[]"} else asked


def build(queries: PostgresQueries, index: HnswIndex) -> None:
    """Build an index unless a valid one exists; this takes half a minute for 100,000 vectors of 384 dimensions."""
    built = queries.one("vectors.built", index=index.name)
    if built and built["valid"]:
        return
    queries.define("vectors.unindex", {"index": index.name})
    queries.define(
        "vectors.index",
        {"index": index.name, "partition": index.partition},
        dim=index.dim,
        perspective=index.perspective,
    )
