"""Consolidation: which memories say the same, or no longer hold, and what is to be done about that.

Two memories whose words leave no doubt are merged. Of others that lie close, a language model says whether they are
duplicates, contradict each other or are distinct; without one they stay as they are.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memoryd.core.engine import Engine
from memoryd.core.llm import generation
from memoryd.core.maintenance.actions import BY_WORDS, JUDGED, Act
from memoryd.core.records import deduplication, records
from memoryd.core.search import ranking
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.models.embedders import Embedder
from memoryd.models.llm import Writer
from memoryd.store.base import Index, Queries

log = logging.getLogger(__name__)

NEAREST = 8  # of each memory are compared with it: fewer may all be about others of whom the same is said
CLOSE = 0.2  # rescaled cosine from which on a language model is asked: `lives in Berlin`, `moved to Lisbon` have .24

Pair = tuple[Record, Record]
"""Two memories, the older one first."""
Seen = defaultdict[str, list[Record]]
"""Memories by the key of what they say."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be done about a batch of memories, and which of them need not be looked at again."""

    acts: tuple[Act, ...]
    settled: Mapping[str, str]
    """The key of what each says, by id: by it those that come later find it."""
    state: int
    """BY_WORDS or JUDGED."""

    def settle(self, queries: Queries) -> None:
        """They are not looked at again, until they are said again, or a language model comes to those it has not."""
        rows = [{"id": one, "gist": gist, "state": self.state} for one, gist in self.settled.items()]
        queries.many("maintenance.settle", rows)


def judge(engine: Engine, workspace: Workspace, ids: Sequence[str], llm: Writer | None, seen: Seen) -> Judgement:
    """Compare some memories with what is settled, with each other, and with those in `seen`, where they are added."""
    keys, pairs = engine.store.read(workspace, lambda q: _alike(q, ids, seen))
    acts = [_merged(pair, "says the same in the same words") for pair in pairs]
    if llm is not None:
        try:
            close, compared = close_pairs(engine, workspace, ids)
            doubtful = [pair for pair in close if pair not in pairs and all(map(generation.is_seen_whole, pair))]
            acts += _told(llm, doubtful)
            keys = {one: key for one, key in keys.items() if one in compared}
        except ModelError as error:
            log.info("not consolidated by a language model: %s", error)
            keys = {}
    return Judgement(tuple(acts), keys, JUDGED if llm is not None else BY_WORDS)


def _alike(queries: Queries, ids: Sequence[str], seen: Seen) -> tuple[dict[str, str], list[Pair]]:
    """The key of what each says, and the pairs that say the same for certain."""
    memories = sorted(records.fetch(queries, ids, "").values(), key=_age)
    keys = {memory.id: deduplication.key(memory.body) for memory in memories}
    twins = queries.all("maintenance.twins", gists=json.dumps(sorted(set(keys.values()))))
    for twin in records.fetch(queries, [row["id"] for row in twins if row["id"] not in keys], "").values():
        seen[deduplication.key(twin.body)].append(twin)
    pairs = []
    for memory in memories:
        others = seen[keys[memory.id]]
        pairs += [_pair(memory, other) for other in others if deduplication.same(memory.body, other.body)]
        others.append(memory)
    return keys, pairs


def close_pairs(engine: Engine, workspace: Workspace, ids: Sequence[str]) -> tuple[list[Pair], Collection[str]]:
    """The pairs of memories, at least one of them among `ids`, that lie close, and which of these were compared.

    Those that have no vector yet are not. Raises ModelError where what makes vectors is not there.
    """
    embedder = engine.embedding.serving(workspace)
    if embedder is None:
        raise ModelError("There are no vectors to find memories that lie close.")
    return engine.store.read(workspace, lambda q: _close(q, engine.store.index, embedder, ids))


def _close(
    queries: Queries, index: Index, embedder: Embedder, ids: Sequence[str]
) -> tuple[list[Pair], Collection[str]]:
    among, memories = VectorSet(GENERAL, embedder.name), Filter(kinds=(Kind.MEMORY,))
    vectors = index.vectors(queries, among, ids)
    near: set[frozenset[str]] = set()
    for key, chunks in vectors.items():
        (found,) = index.nearest(queries, [among], ranking.whole(chunks), memories, NEAREST + 1)
        close = (other for other, cosine in found if ranking.rescale(cosine, embedder.unrelated) >= CLOSE)
        near |= {frozenset((key, other)) for other in close if other != key}
    return sorted(_pairs(queries, near), key=lambda pair: (_age(pair[0]), _age(pair[1]))), vectors


def _pairs(queries: Queries, near: Iterable[frozenset[str]]) -> Iterator[Pair]:
    """The pairs of ids as memories, without those that are not to be compared."""
    wanted = json.dumps(sorted({key for both in near for key in both}))
    memories = records.fetch(queries, [row["id"] for row in queries.all("maintenance.comparable", ids=wanted)], "")
    for one, other in near:
        if one in memories and other in memories:
            yield _pair(memories[one], memories[other])


def _pair(one: Record, other: Record) -> Pair:
    older, newer = sorted((one, other), key=_age)
    return older, newer


def _age(memory: Record) -> tuple[str, str]:
    return memory.created_at, memory.id


def _told(llm: Writer, pairs: Sequence[Pair]) -> Iterator[Act]:
    """What a language model makes of pairs. Raises ModelError."""
    said = [(min(pair, key=_last_said), max(pair, key=_last_said)) for pair in pairs]
    for pair, (before, after), verdict in zip(pairs, said, generation.judge(llm, said), strict=True):
        if verdict is None or verdict.verdict == "distinct":
            continue
        reason = f"{generation.line(verdict.reason) or verdict.verdict} ({llm.name})"
        if verdict.verdict == "duplicate":
            yield _merged(pair, reason)
        else:
            yield Act(ending="superseded", gone=(before,), by=after, reason=reason)


def _last_said(memory: Record) -> tuple[str, ...]:
    return memory.updated_at, *_age(memory)


def _merged(pair: Pair, reason: str) -> Act:
    """The older one is kept: others may point to it."""
    older, newer = pair
    return Act(ending="merged", gone=(newer,), by=older, reason=reason)
