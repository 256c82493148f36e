"""The one read path: candidates by words and by vector, fused, lifted, gated, scored, reranked, deduplicated."""

import json
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from memoryd.core.base.clock import hours_since
from memoryd.core.engine import Engine
from memoryd.core.records import perspectives
from memoryd.core.records.deduplication import may_differ
from memoryd.core.records.records import fetch, full_text
from memoryd.core.search import as_of as past
from memoryd.core.search import ranking
from memoryd.core.search.as_of import Past
from memoryd.core.search.ranking import Neighbours, Profile
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Filter, Findings, Hit, Record, VectorSet, Workspace
from memoryd.models.embedders import Embedder
from memoryd.query_syntax import WordQuery, literal_query, parse_query
from memoryd.store.base import Vector

log = logging.getLogger(__name__)

Mode = Literal["auto", "embedding", "text"]
"""Whether meaning and words decide, or one of them alone (c)."""

COMPARED = 50  # hits that are compared with each other for near-duplicates


@dataclass(frozen=True, slots=True)
class Candidates:
    """What words and vectors found: BM25 and cosine by id, and the embedder of the vectors, if any."""

    words: Mapping[str, float]
    vectors: Mapping[str, float] = field(default_factory=dict)
    embedder: Embedder | None = None
    vector: Vector = field(default_factory=lambda: np.empty(0, np.float32))
    """The question's own; empty where there is no embedder."""
    nearest_from: Mapping[str, str] = field(default_factory=dict)
    """The perspective from which a record came nearest."""
    closed: bool = False
    """Whether the query's syntax decides what belongs in: no others then, however near."""
    past: Past | None = None
    """What there was at the time that the question is about, if it is not about now."""
    degraded: str = ""
    """What meaning could not be asked about, in one sentence; '' where nothing is amiss."""


