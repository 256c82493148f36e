"""Similar nodes: the cosines of their mean vectors, computed in tiles so that they are never all in memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NotRequired

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from memoryd.core.base.results import Searched, without_empty
from memoryd.core.graph.names import by_id, same_spelling
from memoryd.core.graph.transaction import Graph
from memoryd.core.records.question import Question
from memoryd.core.records.spaces import routes
from memoryd.core.search import ranking
from memoryd.model import GENERAL, Entity, Filter, Findings, Kind, VectorSet
from memoryd.store.base import Queries, Vector

TILE = 1024  # rows and columns of a tile: 4 MB
SLACK = 1e-5  # maximum error of float32: equal texts must reach any threshold
Tile = tuple[int, int, Vector]
"""First row, first column, cosines."""
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two nodes, and the rescaled cosine of the means of their observations' vectors."""

    one: Entity
    other: Entity
    similarity: float
    same_name: bool = False
    """Whether their names differ only in case, blanks, `-` and `_`; then the similarity is 1."""


class NodePair(TypedDict):
    """Two similar nodes without a relation."""

    node_a: str
    node_b: str
    similarity: float
    node_a_type: str
    node_b_type: str
    same_name: NotRequired[bool]
    """True if the names differ only in case, blanks, `-` and `_`; absent otherwise."""


class SimilarNodes(Searched):
    """Pairs of similar nodes: those of the same name but for its spelling, then the most similar ones first."""

    result: list[NodePair]


@dataclass(frozen=True, slots=True)
class Means:
    """The mean vector of each node with vectors, and the cosine of unrelated texts in their model."""

    ids: list[str]
    vectors: Vector
    unrelated: float
    degraded: str
    """What was not compared, in one sentence; '' if everything was."""
    related: Places
    """The pairs of nodes that have a relation, as indices into `ids`."""


def similar(
    graph: Graph, limit: int = 20, min_score: float = 0.75, without: Iterable[tuple[str, str]] = ()
) -> Findings[SimilarPair]:
    """Return the pairs of nodes without a relation whose names differ only in spelling, then the most similar ones.

    The latter have at least `min_score`; there are none without a model. Pairs of ids in `without` are left out.
    """
    left_out = list(without)
    twins, _ = of_same_name(graph, limit, left_out)
    means = means_of(graph)
    best = best_pairs(means, limit - len(twins), min_score, [*left_out, *ids_of(twins)])
    for tile in tiles(means.vectors):
        best.offer(tile)
    return Findings([*twins, *pairs_of(graph, means, best)], means.degraded)


def of_same_name(graph: Graph, limit: int, without: Iterable[tuple[str, str]] = ()) -> tuple[list[SimilarPair], int]:
    """Return the unrelated pairs of nodes whose names differ only in spelling, by name, and their total number."""

    def work(queries: Queries) -> tuple[list[tuple[str, str]], dict[str, Entity]]:
        every = same_spelling(queries)
        left_out = {frozenset(pair) for pair in without}
        if every:
            rows = queries.all("relations.pairs")
            left_out |= {frozenset((row["from_entity"], row["to_entity"])) for row in rows}
        pairs = [pair for pair in every if frozenset(pair) not in left_out]
        return pairs, by_id(queries, [key for pair in pairs[:limit] for key in pair])

    pairs, nodes = graph.read(work)
    return [SimilarPair(nodes[one], nodes[other], 1.0, same_name=True) for one, other in pairs[:limit]], len(pairs)


def ids_of(pairs: Iterable[SimilarPair]) -> list[tuple[str, str]]:
    """Return the ids of the nodes of pairs."""
    return [(pair.one.id, pair.other.id) for pair in pairs]


def shown(found: Findings[SimilarPair]) -> SimilarNodes:
    """Return pairs of similar nodes as the tool shows them."""
    result: SimilarNodes = {"degraded": found.degraded, "result": list(map(_shown, found.best))}
    return without_empty(result, "degraded")


def _shown(pair: SimilarPair) -> NodePair:
    shown: NodePair = {
        "node_a": pair.one.name,
        "node_b": pair.other.name,
        "similarity": pair.similarity,
        "node_a_type": pair.one.type,
        "node_b_type": pair.other.type,
        "same_name": pair.same_name,
    }
    return without_empty(shown, "same_name")


def means_of(graph: Graph) -> Means:
    """Return the mean vectors of the nodes in the model that answers queries; none without a model."""

    def work(question: Question) -> Means:
        degraded = question.degraded(Filter(kinds=(Kind.OBSERVATION,)), "not compared")
        if question.embedder is None:
            return Means([], np.empty((0, 0), np.float32), 0.0, degraded, np.empty((0, 2), np.int64))
        index, queries = graph.scope.index, question.queries
        own, *others = routes(question.embedder)
        ids, vectors = index.means(queries, VectorSet(GENERAL, own.own))
        unrelated = own.unrelated
        # nodes that are not all English are compared in the multilingual vectors of all: one matrix has one embedder
        found = [index.means(queries, VectorSet(GENERAL, route.own)) for route in reversed(others)]
        if found and found[0][0]:
            ids, vectors, unrelated = *_merged(found), others[0].unrelated
        ends = ((row["from_entity"], row["to_entity"]) for row in queries.all("relations.pairs"))
        return Means(ids, vectors, unrelated, degraded, _places(ids, ends))

    return graph.scope.ask(None, work)


