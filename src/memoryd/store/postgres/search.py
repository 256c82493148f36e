"""Searching on Postgres: words by BM25 over a tsvector, vectors one by one or through HNSW, whichever is quicker."""

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np

from memoryd.model import Filter, VectorSet
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.base import Queries, Row, Scored, Vector

FILTERS = ("kinds", "tags", "entity", "shelf", "among")  # what sets records apart, but for their session
FRESH = 60.0  # seconds for which what was counted holds
REMEMBERED = 10_000  # counts that are remembered at most

STEADY = 1_000  # records of a workspace from which on what is counted there does not change much in a minute
COUNTED = 1_000  # records that a term is counted in; of a commoner one a sample tells how common it is
SAMPLE = 5_000  # records
DRIVEN = 3_000  # records that the rarest words of a question may find; commoner words must come together
TOGETHER = 3  # common words that a record must have at most
COMBINED = 8  # common words that are combined
ENOUGH = 20  # records a hit that the common words should find

LONGEST = 4_000  # dimensions that pgvector indexes as halfvec
INDEXED = 5_000  # vectors of a set from which on an index is worth what it costs each write
PASSED = 150  # vectors looked at one by one in the time in which the index finds what one more hit takes
EFFORT = 100  # candidates that HNSW takes along at least: recall@10 .99 and more
MOST_EFFORT = 1_000  # what pgvector allows
CHUNKS = 4  # chunks that are looked for a hit: recall@10 .99 where a third of the records has 2 to 6 chunks, with 2 .97
FEW = 2_000  # records that a filter may leave to be looked up one by one


@runtime_checkable
class Composing(Queries, Protocol):
    """Named statements, also those in which a dimension or a name must stand as it is."""

    def composed(self, name: str, parts: Mapping[str, int | str], /, **parameters: Any) -> list[Row]:
        """Return every row of a statement with these literals in its braces."""


class Defining(Queries, Protocol):
    """Statements that define indexes."""

    def define(self, name: str, names: Mapping[str, str], /, **parts: int | str) -> None:
        """Run a statement with these names and literals in its braces."""


@dataclass(frozen=True, slots=True)
class HnswIndex:
    """An HNSW index: the vectors of one dimension and perspective, in one partition."""

    partition: str
    dim: int
    perspective: str

    @property
    def name(self) -> str:
        """The name, of at most 63 characters: a perspective's has at most 50."""
        return prefix(self.dim, self.perspective) + self.partition.rpartition("_")[2]


def prefix(dim: int, perspective: str) -> str:
    """Return the beginning of the names of such indexes, before the number of their partition."""
    return f"near_{dim}_{perspective}_"


class Recent:
    """A cache for all threads, whose entries expire after FRESH seconds."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, Any]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return the value of a key if it is fresh, else None."""
        until, value = self._known.get(key, (0.0, None))
        return value if time.monotonic() < until else None

    def put(self, key: Hashable, value: Any) -> None:
        """Remember a value for FRESH seconds."""
        with self._lock:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = time.monotonic() + FRESH, value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known.clear()