class Search:
    """Finds records of one workspace."""

    def __init__(self, engine: Engine, workspace: Workspace, profile: Profile = ranking.RECALL) -> None:
        self._engine = engine
        self._workspace = workspace
        self._profile = profile

    def find(self, query: str, allowed: Filter, as_of: str = "") -> Findings[Hit]:
        """The records that bear on a query, best first, each with the parts of its score.

        With `as_of`, a time, those that lived then, as they were.
        """
        candidates = self._then(query, allowed, as_of) if as_of else self.candidates(query, allowed)
        found = self._ranked(query, candidates, allowed)
        return replace(found, best=self._distinct(found.best, candidates))

    def matches(self, query: str, allowed: Filter) -> Findings[Hit]:
        """Only records that have a word of the query or lie near it, near-duplicates and all: those that it means."""
        candidates = self.candidates(query, allowed)
        near = similarities(candidates)
        found = self._ranked(query, candidates, allowed)
        meant = [
            hit for hit in found.best if _id(hit) in candidates.words or near.get(_id(hit), 0.0) >= self._profile.near
        ]
        return replace(found, best=meant)

    def _ranked(self, query: str, candidates: Candidates, allowed: Filter) -> Findings[Hit]:
        hits = self._scored(candidates, allowed)
        if candidates.closed:
            return Findings(hits)
        found = self._rerank(query, hits, candidates, allowed)
        return replace(found, degraded=candidates.degraded or found.degraded)

    # candidates ------------------------------------------------------------------------------------------------------

    def candidates(self, query: str, allowed: Filter, mode: Mode = "auto", depth: int = 0) -> Candidates:
        """What words and vectors find, each up to `depth` (else the profile's); `mode` may name one of them alone."""
        depth = depth or self._profile.depth
        if mode == "embedding":
            return self._with_vectors(query, {}, allowed, depth, closed=False)
        parsed = parse_query(query)
        words = self._words(parsed, allowed, depth)
        if not words and parsed and parsed.syntax and not parsed.binding:
            parsed = literal_query(query)
            words = self._words(parsed, allowed, depth)
        closed = bool(parsed and parsed.syntax)
        if mode == "text":
            return Candidates(words, closed=closed)
        return self._with_vectors(query, words, allowed, depth, closed=closed)

    def _then(self, query: str, allowed: Filter, as_of: str) -> Candidates:
        """What is found of the records of a time: those that are still the same, and all others."""
        then = self._engine.store.read(self._workspace, lambda q: past.at(q, as_of, allowed))
        same = self.candidates(query, replace(allowed, among=then.unchanged))
        found = past.by_words(then, query, max(same.words.values(), default=1.0), closed=same.closed)
        near = self._near(then, found, same) if not same.closed else {}
        return replace(same, words={**same.words, **found}, vectors={**same.vectors, **near}, past=then)

    def _near(self, then: Past, found: Mapping[str, float], same: Candidates) -> dict[str, float]:
        """The cosines of those that are otherwise now; none where nothing makes vectors, or it fails."""
        if same.embedder is None:
            return {}
        try:
            return past.by_meaning(then, found, same.embedder, same.vector)
        except ModelError as error:
            log.warning("what was before is searched by words alone: %s", error)
            return {}

    def _with_vectors(
        self, query: str, words: Mapping[str, float], allowed: Filter, depth: int, *, closed: bool
    ) -> Candidates:
        asked = self._engine.embedding.question(self._workspace, query, allowed)
        embedder, vector = asked.embedder, asked.vector
        degraded = "" if closed else asked.degraded  # syntax asks for words
        if embedder is None:
            return Candidates(words, closed=closed, degraded=degraded)
        only = list(words) if closed else None
        best: dict[str, float] = {}
        nearest_from: dict[str, str] = {}
        for perspective in self._perspectives():
            aside = 0.0 if perspective == GENERAL else self._profile.aside * (1 - embedder.unrelated)
            for key, cosine in self._cosines(VectorSet(perspective, embedder.name), vector, allowed, depth, only):
                if cosine - aside > best.get(key, -np.inf):
                    best[key], nearest_from[key] = cosine - aside, perspective
        return Candidates(words, best, embedder, vector, nearest_from, closed, degraded=degraded)

    def _words(self, parsed: WordQuery | None, allowed: Filter, depth: int) -> dict[str, float]:
        return dict(self._engine.store.words(self._workspace, parsed, allowed, depth)) if parsed else {}

    def _perspectives(self) -> list[str]:
        if not self._profile.every_perspective:
            return [GENERAL]
        return list(self._engine.store.read(self._workspace, perspectives.templates))

    def _cosines(
        self, among: VectorSet, vector: Vector, allowed: Filter, depth: int, only: Sequence[str] | None
    ) -> Iterable[tuple[str, float]]:
        store = self._engine.store
        if only is not None:
            return store.cosines(self._workspace, among, vector, only).items()
        return store.nearest(self._workspace, among, vector, allowed, depth)

    # scores ----------------------------------------------------------------------------------------------------------

    def _scored(self, candidates: Candidates, allowed: Filter) -> list[Hit]:
        """Every candidate with its composite score, best first."""
        profile = self._profile
        words, vectors = spread(candidates, profile.depth)
        fused = ranking.fuse(words, vectors, profile.alpha)
        around = self._neighbours(_best(fused, profile.lifting), candidates, allowed)
        nearby = (key for near in around.values() for key in near)
        found = list(dict.fromkeys([*_best(fused, profile.depth), *nearby]))
        records = self._fetch(found, allowed)
        if candidates.past:
            records |= {key: record for key, record in candidates.past.others.items() if key in fused}
        lifted = ranking.lift(fused, _among(records, around), _lengths(records), profile)
        now = datetime.now(UTC)
        hits = []
        for key, fusion in ranking.gate({key: lifted[key] for key in lifted if key in records}, profile.gate).items():
            parts = {"fusion": fusion} | self._circumstances(records[key], now)
            why = {"words": words.get(key, 0.0), "meaning": vectors.get(key, 0.0),
                   "context": lifted[key] - fused.get(key, 0.0)} | parts  # fmt: skip
            hits.append(Hit(record=records[key], score=ranking.composite(parts, profile), why=why))
        return sorted(hits, key=lambda hit: -hit.score)

    def _circumstances(self, record: Record, now: datetime) -> dict[str, float]:
        """What speaks for a memory whatever the question."""
        profile = self._profile
        recalled = hours_since(record.accessed_at, now) if record.accessed_at else 0.0
        return {
            "recency": ranking.recency(hours_since(record.updated_at, now), profile),
            "importance": record.importance,
            "access": ranking.access(record.access_count, recalled, profile),
        }

    def _neighbours(self, ids: Sequence[str], candidates: Candidates, allowed: Filter) -> Neighbours:
        """The records around each of `ids`; none where there are no sessions, no vectors, or something parts them."""
        apart = candidates.closed or candidates.past or allowed.tags
        if candidates.embedder is None or not self._profile.lift or apart:
            return {}
        rows = self._engine.store.read(
            self._workspace, lambda q: q.all("records.neighbours", ids=json.dumps(ids), session=allowed.session)
        )
        around = {row["id"]: [row[place] for place in _PLACES if row[place]] for row in rows}
        every = list(dict.fromkeys([*around, *(key for near in around.values() for key in near)]))
        vectors = self._vectors(every, candidates)

        def related(one: str, other: str) -> float:
            cosine = float(vectors[one][0] @ vectors[other][0])
            return ranking.related(ranking.rescale(cosine, _unrelated(candidates)), self._profile)

        return {
            key: {other: related(key, other) for other in near if other in vectors}
            for key, near in around.items() if key in vectors
        }  # fmt: skip

    def _fetch(self, ids: Sequence[str], allowed: Filter) -> dict[str, Record]:
        """The records among `ids` that may be found: a neighbour may be of another kind."""
        found = self._engine.store.read(self._workspace, lambda q: fetch(q, ids, allowed.session))
        return {
            key: self._engine.accesses.current(self._workspace, record)
            for key, record in found.items()
            if not allowed.kinds or record.kind in allowed.kinds
        }

    # the cross-encoder -----------------------------------------------------------------------------------------------

    def _rerank(self, query: str, hits: Sequence[Hit], candidates: Candidates, allowed: Filter) -> Findings[Hit]:
        """The head as the cross-encoder orders it, then the rest; once something was cut off, the list ends there."""
        profile = self._profile
        head = {_id(hit): hit for hit in hits[: self._head(hits)]}
        logits = self._read(query, head, candidates)
        if not logits:
            why_not = self._engine.helpers.why_not("reranker") if head else ""
            return Findings(list(hits), f"Not reranked: {why_not}." if why_not else "")
        around = _among(head, self._neighbours(list(head), candidates, allowed))
        lengths = _lengths({key: hit.record for key, hit in head.items()})
        lifted = ranking.lift(logits, around, lengths, profile)
        scores = ranking.blend(lifted, {key: hit.score for key, hit in head.items()}, profile)
        order = sorted(scores, key=lambda key: -scores[key])
        kept = ranking.close_gap(order, lifted, similarities(candidates), profile)
        reranked = [
            replace(head[key], score=ranking.sigmoid(scores[key]), why={**head[key].why, "reranker": logits[key]})
            for key in kept
        ]
        if len(kept) < len(order):
            return Findings(reranked)
        below = reranked[-1].score  # the rest goes on where the head ends
        return Findings(reranked + [replace(hit, score=hit.score * below) for hit in hits[len(head) :]])

    def _head(self, hits: Sequence[Hit]) -> int:
        """How many of the hits the cross-encoder reads."""
        number, left = 0, self._profile.reading
        for hit in hits[: self._profile.head]:
            left -= self._part(len(hit.record.body))
            if left < 0 and number:
                break
            number += 1
        return number

    def _part(self, length: int) -> int:
        """How many characters are read of a text: its beginning, or one chunk of a long one."""
        read = self._profile.read
        return min(length, read) if length <= 2 * read else 2 * read

    def _read(self, query: str, head: Mapping[str, Hit], candidates: Candidates) -> dict[str, float]:
        """What the cross-encoder says of each; nothing where there is none."""
        if not head:
            return {}
        self._engine.helpers.reranker.start()
        reranker = self._engine.helpers.reranker.get(self._engine.helpers.patience)
        if reranker is None:
            return {}
        try:
            return dict(zip(head, reranker.score(query, self._passages(head, candidates)), strict=True))
        except ModelError as error:
            log.warning("not reranked: %s", error)
            return {}

    def _passages(self, head: Mapping[str, Hit], candidates: Candidates) -> list[str]:
        """The beginning of each text; of one that was embedded in chunks the one nearest to the question."""
        texts = {key: full_text(hit.record) for key, hit in head.items()}
        long = [key for key, text in texts.items() if len(text) > 2 * self._profile.read]
        chunks = self._vectors(long, candidates)
        return [
            _nearest_part(text, chunks[key] @ candidates.vector) if key in chunks else text[: self._profile.read]
            for key, text in texts.items()
        ]

    def _vectors(self, ids: Sequence[str], candidates: Candidates) -> dict[str, Vector]:
        if not ids or candidates.embedder is None:
            return {}
        return self._engine.store.vectors(self._workspace, VectorSet(GENERAL, candidates.embedder.name), ids)

    # near-duplicates -------------------------------------------------------------------------------------------------

    def _distinct(self, hits: Sequence[Hit], candidates: Candidates) -> list[Hit]:
        """Without what nearly repeats a better hit. Texts that may state different facts are all kept."""
        vectors = self._vectors([_id(hit) for hit in hits[:COMPARED]], candidates)
        compared = [hit for hit in hits[:COMPARED] if _id(hit) in vectors]
        if len(compared) < 2:
            return list(hits)
        whole = np.stack([ranking.whole(vectors[_id(hit)]) for hit in compared])
        near = ranking.rescale(whole @ whole.T, _unrelated(candidates)) >= self._profile.same
        repeated: set[str] = set()
        for better, worse in np.argwhere(np.triu(near, 1)).tolist():
            one, other = compared[better], compared[worse]
            if _id(one) not in repeated and not may_differ(full_text(one.record), full_text(other.record)):
                repeated.add(_id(other))
        return [hit for hit in hits if _id(hit) not in repeated]


