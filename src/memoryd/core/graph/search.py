"""Searches nodes by the words and the meaning of their observations, in every perspective (c)."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

from memoryd.core.base.results import Searched, without_empty
from memoryd.core.graph import observations
from memoryd.core.graph.names import demand, named
from memoryd.core.graph.observations import ShownObservation
from memoryd.core.graph.transaction import Graph
from memoryd.core.records import records
from memoryd.core.records.question import Question, by_words
from memoryd.core.search import ranking
from memoryd.core.search.candidates import Candidates, Found, similarities, spread
from memoryd.core.search.pipeline import Mode, Search
from memoryd.core.search.union import union
from memoryd.model import Entity, Filter, Findings, Kind, Record, Workspace

T = TypeVar("T")

KINDS = (Kind.ENTITY, Kind.OBSERVATION)
DEPTHS = (100, 1_000)  # candidates by words and per perspective; more only if the first ones belong to few nodes


@dataclass(frozen=True, slots=True)
class MatchingNode:
    """A node, and its best matching observation, or None if the node's own text matches best."""

    entity: Entity
    observed: int
    """The number of its observations."""
    observation: str | None
    perspective: str | None
    """The perspective in which the observation matched; None if words alone or the node's own text matched."""
    score: float
    workspace: Workspace | None = None
    """Its workspace, if several are read together."""


class ScoredObservation(ShownObservation):
    """An observation that was found."""

    score: float


class FoundObservations(Searched):
    """The observations of a node that were found, best first."""

    result: list[ScoredObservation]
    mode: Literal["embedding", "text"]
    """The search mode used: text if there are no vectors to compare."""


@dataclass(frozen=True, slots=True)
class FoundNodes:
    """The data that ranking needs from one snapshot: the candidates, and the best nodes of the workspace."""

    found: Found
    depth: int
    """The maximum number of candidates by words, and per perspective."""
    entities: Mapping[str, Entity]
    """The best nodes, by name."""
    observed: Mapping[str, int]
    """The number of observations of each node, by id."""


def search(graph: Graph, query: str, limit: int, mode: Mode = "auto") -> tuple[Findings[MatchingNode], Mode]:
    """Search all workspaces that are read together, each on its own snapshot; return what `ranked` does."""
    parts = []
    for scope in graph.scope.each:
        own = Graph(scope)
        parts.append((scope.workspace, ask(own, query, mode, partial(find, own, limit, mode))))
    return ranked(graph, parts, limit, mode)


def find(graph: Graph, limit: int, mode: Mode, question: Question) -> FoundNodes:
    """Return what may match a query in one workspace."""
    finder = Search(graph.scope, ranking.GRAPH)
    for depth in DEPTHS:
        candidates, used = _candidates(finder, question, Filter(kinds=KINDS), mode, depth)
        scores = scores_of(candidates, used, depth)
        found = Found(question.text, candidates, records.fetch(question.queries, list(scores), ""), {})
        best = _best_of_each(found, scores)
        if len(best) >= limit or len(scores) < depth:
            break
    entities = named(question.queries, [name for _, name in best][:limit])
    observed = observations.counts(question.queries, [one.id for one in entities.values()])
    return FoundNodes(found, depth, entities, observed)


def ranked(
    graph: Graph, parts: Sequence[tuple[Workspace, FoundNodes]], limit: int, mode: Mode
) -> tuple[Findings[MatchingNode], Mode]:
    """Return the nodes that match a query best, with scores in [0, 1], and the mode that was used.

    The mode becomes `text` if there are no vectors to compare (c: "when the embedding pipeline is unavailable").

    `text`: BM25 relative to the best. `embedding`: rescaled cosine. `auto`: both fused, each relative to its best,
    without candidates that neither share a word with the query nor are near it; words alone if the query has FTS syntax
    or there is no model.
    """
    degraded = [*(part.found.candidates.degraded for _, part in parts), graph.scope.degraded]
    several, nodes = len(parts) > 1, dict(parts)
    if mode == "embedding":  # words replace vectors only if no workspace has vectors
        parts = [part for part in parts if part[1].found.candidates.vectors] or parts
    depth = max(part.depth for _, part in parts)
    found = union([(place, part.found) for place, part in parts], depth) if several else parts[0][1].found
    used: Mode = mode if found.candidates.vectors else "text"
    scores = scores_of(found.candidates, used, depth)
    matches = [
        _match(of, record, scores[record.id], found)
        for (place, name), record in _best_of_each(found, scores).items()
        if name in (of := nodes[place or parts[0][0]]).entities
    ]
    return Findings(matches[:limit], " ".join(filter(None, dict.fromkeys(degraded)))), used


