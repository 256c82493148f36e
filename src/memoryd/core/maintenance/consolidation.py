"""Consolidation: finds duplicate and contradicting memories, and decides what to do about them.

Two memories with the same words are merged. For others with similar vectors a language model decides whether they are
duplicates, contradict each other or are distinct; without one they are kept.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memoryd.core.engine import Engine
from memoryd.core.llm import generation
from memoryd.core.maintenance import verdicts
from memoryd.core.maintenance.actions import BY_WORDS, JUDGED, Act
from memoryd.core.records import deduplication, records
from memoryd.core.records.spaces import routes
from memoryd.core.search import ranking
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.models.embedders import Embedder
from memoryd.models.llm import Writer
from memoryd.store.base import Index, Queries

log = logging.getLogger(__name__)

NEAREST = 8  # neighbours compared with each memory; fewer might all say the same about other subjects
CLOSE = 0.2  # minimum rescaled cosine of a pair for the language model: `lives in Berlin`, `moved to Lisbon` have .24

MemoryPair = tuple[Record, Record]
"""Two memories, the older one first."""
Closeness = dict[frozenset[str], float]
"""The rescaled cosines of pairs of memories, by their ids."""
MemoriesByKey = defaultdict[str, list[Record]]
"""Memories by the key of their text."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The actions for a batch of memories, and the memories that need not be compared again."""

    acts: tuple[Act, ...]
    settled: Mapping[str, str]
    """The key of each memory's text, by id; later memories find it by this key."""
    state: int
    """BY_WORDS or JUDGED."""

    def settle(self, queries: Queries) -> None:
        """Mark the memories as consolidated; storing a text again clears its mark, so that it can still be judged."""
        rows = [{"id": one, "gist": gist, "state": self.state} for one, gist in self.settled.items()]
        queries.many("maintenance.settle", rows)


def judge(
    engine: Engine, workspace: Workspace, ids: Sequence[str], llm: Writer | None, seen: MemoriesByKey
) -> Judgement:
    """Compare memories with consolidated ones, each other and those in `seen`; add them to `seen`."""
    keys, pairs = engine.store.read(workspace, lambda q: _alike(q, ids, seen))
    acts = [_merged(pair, "a duplicate with the same words") for pair in pairs]
    if llm is not None:
        try:
            close, compared = close_pairs(engine, workspace, ids)
            doubtful = [pair for pair in close if pair not in pairs and all(map(generation.is_seen_whole, pair))]
            acts += _judged(llm, doubtful)
            keys = {one: key for one, key in keys.items() if one in compared}
        except ModelError as error:
            log.info("not consolidated by a language model: %s", error)
            keys = {}
    return Judgement(tuple(acts), keys, JUDGED if llm is not None else BY_WORDS)


def _alike(queries: Queries, ids: Sequence[str], seen: MemoriesByKey) -> tuple[dict[str, str], list[MemoryPair]]:
    """Return the key of each text by id, and the pairs that are certainly duplicates."""
    memories = sorted(records.fetch(queries, ids, "").values(), key=_age)
    keys = {memory.id: deduplication.key(memory.body) for memory in memories}
    twins = queries.all("maintenance.twins", gists=json.dumps(sorted(set(keys.values()))))
    for twin in records.fetch(queries, [row["id"] for row in twins if row["id"] not in keys], "").values():
        seen[deduplication.key(twin.body)].append(twin)
    pairs = []
    for memory in memories:
        others = seen[keys[memory.id]]
        pairs += [by_age(memory, other) for other in others if deduplication.same(memory.body, other.body)]
        others.append(memory)
    return keys, pairs


def close_pairs(engine: Engine, workspace: Workspace, ids: Sequence[str]) -> tuple[list[MemoryPair], Collection[str]]:
    """Return the pairs of similar memories of which at least one is in `ids`, and the `ids` that were compared.

    Memories without a vector are not compared. Raise ModelError if there is no embedder.
    """
    embedder = engine.embedding.serving(workspace)
    if embedder is None:
        raise ModelError("There are no vectors by which similar memories could be found.")

    def work(queries: Queries) -> tuple[list[MemoryPair], Collection[str]]:
        near, compared = neighbours(queries, engine.store.index, embedder, ids)
        wanted = near.keys() - verdicts.held(queries)
        return sorted(_pairs(queries, wanted), key=lambda pair: (_age(pair[0]), _age(pair[1]))), compared

    return engine.store.read(workspace, work)


def neighbours(
    queries: Queries, index: Index, embedder: Embedder, ids: Sequence[str]
) -> tuple[Closeness, Collection[str]]:
    """Return the pairs of close memories of which at least one is in `ids`, and the `ids` that have a vector.

    Some of the others have a key, or belong to a session.
    """
    memories, compared = Filter(kinds=(Kind.MEMORY,)), set[str]()
    near: Closeness = {}
    for route in routes(embedder):
        sets = [VectorSet(GENERAL, model) for model in route.others]
        vectors = index.vectors(queries, VectorSet(GENERAL, route.own), ids)
        compared |= vectors.keys()
        for key, chunks in vectors.items():
            found = index.nearest(queries, sets, ranking.whole(chunks), memories, NEAREST + 1)
            cosines = {other: ranking.rescale(cosine, route.unrelated) for part in found for other, cosine in part}
            near |= {
                frozenset((key, other)): cosines[other] for other in cosines.keys() - {key} if cosines[other] >= CLOSE
            }
    return near, compared


def _pairs(queries: Queries, near: Iterable[frozenset[str]]) -> Iterator[MemoryPair]:
    """Yield the pairs of ids as memories, without pairs that must not be compared."""
    wanted = json.dumps(sorted({key for both in near for key in both}))
    memories = records.fetch(queries, [row["id"] for row in queries.all("maintenance.comparable", ids=wanted)], "")
    for one, other in near:
        if one in memories and other in memories:
            yield by_age(memories[one], memories[other])


def by_age(one: Record, other: Record) -> MemoryPair:
    """Return two memories, the one that was stored first before the other."""
    older, newer = sorted((one, other), key=_age)
    return older, newer


def _age(memory: Record) -> tuple[str, str]:
    return memory.created_at, memory.id


def _judged(llm: Writer, pairs: Sequence[MemoryPair]) -> Iterator[Act]:
    """Yield the actions that a language model decides on for pairs of memories. Raise ModelError."""
    by_update = [(min(pair, key=_last_update), max(pair, key=_last_update)) for pair in pairs]
    for pair, (before, after), verdict in zip(pairs, by_update, generation.judge(llm, by_update), strict=True):
        if verdict is None or verdict.verdict == "distinct":
            continue
        reason = f"{generation.line(verdict.reason) or verdict.verdict} ({llm.name})"
        if verdict.verdict == "duplicate":
            yield _merged(pair, reason)
        else:
            yield Act(ending="superseded", gone=(before,), by=after, reason=reason)


def _last_update(memory: Record) -> tuple[str, ...]:
    return memory.updated_at, *_age(memory)


def _merged(pair: MemoryPair, reason: str) -> Act:
    """Return the merge of the newer memory into the older one, to which others may refer."""
    older, newer = pair
    return Act(ending="merged", gone=(newer,), by=older, reason=reason)
