"""Pairs of memories that may contradict each other, found by vectors and words, for a person to judge."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from memoryd.core.engine import Engine
from memoryd.core.maintenance import verdicts
from memoryd.core.maintenance.consolidation import Closeness, by_age, neighbours
from memoryd.core.records import deduplication, records
from memoryd.core.search import changes, cross_encoder, current
from memoryd.core.search.current import Couple
from memoryd.model import Filter, Kind, Record, Workspace
from memoryd.models.helpers import Helpers
from memoryd.models.rerankers import Reranker
from memoryd.store.base import Queries

RECENT = 500  # memories compared with their neighbours, the last changed ones
BATCH = 50  # memories compared in one snapshot
PATIENCE = 5.0  # seconds after which no further batch is compared, because a person is waiting
WHY: Mapping[str, str] = {
    "change_words": "speaks of a change",
    "differs": "states it otherwise",
    "old_value": "names what changed",
    "same_sentence": "is nearly the same sentence",
    "shares_words": "shares words",
    "near": "is close in meaning",
    "same_matter": "is about the same matter",
}
"""What speaks for a contradiction: what the newer one does."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two memories of which the newer one may replace the older one."""

    older: Record
    newer: Record
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """The pairs that were found, the newest first, and how many memories were compared."""

    found: tuple[Contradiction, ...] = ()
    compared: int = 0
    all: bool = True
    """Whether no memories were left out because others were changed later."""
    degraded: str = ""
    """A sentence that says which memories were not compared for want of vectors; '' if all have one, or none can."""


def survey(engine: Engine, workspace: Workspace) -> Survey:
    """Return the pairs of living memories that may contradict; without an embedder none. Change nothing."""
    memories = Filter(kinds=(Kind.MEMORY,))
    embedder, degraded = engine.embedding.ask(
        workspace, None, lambda question: (question.embedder, question.degraded(memories, "not compared"))
    )
    if embedder is None:
        return Survey(degraded=degraded)
    recent = {"longest": current.LONGEST, "limit": RECENT + 1}
    rows = [row["id"] for row in engine.store.read(workspace, lambda q: q.all("maintenance.recent", **recent))]
    until, near, ids, compared = time.monotonic() + PATIENCE, Closeness(), list[str](), 0
    while len(ids) < min(len(rows), RECENT) and time.monotonic() < until:
        batch = rows[len(ids) : min(len(ids) + BATCH, RECENT)]
        compare = partial(neighbours, index=engine.store.index, embedder=embedder, ids=batch)
        found, these = engine.store.read(workspace, compare)
        near, ids, compared = near | found, ids + batch, compared + len(these)
    helpers = engine.helpers
    helpers.reranker.start()
    likely = engine.store.read(workspace, lambda q: list(_likely(q, ids, near)))
    pairs = _contradictions(likely, helpers, helpers.reranker.get(helpers.patience))
    newest_first = sorted(pairs, key=lambda pair: (pair.newer.created_at, pair.newer.id), reverse=True)
    return Survey(tuple(newest_first), compared, len(ids) == len(rows), degraded)


def _contradictions(
    likely: Iterable[tuple[Record, Record, Couple]], helpers: Helpers, reranker: Reranker | None
) -> Iterator[Contradiction]:
    """Yield those of the pairs that are about one matter, if the cross-encoder is there to tell."""
    for older, newer, couple in likely:
        found = couple.evidence(cross_encoder.matter(helpers, reranker, couple.older, couple.newer))
        if found.total >= changes.SUGGESTED:
            why = tuple(WHY[part] for part, points in found.parts.items() if points > 0 and part in WHY)
            yield Contradiction(older, newer, why)


def _likely(queries: Queries, ids: list[str], near: Closeness) -> Iterator[tuple[Record, Record, Couple]]:
    """Yield the pairs of statements that may contradict, except those of which both are known to hold."""
    wanted = near.keys() - verdicts.held(queries)
    everything = records.fetch(queries, sorted({*ids, *(key for both in wanted for key in both)}), "")
    plain = {key: one for key, one in everything.items() if one.name is None and current.states(one)}
    common = current.common_stems([one.body for one in plain.values()])
    for both in wanted:
        if both <= plain.keys():
            older, newer = by_age(*(plain[key] for key in both))
            couple = Couple(older.body, newer.body, near[both], common)
            if couple.evidence().total >= changes.SUGGESTED and not deduplication.same(older.body, newer.body):
                yield older, newer, couple
