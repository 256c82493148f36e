"""Consolidation: which memories say the same, or no longer hold, and what is to be done about that.

Two memories whose words leave no doubt are merged. Of others that lie close, a language model says whether they are
duplicates, contradict each other or are distinct; without one they stay as they are.
"""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from memoryd import ranking
from memoryd.core import duplicates, records, writing
from memoryd.core.acts import Act
from memoryd.core.engine import Engine
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.models.llm import Llm
from memoryd.models.providers import Spec
from memoryd.store.base import Queries

log = logging.getLogger(__name__)

NEAREST = 8  # of each memory are compared with it: fewer may all be about others of whom the same is said
CLOSE = 0.2  # rescaled cosine from which on a language model is asked: `lives in Berlin`, `moved to Lisbon` have .24


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that lie close, and their rescaled cosine."""

    older: Record
    newer: Record
    similarity: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be done about a batch of memories, and which of them need not be looked at again."""

    acts: tuple[Act, ...]
    settled: tuple[str, ...]

    def settle(self, queries: Queries) -> None:
        """They are not looked at again, until they are said again."""
        queries.run("maintenance.settle", ids=json.dumps(self.settled))


def judge(engine: Engine, workspace: Workspace, fresh: Sequence[str], llm: Llm | None) -> Judgement:
    """Compare some memories with what lies close to them."""
    pairs, compared = close_pairs(engine, workspace, fresh)
    certain = [pair for pair in pairs if duplicates.same(pair.older.body, pair.newer.body)]
    doubtful = [pair for pair in pairs if pair not in certain and pair.similarity >= CLOSE]
    acts = [_merged(pair, "says the same in the same words") for pair in certain]
    settled = set(compared)
    if llm is not None and doubtful:
        try:
            acts += _told(llm, doubtful)
        except ModelError as error:
            log.info("not consolidated by a language model: %s", error)
            settled -= {memory.id for pair in doubtful for memory in (pair.older, pair.newer)}
    return Judgement(tuple(acts), tuple(key for key in fresh if key in settled))


def close_pairs(engine: Engine, workspace: Workspace, fresh: Sequence[str]) -> tuple[list[Pair], list[str]]:
    """The pairs of memories, at least one of them fresh, that lie closest; and which of the fresh could be compared.

    One whose vector is yet to be made is not compared. Where nothing makes vectors, only equal texts are pairs.
    """
    rows = engine.store.read(workspace, lambda q: q.all("maintenance.twins", ids=json.dumps(list(fresh))))
    near = {frozenset((row["one"], row["other"])): 1.0 for row in rows}
    compared = list(fresh) if Spec.parse(engine.settings.embedder).off else []
    if embedder := engine.embedding.serving(workspace):
        among = VectorSet(GENERAL, embedder.name)
        vectors = engine.store.vectors(workspace, among, fresh)
        compared = list(vectors)
        for key, chunks in vectors.items():
            mean = chunks.mean(0)
            unit = np.asarray(mean / np.linalg.norm(mean), np.float32)
            for other, cosine in engine.store.nearest(
                workspace, among, unit, Filter(kinds=(Kind.MEMORY,)), NEAREST + 1
            ):  # fmt: skip
                if other != key:
                    near.setdefault(frozenset((key, other)), ranking.rescale(cosine, embedder.unrelated))
    return _pairs(engine, workspace, near), compared


def _pairs(engine: Engine, workspace: Workspace, near: dict[frozenset[str], float]) -> list[Pair]:
    ids = sorted({key for both in near for key in both})
    found = engine.store.read(workspace, lambda q: records.fetch(q, ids, ""))
    memories = {key: one for key, one in found.items() if one.kind is Kind.MEMORY and one.name is None}
    pairs = []
    for both, similarity in near.items():
        if memories.keys() >= both:
            older, newer = sorted((memories[key] for key in both), key=lambda one: (one.created_at, one.id))
            pairs.append(Pair(older, newer, similarity))
    return sorted(pairs, key=lambda pair: (pair.older.created_at, pair.older.id, pair.newer.created_at))


def _told(llm: Llm, pairs: Sequence[Pair]) -> Iterable[Act]:
    """What a language model makes of pairs. Raises ModelError."""
    said = [sorted((pair.older, pair.newer), key=_last_said) for pair in pairs]
    verdicts = writing.judge(llm, [(before, after) for before, after in said])
    for pair, (before, after), verdict in zip(pairs, said, verdicts, strict=True):
        if verdict is None or verdict.verdict == "distinct":
            continue
        reason = f"{verdict.reason.strip() or verdict.verdict} ({llm.name})"
        if verdict.verdict == "duplicate":
            yield _merged(pair, reason)
        else:
            yield Act(ending="superseded", gone=(before,), by=after, reason=reason)


def _last_said(memory: Record) -> tuple[str, ...]:
    return memory.updated_at, memory.created_at, memory.id


def _merged(pair: Pair, reason: str) -> Act:
    """The older one is kept; of equal ones too, for others may point to it."""
    return Act(ending="merged", gone=(pair.newer,), by=pair.older, reason=reason)
