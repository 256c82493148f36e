"""The search pipeline: candidates by words and by vector, fused, lifted, gated, scored, reranked, deduplicated."""

import json
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from memoryd.core.base.clock import hours_since
from memoryd.core.records import perspectives
from memoryd.core.records.deduplication import may_differ
from memoryd.core.records.embedding import Question
from memoryd.core.records.records import fetch, full_text
from memoryd.core.scope import Scope
from memoryd.core.search import as_of as past
from memoryd.core.search import ranking
from memoryd.core.search.as_of import Past
from memoryd.core.search.ranking import Neighbours, Profile
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Filter, Findings, Hit, Record, VectorSet
from memoryd.models.embedders import Embedder
from memoryd.query_syntax import WordQuery, literal_query, parse_query
from memoryd.store.base import Queries, Vector

log = logging.getLogger(__name__)

Mode = Literal["auto", "embedding", "text"]
"""Search by meaning and words, or by one of them alone (c)."""

COMPARED = 50  # hits that are compared with each other for near-duplicates


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates by words and by vectors: BM25 and cosine by id, and the embedder of the vectors, if any."""

    words: Mapping[str, float]
    vectors: Mapping[str, float] = field(default_factory=dict)
    embedder: Embedder | None = None
    vector: Vector = field(default_factory=lambda: np.empty(0, np.float32))
    """The question's vector; empty without an embedder."""
    nearest_from: Mapping[str, str] = field(default_factory=dict)
    """The perspective from which a record came nearest."""
    closed: bool = False
    """True if the query has operators: only records that match it are returned."""
    degraded: str = ""
    """What could not be searched by meaning, in one sentence; '' where nothing is amiss."""