def _merged(parts: Sequence[tuple[list[str], Vector]]) -> tuple[list[str], Vector]:
    """Return the means of several sets as one; a node with several gets their mean, of unit length."""
    sums: dict[str, Vector] = {}
    for ids, vectors in parts:
        for key, vector in zip(ids, vectors, strict=True):
            sums[key] = sums[key] + vector if key in sums else vector
    rows = np.stack(list(sums.values()))
    return list(sums), np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def tiles(vectors: Vector) -> Iterator[Tile]:
    """Yield the cosines of all pairs, each once; a row with itself, and the second occurrence of a pair, is -inf."""
    for row in range(0, len(vectors), TILE):
        for column in range(row, len(vectors), TILE):
            cosines = vectors[row : row + TILE] @ vectors[column : column + TILE].T
            if row == column:
                cosines[np.tril_indices(len(cosines))] = -np.inf
            yield row, column, cosines


def best_pairs(means: Means, limit: int, min_score: float, without: Iterable[tuple[str, str]] = ()) -> "BestPairs":
    """Return an empty collector of the best pairs, excluding related ones and those in `without`."""
    least = min_score * (1 - means.unrelated) + means.unrelated  # the inverse of rescaling
    left_out = np.concatenate([means.related, _places(means.ids, without)])
    return BestPairs(len(means.ids), limit, least, left_out)


def pairs_of(graph: Graph, means: Means, best: "BestPairs") -> list[SimilarPair]:
    """Return the best pairs as nodes, best first, each pair ordered by name."""
    pairs = [(means.ids[one], means.ids[other], cosine) for one, other, cosine in best.found()]
    nodes = graph.read(lambda q: by_id(q, [key for *both, _ in pairs for key in both]))
    found = []
    for *keys, cosine in pairs:
        if nodes.keys() >= set(keys):  # otherwise one was deleted meanwhile
            one, other = sorted((nodes[key] for key in keys), key=lambda node: node.name)
            similarity = round(min(1.0, ranking.rescale(cosine, means.unrelated)), 4)
            found.append(SimilarPair(one, other, similarity))
    return sorted(found, key=lambda pair: (-pair.similarity, pair.one.name, pair.other.name))


class BestPairs:
    """Collects the best of the offered pairs, except related ones."""

    def __init__(self, number: int, limit: int, least: float, related: Places) -> None:
        self.total = 0
        """The number of pairs that reached the minimum."""
        self._number, self._limit, self._least = number, limit, least - SLACK
        self._cut = self._least
        self._scores = np.empty(0, np.float32)
        self._places = np.empty(0, np.int64)
        self._related = _by_tile(related)

    def offer(self, tile: Tile) -> None:
        """Consider the pairs of a tile; set its related ones to -inf."""
        row, column, cosines = tile
        related = self._related.get((row, column))
        if related is not None:
            cosines[related[:, 0] - row, related[:, 1] - column] = -np.inf
        self.total += int(np.count_nonzero(cosines >= self._least))
        places = np.flatnonzero(cosines > self._cut)
        if len(places):
            rows, columns = np.divmod(places, cosines.shape[1])
            self._keep(cosines.ravel()[places], (row + rows) * self._number + column + columns)

    def _keep(self, scores: Vector, places: Places) -> None:
        scores, places = np.append(self._scores, scores), np.append(self._places, places)
        order = np.argsort(-scores, kind="stable")[: self._limit]
        self._scores, self._places = scores[order], places[order]
        if len(order) == self._limit:
            self._cut = float(self._scores[-1]) if self._limit else np.inf

    def found(self) -> list[tuple[int, int, float]]:
        """Return the indices and the cosine of each pair, best first."""
        ones, others = np.divmod(self._places, max(self._number, 1))
        return list(zip(ones.tolist(), others.tolist(), self._scores.tolist(), strict=True))


def _by_tile(related: Places) -> dict[tuple[int, int], Places]:
    """Group pairs of indices by the first row and column of their tile."""
    corners = related - related % TILE
    order = np.lexsort(corners.T[::-1])
    corners, related = corners[order], related[order]
    borders = np.flatnonzero((corners[1:] != corners[:-1]).any(1)) + 1
    parts = zip(np.split(corners, borders), np.split(related, borders), strict=True)
    return {(int(corner[0, 0]), int(corner[0, 1])): part for corner, part in parts if len(part)}


def _places(ids: Sequence[str], pairs_of_ids: Iterable[tuple[str, str]]) -> Places:
    """Return pairs of ids as indices into `ids`, the lower one first, without pairs that have an id not in `ids`."""
    places = {key: place for place, key in enumerate(ids)}
    ends = [(places.get(one), places.get(other)) for one, other in pairs_of_ids]
    pairs = [sorted((one, other)) for one, other in ends if one is not None and other is not None]
    return np.asarray(pairs, np.int64).reshape(-1, 2)
