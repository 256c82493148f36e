"""The postings of a word index in memory: the records that have a term, and what the term adds to the BM25 of each.

BM25 is a sum over the terms of a query, so a posting read for one query serves all others with the same term.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MEMORY = 64 * 2**20  # bytes that all postings together may take; the least recently used go first
TERMS = 4_000  # postings at most: those of rare terms are soon read again, and would pile up as questions do
SMALL = 100  # records of a posting that is always read whole, since that is as fast as reading a part
DRIFT = 0.1  # share by which a posting or the file may change before it is read whole: its BM25 uses the old counts
OVERHEAD = 700  # bytes of a posting besides the contents of its arrays, as measured by tracemalloc

PostingKey = tuple[str, str]
"""A workspace and the expression that a record must match."""


@dataclass(frozen=True, slots=True)
class Posting:
    """The records that match a term, as of a snapshot."""

    rids: NDArray[np.int64]
    parts: NDArray[np.float32]
    """What the term adds to the BM25 of each record."""
    added: int
    """The last record of the file in that snapshot."""
    changed: int
    """The last change of a record in that snapshot."""
    whole: tuple[int, int]
    """The values of `added` and of the number of records when it was last read whole."""

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return self.rids.nbytes + self.parts.nbytes + OVERHEAD

    def outdated(self, added: int) -> bool:
        """Return whether it has to be read whole once the file has had so many records."""
        size, (file, own) = len(self.rids), self.whole
        return size < SMALL or abs(size - own) > DRIFT * own or added - file > DRIFT * file


NOTHING = Posting(np.empty(0, np.int64), np.empty(0, np.float32), -1, 0, (0, 0))


class Postings:
    """The postings of the searched terms, of all workspaces of a store."""

    def __init__(self) -> None:
        self._kept: OrderedDict[PostingKey, Posting] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return self._bytes

    def known(self, workspace_id: str, matches: Iterable[str], changed: int) -> dict[str, Posting]:
        """Return a posting for each match: NOTHING if none is kept, or if it has changes that the snapshot lacks."""
        known = {}
        with self._lock:
            for match in matches:
                key = (workspace_id, match)
                if key in self._kept:
                    self._kept.move_to_end(key)
                posting = self._kept.get(key, NOTHING)
                known[match] = posting if posting.changed <= changed else NOTHING
        return known

    def keep(self, workspace_id: str, postings: dict[str, Posting]) -> None:
        """Keep postings, but do not replace newer ones."""
        with self._lock:
            for match, posting in postings.items():
                key = (workspace_id, match)
                before = self._kept.get(key)
                if before is None or before.changed <= posting.changed:
                    self._kept[key] = posting
                    self._bytes += posting.bytes - (before.bytes if before else 0)
            while self._bytes > MEMORY or len(self._kept) > TERMS:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.bytes


def best(scores: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Return the positions of the greatest scores above 0, best first; of equal scores the first is better."""
    found = np.flatnonzero(scores > 0)
    if number < len(found):
        least = np.partition(scores[found], -number)[-number]
        found = found[scores[found] >= least]
    return found[np.argsort(-scores[found], kind="stable")][:number]