@dataclass(frozen=True, slots=True)
class Found:
    """All that ranking needs from one snapshot: the models that rank run after it was closed."""

    query: str
    candidates: Candidates
    records: Mapping[str, Record]
    vectors: Mapping[str, Vector]
    """Of the records, from the general perspective; empty without an embedder."""
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The neighbours of some records in their sessions, by id."""
    hits: Sequence[Hit] = ()
    """The candidates by composite score; empty for a question about another time."""
    past: Past | None = None
    """The records of the time that the question is about, if that is not now."""

    @property
    def ids(self) -> list[str]:
        """Return the ids of all records that may be among the hits."""
        return [*self.records, *(self.past.others if self.past else ())]


class Search:
    """Finds records of one workspace: `find` inside a snapshot, then `ranked` or `meant`."""

    def __init__(self, scope: Scope, profile: Profile = ranking.RECALL) -> None:
        self._scope = scope
        self._profile = profile

    def hits(self, query: str, allowed: Filter, as_of: str = "") -> Findings[Hit]:
        """Return the records that bear on a query, best first, each with the parts of its score.

        With `as_of`, a time, return those that existed then, as they were.
        """
        return self.ranked(self._scope.ask(query, lambda question: self.find(question, allowed, as_of)))

    def find(self, question: Question, allowed: Filter, as_of: str = "") -> Found:
        """Return the records that may bear on a question, with all that ranking needs of them."""
        if as_of:
            return self._find_then(question, allowed, as_of)
        queries, candidates = question.queries, self.candidates(question, allowed)
        apart = candidates.closed or allowed.tags or candidates.embedder is None or not self._profile.lift
        fused = self._fused(candidates)
        lifting = [] if apart else _best(fused, self._profile.lifting)
        beside = self._beside(queries, lifting, allowed)
        around = (key for near in beside.values() for key in near)
        ids = list(dict.fromkeys([*_best(fused, self._profile.depth), *around]))
        records, vectors = self._fetch(queries, ids, allowed), self._vectors(queries, ids, candidates)
        found = Found(question.text, candidates, records, vectors, beside)
        hits = self._scored(found)
        further = [] if apart else [_id(hit) for hit in hits[: self._head(hits)] if _id(hit) not in lifting]
        return replace(found, hits=hits, beside={**beside, **self._beside(queries, further, allowed)})

    def _find_then(self, question: Question, allowed: Filter, as_of: str) -> Found:
        """Return the records of a time: the candidates among the unchanged ones, and all others."""
        then = past.at(question.queries, as_of, allowed)
        allowed = replace(allowed, among=then.unchanged)
        candidates = self.candidates(question, allowed)
        ids = _best(self._fused(candidates), 2 * self._profile.depth)
        records = self._fetch(question.queries, ids, allowed)
        return Found(question.text, candidates, records, self._vectors(question.queries, ids, candidates), past=then)

    def ranked(self, found: Found) -> Findings[Hit]:
        """Return the hits, best first, each with the parts of its score, without near-duplicates of better ones."""
        hits, found = self._ordered(found)
        return replace(hits, best=self._distinct(hits.best, found))

    def meant(self, found: Found) -> Findings[Hit]:
        """Return only hits that have a word of the query or are near it in meaning, with near-duplicates."""
        hits, found = self._ordered(found)
        words, near = found.candidates.words, similarities(found.candidates)
        meant = [hit for hit in hits.best if _id(hit) in words or near.get(_id(hit), 0.0) >= self._profile.near]
        return replace(hits, best=meant)

    def _ordered(self, found: Found) -> tuple[Findings[Hit], Found]:
        """Return the hits in order, and `found` completed by what has changed since the time in question."""
        if found.past:
            found = self._with_past(found, found.past)
        if found.candidates.closed:
            return Findings(list(found.hits)), found
        ordered = self._rerank(found.hits, found)
        return replace(ordered, degraded=found.candidates.degraded or ordered.degraded), found

    # candidates ------------------------------------------------------------------------------------------------------

    def candidates(self, question: Question, allowed: Filter, mode: Mode = "auto", depth: int = 0) -> Candidates:
        """Return the candidates by words and by vectors, up to `depth` each (0: the profile's), as `mode` says."""
        depth = depth or self._profile.depth
        degraded = "" if mode == "text" else question.degraded(allowed)
        if mode == "embedding":
            return self._with_vectors(question, Candidates({}, degraded=degraded), allowed, depth)
        parsed = parse_query(question.text)
        words = self._words(question, parsed, allowed, depth)
        if not words and parsed and parsed.syntax and not parsed.binding:
            parsed = literal_query(question.text)
            words = self._words(question, parsed, allowed, depth)
        closed = bool(parsed and parsed.syntax)
        by_words = Candidates(words, closed=closed, degraded="" if closed else degraded)  # syntax asks for words
        return by_words if mode == "text" else self._with_vectors(question, by_words, allowed, depth)

    def _words(self, question: Question, parsed: WordQuery | None, allowed: Filter, depth: int) -> dict[str, float]:
        return dict(self._scope.index.words(question.queries, parsed, allowed, depth)) if parsed else {}

    def _with_vectors(self, question: Question, by_words: Candidates, allowed: Filter, depth: int) -> Candidates:
        """Add the records nearest to the question, each from the perspective from which it is nearest."""
        embedder, queries, index = question.embedder, question.queries, self._scope.index
        if embedder is None:
            return by_words
        names = list(perspectives.templates(queries)) if self._profile.every_perspective else [GENERAL]
        sets = [VectorSet(name, embedder.name) for name in names]
        if by_words.closed:
            cosines = index.cosines(queries, sets, question.vector, list(by_words.words))
        else:
            cosines = list(map(dict, index.nearest(queries, sets, question.vector, allowed, depth)))
        best: dict[str, float] = {}
        nearest_from: dict[str, str] = {}
        for perspective, near in zip(names, cosines, strict=True):
            aside = 0.0 if perspective == GENERAL else self._profile.aside * (1 - embedder.unrelated)
            for key, cosine in near.items():
                if cosine - aside > best.get(key, -np.inf):
                    best[key], nearest_from[key] = cosine - aside, perspective
        return replace(
            by_words, vectors=best, embedder=embedder, vector=question.vector, nearest_from=nearest_from
        )  # fmt: skip

    def _with_past(self, found: Found, then: Past) -> Found:
        """Return `found` together with the records that were changed or deleted since."""
        same, query = found.candidates, found.query
        words = past.by_words(then, query, max(same.words.values(), default=1.0), closed=same.closed)
        near = self._near(then, words, same) if not same.closed else {}
        candidates = replace(same, words={**same.words, **words}, vectors={**same.vectors, **near})
        fused = self._fused(candidates)
        records = {key: found.records[key] for key in _best(fused, self._profile.depth) if key in found.records}
        others = {key: record for key, record in then.others.items() if key in fused}
        found = replace(found, candidates=candidates, records=records | others)
        return replace(found, hits=self._scored(found))

    def _near(self, then: Past, scores: Mapping[str, float], same: Candidates) -> dict[str, float]:
        """Return the cosines of changed and deleted records; none without an embedder, or if it fails."""
        if same.embedder is None:
            return {}
        try:
            return past.by_meaning(then, scores, same.embedder, same.vector)
        except ModelError as error:
            log.warning("changed and deleted records are searched by words alone: %s", error)
            return {}

    def _fetch(self, queries: Queries, ids: Sequence[str], allowed: Filter) -> dict[str, Record]:
        """Return the records among `ids` of the kinds that are allowed: a neighbour may be of another."""
        return {
            key: self._scope.engine.accesses.current(self._scope.workspace, record)
            for key, record in fetch(queries, ids, allowed.session).items()
            if not allowed.kinds or record.kind in allowed.kinds
        }

    def _vectors(self, queries: Queries, ids: Sequence[str], candidates: Candidates) -> dict[str, Vector]:
        if not ids or candidates.embedder is None:
            return {}
        return self._scope.index.vectors(queries, VectorSet(GENERAL, candidates.embedder.name), ids)

    def _beside(self, queries: Queries, ids: Sequence[str], allowed: Filter) -> dict[str, list[str]]:
        """Return the neighbours of each of `ids` in its session."""
        if not ids:
            return {}
        rows = queries.all("records.neighbours", ids=json.dumps(ids), session=allowed.session)
        return {row["id"]: [row[place] for place in _PLACES if row[place]] for row in rows}

    # scores ----------------------------------------------------------------------------------------------------------

    def _fused(self, candidates: Candidates) -> dict[str, float]:
        return ranking.fuse(*spread(candidates, self._profile.depth), self._profile.alpha)

    def _scored(self, found: Found) -> list[Hit]:
        """Return every candidate with its composite score, best first."""
        profile, records = self._profile, found.records
        words, vectors = spread(found.candidates, profile.depth)
        fused = ranking.fuse(words, vectors, profile.alpha)
        around = self._around(found, _best(fused, profile.lifting), records)
        lifted = ranking.lift(fused, around, _lengths(records), profile)
        now = datetime.now(UTC)
        hits = []
        for key, fusion in ranking.gate({key: lifted[key] for key in lifted if key in records}, profile.gate).items():
            parts = {"fusion": fusion} | self._circumstances(records[key], now)
            why = {"words": words.get(key, 0.0), "meaning": vectors.get(key, 0.0),
                   "context": lifted[key] - fused.get(key, 0.0)} | parts  # fmt: skip
            hits.append(Hit(record=records[key], score=ranking.composite(parts, profile), why=why))
        return sorted(hits, key=lambda hit: -hit.score)

    def _circumstances(self, record: Record, now: datetime) -> dict[str, float]:
        """Return the parts of a record's score that do not depend on the question."""
        profile = self._profile
        recalled = hours_since(record.accessed_at, now) if record.accessed_at else 0.0
        return {
            "recency": ranking.recency(hours_since(record.updated_at, now), profile),
            "importance": record.importance,
            "access": ranking.access(record.access_count, recalled, profile),
        }

    def _around(self, found: Found, keys: Iterable[str], known: Container[str]) -> Neighbours:
        """Return the known neighbours of each of `keys`, and how closely they are related."""
        vectors = found.vectors

        def related(one: str, other: str) -> float:
            cosine = float(vectors[one][0] @ vectors[other][0])
            return ranking.related(ranking.rescale(cosine, _unrelated(found.candidates)), self._profile)

        return {
            key: {other: related(key, other) for other in found.beside[key] if other in known and other in vectors}
            for key in keys if key in found.beside and key in vectors
        }  # fmt: skip

    # the cross-encoder -----------------------------------------------------------------------------------------------

    def _rerank(self, hits: Sequence[Hit], found: Found) -> Findings[Hit]:
        """Return the head as the cross-encoder orders it, then the rest, unless some of the head was cut off."""
        profile = self._profile
        head = {_id(hit): hit for hit in hits[: self._head(hits)]}
        logits = self._read(head, found)
        if not logits:
            why_not = self._scope.engine.helpers.why_not("reranker") if head else ""
            return Findings(list(hits), f"Not reranked: {why_not}." if why_not else "")
        around = self._around(found, head, head)
        lengths = _lengths({key: hit.record for key, hit in head.items()})
        lifted = ranking.lift(logits, around, lengths, profile)
        scores = ranking.blend(lifted, {key: hit.score for key, hit in head.items()}, profile)
        order = sorted(scores, key=lambda key: -scores[key])
        kept = ranking.close_gap(order, lifted, similarities(found.candidates), profile)
        reranked = [
            replace(head[key], score=ranking.sigmoid(scores[key]), why={**head[key].why, "reranker": logits[key]})
            for key in kept
        ]
        if len(kept) < len(order):
            return Findings(reranked)
        below = reranked[-1].score  # the rest goes on where the head ends
        return Findings(reranked + [replace(hit, score=hit.score * below) for hit in hits[len(head) :]])

    def _head(self, hits: Sequence[Hit]) -> int:
        """Return how many of the hits the cross-encoder reads."""
        number, left = 0, self._profile.reading
        for hit in hits[: self._profile.head]:
            left -= self._part(len(hit.record.body))
            if left < 0 and number:
                break
            number += 1
        return number

    def _part(self, length: int) -> int:
        """Return how many characters are read of a text: its beginning, or one chunk of a long one."""
        read = self._profile.read
        return min(length, read) if length <= 2 * read else 2 * read

    def _read(self, head: Mapping[str, Hit], found: Found) -> dict[str, float]:
        """Return the cross-encoder's logit of each hit; empty without one, or if it fails."""
        if not head:
            return {}
        helpers = self._scope.engine.helpers
        helpers.reranker.start()
        reranker = helpers.reranker.get(helpers.patience)
        if reranker is None:
            return {}
        try:
            return dict(zip(head, reranker.score(found.query, self._passages(head, found)), strict=True))
        except ModelError as error:
            log.warning("not reranked: %s", error)
            return {}

    def _passages(self, head: Mapping[str, Hit], found: Found) -> list[str]:
        """Return the beginning of each text, or the chunk nearest to the question if it was embedded in chunks."""
        return [self._passage(full_text(hit.record), found.vectors.get(key), found) for key, hit in head.items()]

    def _passage(self, text: str, chunks: Vector | None, found: Found) -> str:
        read = self._profile.read
        if chunks is None or len(text) <= 2 * read:
            return text[:read]
        return _nearest_part(text, chunks @ found.candidates.vector)

    # near-duplicates -------------------------------------------------------------------------------------------------

    def _distinct(self, hits: Sequence[Hit], found: Found) -> list[Hit]:
        """Return the hits without near-duplicates of better ones. Texts that may state different facts are all kept."""
        vectors = found.vectors
        compared = [hit for hit in hits[:COMPARED] if _id(hit) in vectors]
        if len(compared) < 2:
            return list(hits)
        whole = np.stack([ranking.whole(vectors[_id(hit)]) for hit in compared])
        near = ranking.rescale(whole @ whole.T, _unrelated(found.candidates)) >= self._profile.same
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
    """Return the scores by words and by vectors, each spread to [0, 1]; a list as long as `depth` was cut off."""
    return (
        ranking.spread(candidates.words, 0.0, cut=len(candidates.words) >= depth),
        ranking.spread(candidates.vectors, _unrelated(candidates), cut=len(candidates.vectors) >= depth),
    )


def similarities(candidates: Candidates) -> dict[str, float]:
    """Return the rescaled cosines of query and record."""
    return {key: ranking.rescale(cosine, _unrelated(candidates)) for key, cosine in candidates.vectors.items()}


def _nearest_part(text: str, cosines: Vector) -> str:
    """Return the part of a text whose chunk has the best cosine; chunks are equally long."""
    size, best = len(text) / len(cosines), int(cosines.argmax())
    return text[int(best * size) : int((best + 1) * size) + 1]


def _id(hit: Hit) -> str:
    return hit.record.id


def _best(scores: Mapping[str, float], number: int) -> list[str]:
    return sorted(scores, key=lambda key: -scores[key])[:number]


def _lengths(records: Mapping[str, Record]) -> dict[str, int]:
    return {key: len(record.body) for key, record in records.items()}
