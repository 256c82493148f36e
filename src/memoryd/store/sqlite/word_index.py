"""The index of words in memory: which records have a term, and what the term adds to the BM25 of each.

BM25 is a sum over the terms of a question, so what was read from FTS5 for one question serves all others with the same
term. FTS5 itself looks up the length of each record that a question matches, which takes 50 ms for 50,000 of them.

A posting catches up before each search, as the index of vectors does: `rid` grows with each record, `seq` with each
change of one. It is read again from the first record on that is new or was changed.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from memoryd.store.base import Queries, Row
from memoryd.store.sqlite.connection import marks

MEMORY = 64 * 2**20  # bytes that all postings together may take; the least recently used go first
SMALL = 100  # records of a posting that is read whole: that is as quick as a part of it
DRIFT = 0.1  # by which part a posting or the file has changed when it is read whole: its BM25 is of the counts of then
TITLE_WEIGHT, TYPE_WEIGHT, BODY_WEIGHT, TAGS_WEIGHT = 2.0, 1.0, 1.0, 1.0
WEIGHTS = {"title": TITLE_WEIGHT, "type": TYPE_WEIGHT, "body": BODY_WEIGHT, "tag": TAGS_WEIGHT}
SCALE = 2**26  # of BM25 in the lower half of a number whose upper half is the rid; BM25 of a term is below 2**6
NEVER = np.iinfo(np.int64).max
LOWER_HALF = 2**32 - 1
OVERHEAD = 500  # bytes of a posting beside its arrays

PostingKey = tuple[str, str]
"""A workspace and what a record must match."""


@dataclass(frozen=True, slots=True)
class Posting:
    """The records that match a term, as of a snapshot."""

    rids: NDArray[np.int64]
    parts: NDArray[np.float32]
    """What the term adds to the BM25 of each."""
    added: int
    """The last record of the file, in that snapshot."""
    changed: int
    """The last change of a record."""
    whole: tuple[int, int]
    """`added`, and the number of records, when it was last read whole."""

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return self.rids.nbytes + self.parts.nbytes + OVERHEAD

    def before(self, rid: int) -> "Posting":
        """Return the part with the records before one."""
        kept = self.rids < rid
        return Posting(self.rids[kept], self.parts[kept], self.added, self.changed, self.whole)

    def outdated(self, added: int) -> bool:
        """Return whether it is to be read whole by the time that the file has had so many records."""
        size, (file, own) = len(self.rids), self.whole
        return size < SMALL or abs(size - own) > DRIFT * own or added - file > DRIFT * file


NOTHING = Posting(np.empty(0, np.int64), np.empty(0, np.float32), -1, 0, (0, 0))


class WordIndex:
    """The postings of the terms that were asked for, of all workspaces of a store."""

    def __init__(self) -> None:
        self._kept: OrderedDict[PostingKey, Posting] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def scores(self, queries: Queries, matches: Sequence[str], *, every: bool) -> NDArray[np.float64]:
        """Return the BM25 of each rid: the sum of what it has of `matches`; 0 with none, or if `every`, not all."""
        postings = self._caught_up(queries, matches)
        rids = np.concatenate([posting.rids for posting in postings])
        scores = np.bincount(rids, np.concatenate([posting.parts for posting in postings]))
        if every:
            scores[np.bincount(rids) < len(postings)] = 0
        return cast(NDArray[np.float64], scores)

    def numbers(self, queries: Queries, matches: Sequence[str]) -> NDArray[np.int64]:
        """Return how many of `matches` each rid has."""
        rids = np.concatenate([posting.rids for posting in self._caught_up(queries, matches)])
        return np.bincount(rids, minlength=marks(queries)["records"] + 1)

    def _caught_up(self, queries: Queries, matches: Sequence[str]) -> list[Posting]:
        come, known = marks(queries), self._known(queries, matches)
        behind = {
            match: posting for match, posting in known.items()
            if posting.added < come["records"] or posting.changed < come["changes"]
        }  # fmt: skip
        if not behind:
            return list(known.values())
        parted = {match: posting for match, posting in behind.items() if not posting.outdated(come["records"])}
        changed = _first_changed(queries, parted.values(), come)
        first = {match: min(parted[match].added + 1, changed) if match in parted else 0 for match in behind}
        rows = queries.all("words.parts", terms=json.dumps(list(first.items())), scale=SCALE, **WEIGHTS)
        for (match, rid), row in zip(first.items(), rows, strict=True):
            known[match] = _continued(known[match].before(rid), _numbers(row["parts"]), come)
        self._keep(queries, {match: known[match] for match in behind})
        return list(known.values())

    def _known(self, queries: Queries, matches: Sequence[str]) -> dict[str, Posting]:
        """Return the postings that are kept, but none that knows of changes that the snapshot does not have."""
        known = {}
        with self._lock:
            for match in matches:
                key = (queries.workspace_id, match)
                if key in self._kept:
                    self._kept.move_to_end(key)
                posting = self._kept.get(key, NOTHING)
                known[match] = posting if posting.changed <= marks(queries)["changes"] else NOTHING
        return known

    def _keep(self, queries: Queries, postings: dict[str, Posting]) -> None:
        with self._lock:
            for match, posting in postings.items():
                key = (queries.workspace_id, match)
                before = self._kept.get(key)
                if before is None or before.changed <= posting.changed:
                    self._kept[key] = posting
                    self._bytes += posting.bytes - (before.bytes if before else 0)
            while self._bytes > MEMORY:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.bytes


def _first_changed(queries: Queries, postings: Iterable[Posting], come: Row) -> int:
    """Return the first record that was changed since some postings were read; 0 if that is too long ago to be known."""
    seq = min((posting.changed for posting in postings), default=come["changes"])
    if seq >= come["changes"]:
        return NEVER
    if seq + 1 < come["oldest_change"]:
        return 0
    row = queries.one("words.changed", seq=seq)
    assert row is not None
    return int(row["rid"])


def _numbers(listed: str) -> NDArray[np.int64]:
    """Return a JSON list of numbers; thrice as fast as `json` makes one of Python's."""
    return np.fromstring(listed[1:-1], np.int64, sep=",")


def _continued(posting: Posting, further: NDArray[np.int64], come: Row) -> Posting:
    """Return a posting as of a snapshot, with further records and their parts of BM25 in one number each."""
    rids = np.concatenate([posting.rids, further >> 32])
    parts = np.concatenate([posting.parts, ((further & LOWER_HALF) / SCALE).astype(np.float32)])
    whole = posting.whole if len(posting.rids) else (come["records"], len(rids))
    return Posting(rids, parts, come["records"], come["changes"], whole)


def best(scores: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Return the places of the greatest scores above 0, the best first; of equal ones the first is better."""
    found = np.flatnonzero(scores > 0)
    if number < len(found):
        least = np.partition(scores[found], -number)[-number]
        found = found[scores[found] >= least]
    return found[np.argsort(-scores[found], kind="stable")][:number]
