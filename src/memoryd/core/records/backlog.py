"""The records that lack a vector of a model, tracked by events so that a search need not scan all records.

Only the vector from the general perspective counts: a record that has it can be found by meaning.
"""

import json
import math
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from memoryd.model import GENERAL, Filter
from memoryd.store.base import AFTER_EVERY_ID, Queries, number_of, visible

KNOWN = 10_000  # records whose ids are kept; if there are more, only their number is kept ...
RECOUNT = 5.0  # ... and counted again after so many seconds, which takes 20 ms at 100,000 records
NEWS = 1_000  # events that are applied one by one; if there are more, the records are counted again


@dataclass(frozen=True, slots=True)
class Lacking:
    """How many of the records that a search may see lack a vector, and which."""

    number: int = 0
    ids: tuple[str, ...] = ()
    """Empty if more than KNOWN records of the workspace lack one; `number` then counts all of them, unfiltered."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The records that lacked a vector at the event `seq`."""

    seq: int
    ids: AbstractSet[str] | None
    """None if they are more than KNOWN."""
    number: int = 0
    counted: float = math.inf


class Backlog:
    """The records that lack vectors, by workspace and model, as far as this process knows them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}

    def forget(self, workspace_id: str) -> None:
        """Discard what is known of a workspace, after a change that no event records."""
        for place in list(self._known):
            if place[0] == workspace_id:
                self._known.pop(place, None)

    def lacking(self, queries: Queries, sets: Mapping[str, str], allowed: Filter) -> Lacking:
        """Return the records that pass a filter and lack a vector in both of two sets, `model` and `other`."""
        place = (queries.workspace_id, sets["model"])
        known = self._kept_up(place, queries, sets)
        self._known[place] = known
        if known.ids is None:
            return Lacking(known.number)
        if not known.ids:
            return Lacking()
        rows = queries.all(
            "embeddings.lacking",
            ids=json.dumps(sorted(known.ids)),
            perspective=GENERAL,
            **sets,
            **visible(allowed),
        )
        self._known[place] = replace(known, ids={row["id"] for row in rows})
        seen = tuple(row["id"] for row in rows if row["seen"])
        return Lacking(len(seen), seen)

    def _kept_up(self, place: tuple[str, str], queries: Queries, sets: Mapping[str, str]) -> _Known:
        """Return what is known, updated by the events since then; count again if they do not suffice."""
        latest, known = number_of(queries, "events.latest"), self._known.get(place)
        if known is None or latest < known.seq or time.monotonic() > known.counted + RECOUNT:
            return _counted(queries, sets, latest)
        if known.ids is None or latest == known.seq:
            return known
        news = queries.all("events.subjects", after=known.seq, limit=NEWS + 1)
        if len(news) > NEWS:
            return _counted(queries, sets, latest)
        return _Known(latest, known.ids | {row["subject"] for row in news})


def _counted(queries: Queries, sets: Mapping[str, str], latest: int) -> _Known:
    """Return what the rows say; the records themselves are listed only if some lack a vector, but not too many."""
    number = number_of(queries, "embeddings.behind", perspective=GENERAL, **sets)
    if number > KNOWN:
        return _Known(latest, None, number, time.monotonic())
    if number <= 0:
        return _Known(latest, frozenset())
    rows = queries.all(
        "embeddings.missing",
        **sets,
        perspectives=json.dumps([GENERAL]),
        many=1,
        after="",
        last=AFTER_EVERY_ID,
        limit=number,
    )
    return _Known(latest, {row["id"] for row in rows})
