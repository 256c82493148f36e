"""The index of words in memory: postings, read from FTS5 when a term is first searched.

FTS5 itself looks up the length of each record that matches a query, which takes 50 ms for 50,000 of them.

A posting catches up before each search, as the index of vectors does: `rid` grows with each record, `seq` with each
change. It is read again from the first new or changed record on.
"""

import json
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from memoryd.store.base import Queries, Row, number_of
from memoryd.store.postings import Posting, Postings

TITLE_WEIGHT, TYPE_WEIGHT, BODY_WEIGHT, TAGS_WEIGHT = 2.0, 1.0, 1.0, 1.0
WEIGHTS = {"title": TITLE_WEIGHT, "type": TYPE_WEIGHT, "body": BODY_WEIGHT, "tag": TAGS_WEIGHT}
SCALE = 2**26  # scale of BM25 in the lower half of a number whose upper half is the rid; BM25 of a term is below 2**6
NEVER = np.iinfo(np.int64).max
LOWER_HALF = 2**32 - 1


class WordIndex:
    """The postings of the searched terms, of all workspaces of a store."""

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
