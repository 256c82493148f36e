"""The one read path: candidates by words and by vector, fused, scored, gated, reranked, deduplicated."""

import logging
from collections.abc import Mapping

from memoryd import ranking
from memoryd.core.clock import hours_between
from memoryd.core.engine import Engine
from memoryd.core.records import fetch, text_of
from memoryd.errors import ModelError
from memoryd.model import Filter, Hit, Memory, Workspace
from memoryd.models.embedders import Embedder
from memoryd.ranking import Profile
from memoryd.store.base import Vector
from memoryd.text import may_differ, parse_query

log = logging.getLogger(__name__)
Question = tuple[Embedder, Vector] | None


class Search:
    """Finds records of one workspace."""

    def __init__(self, engine: Engine, workspace: Workspace, profile: Profile = ranking.RECALL) -> None:
        self._engine = engine
        self._workspace = workspace
        self._profile = profile

    def find(self, query: str, allowed: Filter) -> list[Hit]:
        """The records that bear on a query, best first, each with the parts of its score."""
        question = self._engine.embedding.question(self._workspace, query)
        words, vectors = self._candidates(query, question, allowed)
        fused = ranking.fuse(ranking.spread(words), ranking.spread(vectors), self._profile.alpha)
        memories = self._fetch(list(fused), allowed)
        hits = [self._score(memories[key], fused[key]) for key in fused if key in memories]
        hits.sort(key=lambda hit: -hit.score)
        return hits

    def _candidates(
        self, query: str, question: Question, allowed: Filter
    ) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Records by words with their BM25, and by vector with their cosine."""
        store, depth = self._engine.store, self._profile.depth
        parsed = parse_query(query)
        words = dict(store.words(self._workspace, parsed, allowed, depth)) if parsed else {}
        if question is None:
            return words, {}
        embedder, vector = question
        if parsed and parsed.syntax and words:  # who writes operators means them
            return words, store.cosines(self._workspace, embedder.name, vector, list(words))
        return words, dict(store.nearest(self._workspace, embedder.name, vector, allowed, depth))

    def _fetch(self, ids: list[str], allowed: Filter) -> dict[str, Memory]:
        found = self._engine.store.read(self._workspace, lambda q: fetch(q, ids, allowed.session))
        return {key: self._engine.accesses.current(self._workspace, memory) for key, memory in found.items()}

    def _score(self, memory: Memory, fusion: float) -> Hit:
        profile, now = self._profile, self._engine.clock.now()
        recency = ranking.recency(hours_between(memory.record.updated_at, now), profile)
        access = ranking.access(
            memory.access_count, hours_between(memory.accessed_at or memory.record.created_at, now), profile
        )
        why = {"fusion": fusion, "recency": recency, "importance": memory.importance, "access": access}
        score = (
            profile.relevance * fusion + profile.recency * recency
            + profile.importance * memory.importance + profile.access * access
        )  # fmt: skip
        return Hit(memory=memory, score=score, why=why)
