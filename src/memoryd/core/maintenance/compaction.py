"""Compaction: groups of decayed memories are replaced by summaries, which refer to them."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta

from memoryd.core.base.clock import moment
from memoryd.core.engine import Engine
from memoryd.core.llm import generation
from memoryd.core.maintenance.actions import Act, summary
from memoryd.core.maintenance.decay import HALF_LIFE, LEAST, vitality
from memoryd.core.records import records
from memoryd.core.records.retention import FOREVER_DAYS
from memoryd.core.records.spaces import routes
from memoryd.core.search.ranking import rescale, whole
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Record, VectorSet, Workspace
from memoryd.models.llm import Writer
from memoryd.store.base import Queries, Vector

log = logging.getLogger(__name__)

LOOKED_AT = 10_000  # maximum memories of a pass, the least recently changed ones
ALIKE = 0.3  # minimum rescaled cosine of a memory with the first of its group
FEWEST, MOST = 3, 20  # memories of a group


def decayed(engine: Engine, workspace: Workspace) -> list[Record]:
    """Return the memories whose vitality is below the threshold, the most vital first."""
    threshold, now = engine.settings.decay_threshold, engine.clock.now()
    youngest = HALF_LIFE * LEAST * math.log2(1 / threshold) if threshold else FOREVER_DAYS
    before = engine.clock.ago(timedelta(days=youngest))

    def work(queries: Queries) -> list[Record]:
        ids = [row["id"] for row in queries.all("maintenance.aging", before=before, limit=LOOKED_AT)]
        return list(records.fetch(queries, ids, "", engine.accesses.of(workspace)).values())

    found = engine.store.read(workspace, work)
    alive = {memory.id: vitality(memory, moment(now)) for memory in found}
    fading = [memory for memory in found if alive[memory.id] < threshold]
    return sorted(fading, key=lambda memory: (-alive[memory.id], memory.id))


def compact(engine: Engine, workspace: Workspace, llm: Writer, asking: Callable[[], object]) -> Iterator[Act]:
    """Yield the compactions of decayed memories, if there are enough; call `asking` before the model is asked.

    Memories that no statement cites are kept.
    """
    fading = decayed(engine, workspace)
    if len(fading) < engine.settings.compaction_min_group:
        return
    for group in groups(engine, workspace, fading):
        asking()
        try:
            text, cited = generation.condense(llm, group)
        except ModelError as error:
            log.info("not compacted: %s", error)
            return
        if len(cited) > 1:
            reason = f"decayed; {len(cited)} memories replaced by a summary ({llm.name})"
            yield Act(
                ending="compacted", gone=tuple(cited), by=summary(engine.secrets.masked(text), cited), reason=reason
            )


def groups(engine: Engine, workspace: Workspace, memories: Sequence[Record]) -> list[list[Record]]:
    """Return disjoint groups of memories with similar vectors; none if there are no vectors."""
    embedder = engine.embedding.serving(workspace)
    if embedder is None:
        return []
    ids, index = [memory.id for memory in memories], engine.store.index
    found, taken = [], set[str]()
    for route in routes(embedder):  # memories in one language, and what is near them in another
        sets = [VectorSet(GENERAL, model) for model in dict.fromkeys((route.own, *route.others))]
        parts = engine.store.read(workspace, lambda q: [index.vectors(q, among, ids) for among in sets])  # noqa: B023
        means = {key: whole(chunks) for part in parts for key, chunks in part.items() if key not in taken}
        left = [memory for memory in memories if memory.id in means and generation.is_seen_whole(memory)]
        groups = _grouped(left, means, route.unrelated)
        taken |= {memory.id for group in groups for memory in group}
        found += groups
    return found


def _grouped(left: list[Record], means: Mapping[str, Vector], unrelated: float) -> list[list[Record]]:
    found = []
    while left:
        first = left[0]
        alike = {m.id: rescale(float(means[first.id] @ means[m.id]), unrelated) for m in left}
        near = sorted((m for m in left if alike[m.id] >= ALIKE), key=lambda m: -alike[m.id])[:MOST]
        members = {memory.id for memory in (first, *near)}
        left = [memory for memory in left if memory.id not in members]
        if len(members) >= FEWEST:
            found.append(sorted(near, key=lambda memory: (memory.created_at, memory.id)))
    return found
