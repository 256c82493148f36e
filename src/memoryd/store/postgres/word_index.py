"""The index of words in memory: postings, read from Postgres when a term is first searched.

Postgres itself has to read each record that matches a query, which takes 100 ms for 50,000 of them. Here a record is a
hash of its id, and the parts of BM25 lack the rarity of the term. A posting is updated before each search from the log
of changes: records changed since it was read are read again.
"""

import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memoryd.model import Filter
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.base import Queries, Row, Scored, visible
from memoryd.store.postings import MEMORY, Posting, Postings, best

STEADY = 1_000  # records of a workspace from which on its counts do not change much in a minute
SAMPLE = 5_000  # records whose mean length is taken as that of all
ADMITTED = (0, 1, 2, 4, 8)  # records per hit that are checked one by one, in steps; then all that may be found
PART = np.dtype([("rid", ">i8"), ("part", ">f4")])  # as Postgres sends it


FRESH = 60.0  # seconds for which a count is valid
REMEMBERED = 10_000  # maximum entries


class Recent:
    """A thread-safe cache whose entries expire after FRESH seconds."""

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


class Roll:
    """Consecutive numbers for the hashes of records, so that arrays by record have no gaps."""

    def __init__(self) -> None:
        self.rids = np.empty(0, np.int64)
        """The hashes, by number."""
        self._sorted, self._numbers = np.empty(0, np.int64), np.empty(0, np.int64)
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return 3 * self.rids.nbytes

    def numbers(self, rids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each hash."""
        with self._lock:
            places = np.searchsorted(self._sorted, rids)
            known = places < len(self._sorted)
            known[known] = self._sorted[places[known]] == rids[known]
            if not known.all():
                new = np.unique(rids[~known])
                self._add(new, np.searchsorted(self._sorted, new))
                places = np.searchsorted(self._sorted, rids)
            return self._numbers[places]

    def _add(self, new: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        numbers = np.arange(len(self.rids), len(self.rids) + len(new))
        self.rids = np.concatenate([self.rids, new])
        self._sorted = np.insert(self._sorted, places, new)
        self._numbers = np.insert(self._numbers, places, numbers)


class Known:
    """The part of the index for a workspace; its postings have a record's number in place of its hash."""

    def __init__(self) -> None:
        self.roll = Roll()
        self.postings = Postings()
        self.counted = 0
        """The size as counted in the sum over all workspaces."""

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return self.roll.bytes + self.postings.bytes


class PostgresWordIndex:
    """A search with BM25 as in FTS5, except that the length of a text counts each distinct word once."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._bytes = 0
        self._extents = Recent()
        self._lock = threading.Lock()

    def search(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match, best first."""
        known = self._of(queries.workspace_id)
        try:
            return self._search(queries, known, query, allowed, limit)
        finally:
            self._count(queries.workspace_id, known)

    def _search(self, queries: Queries, known: Known, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        asked = visible(allowed) | {"match": query.tsquery() if query.syntax else ""}
        number, length = self._extent(queries, asked["kinds"])
        postings = _caught_up(queries, known, query.terms(), {"kinds": asked["kinds"], "length": length})
        numbers = np.concatenate([posting.rids for posting in postings])
        parts = [posting.parts * rarity(len(posting.rids), number) for posting in postings]
        scores = cast(NDArray[np.float64], np.bincount(numbers, np.concatenate(parts)))
        if query.every:
            scores[np.bincount(numbers) < len(postings)] = 0
        order, found = best(scores, ADMITTED[-1] * limit), list[tuple[str, float]]()
        for begin, end in pairwise(ADMITTED):
            found += _admitted(queries, known.roll, scores, order[begin * limit : end * limit], asked)
            if len(found) >= limit or len(order) < end * limit:
                return found[:limit]
        row = queries.one("search.passing", **asked)
        passing = known.roll.numbers(np.frombuffer(row["rids"] if row else b"", ">i8").astype(np.int64))
        kept = np.zeros_like(scores)
        kept[passing[passing < len(kept)]] = scores[passing[passing < len(kept)]]
        return _admitted(queries, known.roll, kept, best(kept, limit), asked)

    @property
    def bytes(self) -> int:
        """The size in memory, of all workspaces."""
        return self._bytes

    def _of(self, workspace_id: str) -> Known:
        with self._lock:
            known = self._known.setdefault(workspace_id, Known())
            self._known.move_to_end(workspace_id)
            return known

    def _count(self, workspace_id: str, known: Known) -> None:
        """Count what a search added; drop the least recently searched workspaces if memory runs short."""
        with self._lock:
            if self._known.get(workspace_id) is not known:
                return
            size = known.bytes
            self._bytes, known.counted = self._bytes + size - known.counted, size
            while len(self._known) > 1 and self._bytes > MEMORY:
                _, oldest = self._known.popitem(last=False)
                self._bytes -= oldest.counted

    def _extent(self, queries: Queries, kinds: str) -> tuple[int, float]:
        """Return the number of records of some kinds, and their mean number of distinct words."""
        always = (queries.workspace_id, kinds)
        now = (*always, queries.marks()["changes"])
        known: tuple[int, float] | None = self._extents.get(always) or self._extents.get(now)
        if known is None:
            row = queries.one("search.extent", kinds=kinds, sample=SAMPLE) or {}
            known = max(row["number"], 1), max(row["length"], 1.0)
            if not queries.writing:
                self._extents.put(always if known[0] >= STEADY else now, known)
        return known


def _caught_up(queries: Queries, known: Known, terms: Sequence[Phrase], given: Row) -> list[Posting]:
    """Return the postings of some terms as of the snapshot."""
    come, asked = queries.marks(), {f"{given['kinds']} {term.tsquery()}": term for term in terms}
    found = known.postings.known(queries.workspace_id, asked, come["changes"])
    behind = {match: posting for match, posting in found.items() if posting.added < come["changes"]}
    parted = {
        match: posting
        for match, posting in behind.items()
        if posting.added >= come["oldest_change"] and not posting.outdated(0)
    }
    whole = [match for match in behind if match not in parted]
    if whole:
        rows = queries.all("words.parts", terms=_listed(asked, whole), **given)
        found |= {match: _whole(known.roll, row, come) for match, row in zip(whole, rows, strict=True)}
    if parted:
        since = min(posting.added for posting in parted.values())
        rows = queries.all("words.further", terms=_listed(asked, parted), since=since, **given)
        for (match, posting), row in zip(parted.items(), rows, strict=True):
            found[match] = _continued(posting, _whole(known.roll, row, come))
    if not queries.writing:
        known.postings.keep(queries.workspace_id, {match: found[match] for match in behind})
    return list(found.values())


def _listed(asked: Mapping[str, Phrase], matches: Iterable[str]) -> str:
    return json.dumps([[asked[match].tsquery(), asked[match].tsquery("A")] for match in matches])


def _whole(roll: Roll, row: Row, come: Row) -> Posting:
    read = np.frombuffer(row["parts"], PART)
    numbers, parts = roll.numbers(read["rid"].astype(np.int64)), read["part"].astype(np.float32)
    order = np.argsort(numbers)
    return Posting(numbers[order], parts[order], come["changes"], come["changes"], (0, len(numbers)))


def _continued(posting: Posting, changed: Posting) -> Posting:
    """Return a posting updated with changed records; those without the term have 0."""
    kept, having = ~np.isin(posting.rids, changed.rids), changed.parts > 0
    rids = np.concatenate([posting.rids[kept], changed.rids[having]])
    parts = np.concatenate([posting.parts[kept], changed.parts[having]])
    return Posting(rids, parts, changed.added, changed.changed, posting.whole)


def _admitted(
    queries: Queries, roll: Roll, scores: NDArray[np.float64], order: NDArray[np.int64], asked: Row
) -> Scored:
    """Return the records, by number, that may be found, best first."""
    of = dict(zip(roll.rids[order].tolist(), scores[order].tolist(), strict=True))
    rows = queries.all("search.admitted", rids=f"{{{','.join(map(str, of))}}}", **asked)
    return sorted(((row["id"], of[row["rid"]]) for row in rows), key=lambda hit: (-hit[1], hit[0]))


def rarity(having: int, number: int) -> float:
    """Return the inverse document frequency of BM25 as FTS5 has it: never 0."""
    return max(math.log((number - having + 0.5) / (having + 0.5)), 1e-6) if having < number else 1e-6