class PostgresIndex:
    """See `store.base.Index`."""

    def __init__(self) -> None:
        self._words = Words()
        self.near = Vectors()

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match by words, scored by BM25 over title, type, body and tags."""
        return self._words.search(queries, query, allowed, limit)

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        """Return those of some records that match by words."""
        rows = queries.all("search.matching", ids=json.dumps(list(ids)), match=query.tsquery())
        return {row["id"] for row in rows}

    def coverage(self, queries: Queries, terms: Sequence[Phrase], ids: Sequence[str]) -> dict[str, int]:
        """Return how many of some terms each of some records has."""
        asked = json.dumps([term.tsquery() for term in terms])
        rows = queries.all("search.coverage", ids=json.dumps(list(ids)), terms=asked)
        return {row["id"]: row["number"] for row in rows}

    def number(self, queries: Queries, allowed: Filter) -> int:
        """Return how many memories with a key are on a shelf."""
        row = queries.one("vault.number", session=allowed.session, shelf=allowed.shelf)
        assert row is not None
        return int(row["number"])

    def nearest(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, allowed: Filter, limit: int
    ) -> list[Scored]:
        """Return for each set the records whose vectors are nearest, scored by cosine."""
        assert isinstance(queries, Composing)
        return [self.near.search(queries, among, vector, allowed, limit) for among in sets]

    def cosines(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return for each set the cosine of `vector` with each of some records that have a vector in it."""
        asked = {"vector": vector, "dim": len(vector), "ids": json.dumps(list(ids))}
        found = (queries.all("vectors.cosines", **of(among), **asked) for among in sets)
        return [{row["id"]: row["cosine"] for row in rows} for rows in found]

    def vectors(self, queries: Queries, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of some records, one a chunk."""
        return _by_record(queries.all("vectors.of", **of(among), ids=json.dumps(list(ids))))

    def means(self, queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
        """Return the entities whose observations have vectors in a set, and their means."""
        rows = queries.all("vectors.means", **of(among))
        if not rows:
            return [], np.empty((0, 0), np.float32)
        matrix = np.stack([row["vector"] for row in rows])
        return [row["id"] for row in rows], matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def _by_record(rows: Sequence[Row]) -> dict[str, Vector]:
    """Return (chunks, dim) for each id; rows of another dim than most are left out."""
    dims = Counter(row["dim"] for row in rows)
    found: dict[str, list[Vector]] = {}
    for row in rows:
        if row["dim"] == dims.most_common(1)[0][0]:
            found.setdefault(row["id"], []).append(row["vector"])
    return {key: np.stack(vectors) for key, vectors in found.items()}


class Words:
    """BM25 as in FTS5, except that a word counts once in a text. Counts are cached for a minute."""

    def __init__(self) -> None:
        self._known = Recent()

    def search(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match, best first."""
        number, length = self._extent(queries)
        terms = query.terms()
        having = self._having(queries, [term.tsquery() for term in terms], number)
        weighted = json.dumps([[t.tsquery(), t.tsquery("A"), rarity(having[t.tsquery()], number)] for t in terms])
        rows: list[Row] = []
        for match in driving(query, having, number, limit):
            rows = queries.all(
                "search.words", **visible(allowed), limit=limit, length=length, match=match, terms=weighted
            )  # fmt: skip
            if len(rows) >= limit:
                break
        return [(row["id"], row["score"]) for row in rows]

    def _extent(self, queries: Queries) -> tuple[int, float]:
        """Return how many records there are, and their mean number of words."""
        known: tuple[int, float] | None = self._known.get(queries.workspace_id)
        if known is None:
            row = queries.one("search.extent", sample=SAMPLE) or {}
            known = max(row["number"], 1), max(row["length"], 1.0)
            if known[0] >= STEADY:
                self._known.put(queries.workspace_id, known)
        return known

    def _having(self, queries: Queries, terms: Sequence[str], number: int) -> dict[str, int]:
        """Return in how many records each term is."""
        having = {term: self._known.get((queries.workspace_id, term)) for term in terms}
        if unknown := [term for term, found in having.items() if found is None]:
            of = {"most": COUNTED, "number": number, "sample": max(1, min(number, SAMPLE))}
            for row in queries.all("search.having", terms=json.dumps(unknown), **of):
                having[row["term"]] = row["having"]
                if number >= STEADY:
                    self._known.put((queries.workspace_id, row["term"]), row["having"])
        return having


def rarity(having: int, number: int) -> float:
    """Return the inverse document frequency of BM25 as FTS5 has it: never 0."""
    return max(math.log((number - having + 0.5) / (having + 0.5)), 1e-6) if having < number else 1e-6


def driving(query: WordQuery, having: Mapping[str, int], number: int, limit: int) -> Iterator[str]:
    """Yield what must match, then wider alternatives for when that finds too few.

    With operators that is the query itself; else its rare words, or several of the common ones together: a record that
    has only one of those is not among the best if thousands have more.
    """
    if query.syntax or query.every:
        yield query.tsquery()
        return
    rare, common, found = list[str](), list[str](), 0
    for term in sorted(having, key=lambda term: having[term]):
        found += having[term]
        (rare if found <= DRIVEN else common).append(term)
    together = _together([having[term] / number for term in common], ENOUGH * limit / number) if common else 0
    for least in range(together, 0, -1):
        yield " | ".join(_combined(1, rare) + _combined(least, common if least == 1 else common[:COMBINED]))
    if not common:
        yield " | ".join(_combined(1, rare))


def _together(shares: Sequence[float], wanted: float) -> int:
    """Return how many of the words a share of `wanted` of the records has at least, if words were independent."""
    exactly = reduce(np.convolve, [np.array([1 - min(share, 1), min(share, 1)]) for share in shares[:COMBINED]])
    at_least = np.cumsum(exactly[::-1])[::-1]
    return max([n for n in range(1, min(TOGETHER, len(at_least) - 1) + 1) if at_least[n] >= wanted], default=1)


def _combined(least: int, terms: Sequence[str]) -> list[str]:
    """Return alternatives that match what has at least `least` of the terms."""
    if least == 1:
        return [f"({term})" for term in terms]
    return [
        f"(({term}) & ({' | '.join(_combined(least - 1, terms[place + 1 :]))}))"
        for place, term in enumerate(terms[: len(terms) - least + 1])
    ]


class Vectors:
    """Nearest neighbours: a scan of few vectors; a large set that is searched gets an HNSW index."""

    def __init__(self) -> None:
        self._known = Recent()
        self.wanted: set[HnswIndex] = set()
        """Indexes that a search could have used."""

    def forget(self) -> None:
        """Forget what was counted, after indexes were built."""
        self._known.clear()

    def search(self, queries: Composing, among: VectorSet, vector: Vector, allowed: Filter, limit: int) -> Scored:
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
            queries.one("vectors.settings", ef=str(EFFORT), sort="on")  # for what else is asked in this transaction
            if len(found) == limit:
                return found
        return _exactly(queries, given, limit, few=bool(_filters(given)) and number <= FEW)

    def _place(self, queries: Queries, begins: str) -> Row | None:
        """Return the partition of the workspace and how many vectors its index has; None without rows."""
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


def _approximately(queries: Composing, given: Row, limit: int) -> Scored:
    """Search by the index, which finds chunks; then compare their records by all chunks."""
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


def visible(allowed: Filter) -> dict[str, str]:
    """Return a filter as parameters."""
    return {
        "session": allowed.session, "entity": allowed.entity, "shelf": allowed.shelf,
        "among": json.dumps(allowed.among) if allowed.among is not None else "",
        "kinds": json.dumps([str(kind) for kind in allowed.kinds]),
        "tags": json.dumps(list(dict.fromkeys(allowed.tags)), ensure_ascii=False),
    }  # fmt: skip


def _filters(given: Row) -> tuple[str, ...]:
    """Return the parameters that filter records, except the session; empty if all pass."""
    asked = tuple(given[name] for name in FILTERS)
    return () if asked == ("[]", "[]", "", "", "") else asked


def build(queries: Defining, index: HnswIndex) -> None:
    """Build an index unless a valid one exists. Takes half a minute for 100,000 vectors of 384 dimensions."""
    built = queries.one("vectors.built", index=index.name)
    if built and built["valid"]:
        return
    queries.define("vectors.unindex", {"index": index.name})
    queries.define(
        "vectors.index", {"index": index.name, "partition": index.partition},
        dim=index.dim, perspective=index.perspective,
    )  # fmt: skip