_PLACES = ("before_id", "before_that_id", "after_id", "after_that_id")


def _unrelated(candidates: Candidates) -> float:
    return candidates.embedder.unrelated if candidates.embedder else 0.0


def spread(candidates: Candidates, depth: int) -> tuple[dict[str, float], dict[str, float]]:
    """The scores by words and by vectors, each as parts of its best; lists of `depth` were cut off there."""
    return (
        ranking.spread(candidates.words, 0.0, cut=len(candidates.words) >= depth),
        ranking.spread(candidates.vectors, _unrelated(candidates), cut=len(candidates.vectors) >= depth),
    )


def similarities(candidates: Candidates) -> dict[str, float]:
    """The rescaled cosines of query and record."""
    return {key: ranking.rescale(cosine, _unrelated(candidates)) for key, cosine in candidates.vectors.items()}


def _nearest_part(text: str, cosines: Vector) -> str:
    """The part of a text whose chunk has the best cosine; chunks are evenly long."""
    size, best = len(text) / len(cosines), int(cosines.argmax())
    return text[int(best * size) : int((best + 1) * size) + 1]


def _id(hit: Hit) -> str:
    return hit.record.id


def _best(scores: Mapping[str, float], number: int) -> list[str]:
    return sorted(scores, key=lambda key: -scores[key])[:number]


def _among(known: Container[str], neighbours: Neighbours) -> Neighbours:
    """The neighbours that are known."""
    return {key: {other: part for other, part in near.items() if other in known} for key, near in neighbours.items()}


def _lengths(records: Mapping[str, Record]) -> dict[str, int]:
    return {key: len(record.body) for key, record in records.items()}
