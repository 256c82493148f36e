"""Search of nodes by the words and the meaning of their observations, in every perspective (c)."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from memoryd.core.graph.transaction import Graph, demand, named
from memoryd.core.records import records
from memoryd.core.records.embedding import Question
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Candidates, similarities, spread
from memoryd.core.search.pipeline import Mode, Search
from memoryd.model import Entity, Filter, Findings, Kind, Record
from memoryd.store.base import Queries

T = TypeVar("T")

KINDS = (Kind.ENTITY, Kind.OBSERVATION)
DEPTHS = (100, 1_000)  # candidates by words and per perspective; more only if the first ones belong to few nodes


@dataclass(frozen=True, slots=True)
class MatchingNode:
    """A node, and the observation that matches best, or None if its own text does."""

    entity: Entity
    observation: str | None
    perspective: str | None
    """The perspective in which the observation matched; None if words alone or the node's own text matched."""
    score: float


@dataclass(frozen=True, slots=True)
class MatchingObservation:
    """An observation that matches."""

    ordinal: int
    content: str
    score: float


def search(graph: Graph, query: str, limit: int, mode: Mode = "auto") -> tuple[Findings[MatchingNode], Mode]:
    """Return what `find` does, on a snapshot of its own."""
    return ask(graph, query, mode, lambda question: find(graph, question, limit, mode))


def find(graph: Graph, question: Question, limit: int, mode: Mode = "auto") -> tuple[Findings[MatchingNode], Mode]:
    """Return the nodes that match a query best, with scores in [0, 1], and the mode that was used.

    The mode becomes `text` if there are no vectors to compare (c: "when the embedding pipeline is unavailable").

    `text`: BM25 relative to the best. `embedding`: rescaled cosine. `auto`: both fused, each relative to its best,
    without candidates that share no word with the query and are not near it; words alone if the query has FTS syntax
    or there is no model.
    """
    finder = Search(graph.scope, ranking.GRAPH)
    for depth in DEPTHS:
        candidates, used = _candidates(finder, question, Filter(kinds=KINDS), mode, depth)
        scores = scores_of(candidates, used, depth)
        best = _best_of_each(question.queries, scores, limit)
        if len(best) >= limit or len(scores) < depth:
            break
    matches = [_match(entity, record, scores, candidates) for entity, record in best]
    return Findings(matches, candidates.degraded), used


def within(
    graph: Graph, name: str, query: str, limit: int, mode: Mode = "embedding"
) -> tuple[Findings[MatchingObservation], Mode]:
    """Return the observations of a node that match a query, and the mode that was used; raise NotFoundError."""
    finder = Search(graph.scope, ranking.GRAPH)

    def work(question: Question) -> tuple[Findings[MatchingObservation], Mode]:
        (entity,) = demand(question.queries, name)
        allowed = Filter(kinds=(Kind.OBSERVATION,), entity=entity.id)
        candidates, used = _candidates(finder, question, allowed, mode, limit)
        scores = scores_of(candidates, used, limit)
        ids = sorted(scores, key=lambda key: -scores[key])[:limit]
        rows = {row["id"]: row for row in question.queries.all("observations.by_id", ids=json.dumps(ids))}
        seen = [MatchingObservation(rows[key]["ordinal"], rows[key]["body"], scores[key]) for key in ids]
        return Findings(seen, candidates.degraded), used

    return ask(graph, query, mode, work)


def ask(graph: Graph, query: str, mode: Mode, work: Callable[[Question], T]) -> T:
    """Run `work` on one snapshot; a search by words alone does not wait for a model."""
    if mode == "text":
        return graph.read(lambda q: work(Question(q, query)))
    return graph.scope.ask(query, work)


def _candidates(finder: Search, question: Question, allowed: Filter, mode: Mode, depth: int) -> tuple[Candidates, Mode]:
    """Return candidates and the mode: `text` without a model, or if nothing that is allowed has vectors."""
    candidates = finder.candidates(question, allowed, mode, depth)
    if mode == "embedding" and not candidates.vectors:
        by_words = finder.candidates(question, allowed, "text", depth)
        return replace(by_words, degraded=candidates.degraded), "text"
    return candidates, mode if candidates.vectors else "text"


def scores_of(candidates: Candidates, mode: Mode, depth: int) -> dict[str, float]:
    """Return the score of each candidate by id; a list with `depth` entries was cut off there."""
    if mode == "embedding" and candidates.embedder is not None:
        return {key: max(0.0, similarity) for key, similarity in similarities(candidates).items()}
    words, vectors = spread(candidates, depth)
    if candidates.embedder is None:
        return words
    near = similarities(candidates)
    bears = {key for key in vectors if key in words or near[key] >= ranking.GRAPH.near}
    return ranking.fuse(words, {key: vectors[key] for key in bears}, ranking.GRAPH.alpha)


def _best_of_each(queries: Queries, scores: dict[str, float], limit: int) -> list[tuple[Entity, Record]]:
    """Return the best entities with the record by which each matches, ordered by score."""
    found = records.fetch(queries, list(scores), "")
    best: dict[str, Record] = {}
    for key in sorted(found, key=lambda key: -scores[key]):
        best.setdefault(found[key].name or "", found[key])
    entities = named(queries, list(best)[:limit])
    return [(entities[name], best[name]) for name in list(best)[:limit]]


def _match(entity: Entity, record: Record, scores: dict[str, float], candidates: Candidates) -> MatchingNode:
    observed = record.kind is Kind.OBSERVATION
    return MatchingNode(
        entity=entity,
        observation=record.body if observed else None,
        perspective=candidates.nearest_from.get(record.id) if observed else None,
        score=scores[record.id],
    )