def within(graph: Graph, name: str, query: str, limit: int, mode: Mode = "embedding") -> FoundObservations:
    """Return the observations of a node that match a query; raise NotFoundError."""
    finder = Search(graph.scope, ranking.GRAPH)

    def work(question: Question) -> FoundObservations:
        (entity,) = demand(question.queries, name)
        allowed = Filter(kinds=(Kind.OBSERVATION,), entity=entity.id)
        candidates, used = _candidates(finder, question, allowed, mode, limit)
        scores = scores_of(candidates, used, limit)
        ids = sorted(scores, key=lambda key: -scores[key])[:limit]
        rows = {row["id"]: row for row in question.queries.all("observations.by_id", ids=json.dumps(ids))}
        found: FoundObservations = {
            "degraded": candidates.degraded,
            "result": [
                {"ordinal": rows[key]["ordinal"], "content": rows[key]["body"], "score": round(scores[key], 4)}
                for key in ids
            ],
            "mode": "text" if used == "text" else "embedding",
        }
        return without_empty(found, "degraded")

    return ask(graph, query, mode, work)


def ask(graph: Graph, query: str, mode: Mode, work: Callable[[Question], T]) -> T:
    """Run `work` on one snapshot; a search by words alone does not wait for a model."""
    if mode == "text":
        return graph.read(lambda q: work(by_words(q, query)))
    return graph.scope.ask(query, work)


def _candidates(finder: Search, question: Question, allowed: Filter, mode: Mode, depth: int) -> tuple[Candidates, Mode]:
    """Return candidates and the mode used: `text` without a model, or if no record that is allowed has vectors."""
    candidates = finder.candidates(question, allowed, mode, depth)
    if mode == "embedding" and not candidates.vectors:
        by_words = finder.candidates(question, allowed, "text", depth)
        return replace(by_words, degraded=candidates.degraded), "text"
    return candidates, mode if candidates.vectors else "text"


def scores_of(candidates: Candidates, mode: Mode, depth: int) -> dict[str, float]:
    """Return the score of each candidate by id; a list with `depth` entries is taken as cut off."""
    if mode == "embedding" and candidates.embedder is not None:
        return {key: max(0.0, similarity) for key, similarity in similarities(candidates).items()}
    words, vectors = spread(candidates, depth)
    if candidates.embedder is None:
        return words
    near = similarities(candidates)
    bears = {key for key in vectors if key in words or near[key] >= ranking.GRAPH.near}
    return ranking.fuse(words, {key: vectors[key] for key in bears}, ranking.GRAPH.alpha)


def _best_of_each(found: Found, scores: Mapping[str, float]) -> dict[tuple[Workspace | None, str], Record]:
    """Return the best matching record of each node, by the node's workspace and name, best first.

    Of a node and its observation that match as well, it is the node: the order of random ids decides nothing.
    """
    best: dict[tuple[Workspace | None, str], Record] = {}
    among = [key for key in found.records if key in scores]
    for key in sorted(among, key=lambda key: (-scores[key], found.records[key].kind is Kind.OBSERVATION)):
        best.setdefault((found.origins.get(key), found.records[key].name or ""), found.records[key])
    return best


def _match(part: FoundNodes, record: Record, score: float, found: Found) -> MatchingNode:
    observed, entity = record.kind is Kind.OBSERVATION, part.entities[record.name or ""]
    return MatchingNode(
        entity=entity,
        observed=part.observed[entity.id],
        observation=record.body if observed else None,
        perspective=found.candidates.nearest_from.get(record.id) if observed else None,
        score=score,
        workspace=found.origins.get(record.id),
    )
