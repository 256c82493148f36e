"""Search on SQLite, with the indexes of words and vectors in memory."""

import json
from collections.abc import Iterable, Sequence
from typing import cast

import apsw
import numpy as np
from numpy.typing import NDArray

from memoryd.model import Filter, VectorSet
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.base import Index, Queries, Row, Scored, Vector, number_of, visible
from memoryd.store.postings import Posting, Postings, best
from memoryd.store.sqlite.connection import looked_up
from memoryd.store.sqlite.vector_index import VectorIndexes, by_record, means, sieve_for

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

    def _known(self, queries: Queries) -> "WordIndex":
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


# the index of words in memory: postings, read from FTS5 when a term is first searched --------------------------------


TITLE_WEIGHT, TYPE_WEIGHT, BODY_WEIGHT, TAGS_WEIGHT = 2.0, 1.0, 1.0, 1.0
WEIGHTS = {"title": TITLE_WEIGHT, "type": TYPE_WEIGHT, "body": BODY_WEIGHT, "tag": TAGS_WEIGHT}
SCALE = 2**26  # scale of BM25 in the lower half of a number whose upper half is the rid; BM25 of a term is below 2**6
NEVER = np.iinfo(np.int64).max
LOWER_HALF = 2**32 - 1


class WordIndex:
    """The postings of the searched terms, of all workspaces of a store.

    FTS5 itself looks up the length of each record that matches a query, which takes 50 ms for 50,000 of them. A posting
    catches up before each search, as the index of vectors does: `rid` grows with each record, `seq` with each change.
    It is read again from the first new or changed record on.
    """

    def __init__(self) -> None:
        self._postings = Postings()

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return self._postings.bytes

    def scores(self, queries: Queries, matches: Sequence[str], *, every: bool) -> NDArray[np.float64]:
        """Return the BM25 of each rid, summed over `matches`; 0 if it has none of them or, with `every`, not all."""
        postings = self._caught_up(queries, matches)
        rids = np.concatenate([posting.rids for posting in postings])
        scores = np.bincount(rids, np.concatenate([posting.parts for posting in postings]))
        if every:
            scores[np.bincount(rids) < len(postings)] = 0
        return cast(NDArray[np.float64], scores)

    def numbers(self, queries: Queries, matches: Sequence[str]) -> NDArray[np.int64]:
        """Return how many of `matches` each rid has."""
        rids = np.concatenate([posting.rids for posting in self._caught_up(queries, matches)])
        return np.bincount(rids, minlength=queries.marks()["records"] + 1)

    def _caught_up(self, queries: Queries, matches: Sequence[str]) -> list[Posting]:
        come = queries.marks()
        known = self._postings.known(queries.workspace_id, matches, come["changes"])
        behind = {
            match: posting
            for match, posting in known.items()
            if posting.added < come["records"] or posting.changed < come["changes"]
        }
        if not behind:
            return list(known.values())
        parted = {match: posting for match, posting in behind.items() if not posting.outdated(come["records"])}
        changed = _first_changed(queries, parted.values(), come)
        first = {match: min(parted[match].added + 1, changed) if match in parted else 0 for match in behind}
        rows = queries.all("words.parts", terms=json.dumps(list(first.items())), scale=SCALE, **WEIGHTS)
        for (match, rid), row in zip(first.items(), rows, strict=True):
            known[match] = _continued(known[match], rid, _numbers(row["parts"]), come)
        self._postings.keep(queries.workspace_id, {match: known[match] for match in behind})
        return list(known.values())


def _first_changed(queries: Queries, postings: Iterable[Posting], come: Row) -> int:
    """Return the first record changed since some postings were read; 0 if that is too long ago to be known."""
    seq = min((posting.changed for posting in postings), default=come["changes"])
    if seq >= come["changes"]:
        return NEVER
    if seq + 1 < come["oldest_change"]:
        return 0
    return number_of(queries, "words.changed", seq=seq)


def _numbers(listed: str) -> NDArray[np.int64]:
    """Return a JSON list of numbers as an array, three times as fast as with `json`."""
    return np.fromstring(listed[1:-1], np.int64, sep=",")


def _continued(posting: Posting, rid: int, further: NDArray[np.int64], come: Row) -> Posting:
    """Return a posting for a snapshot: its records before `rid`, then `further` ones, each a rid with its BM25."""
    kept = posting.rids < rid
    rids = np.concatenate([posting.rids[kept], further >> 32])
    parts = np.concatenate([posting.parts[kept], ((further & LOWER_HALF) / SCALE).astype(np.float32)])
    whole = posting.whole if kept.any() else (come["records"], len(rids))
    return Posting(rids, parts, come["records"], come["changes"], whole)
