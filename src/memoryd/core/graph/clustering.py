"""Clusters: nodes that belong together by their observations or, without vectors, by their relations.

Two nodes are linked if each is among the other's nearest ones. So a node that is near everything links nothing, and no
chain of links joins the whole graph. A cluster is a connected component of these links.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from memoryd.core.graph.similarity import SLACK, Tile
from memoryd.store.base import Queries, Vector

NEAREST = 5  # nodes that may be linked with a node, plus those tied with the last one
SHARED = 0.5  # minimum share of common neighbors of two related nodes, themselves included

Link = tuple[int, int]


class Nearest:
    """Collects the NEAREST neighbors of each node from the pairs that are offered."""

    def __init__(self, number: int, least: float) -> None:
        self._scores = np.full((number, NEAREST), least - SLACK, np.float32)
        self._others = np.full((number, NEAREST), -1, np.int64)

    def offer(self, tile: Tile) -> None:
        """Consider the pairs of a tile, in both directions."""
        row, column, cosines = tile
        self._improve(row, column, cosines)
        self._improve(column, row, cosines.T)

    def _improve(self, row: int, column: int, cosines: Vector) -> None:
        """Replace neighbors of the nodes from `row` on by nearer ones among the nodes from `column` on."""
        here = np.flatnonzero(cosines.max(1) > self._scores[row : row + len(cosines), -1])
        if not len(here):
            return
        near, columns = _largest(np.ascontiguousarray(cosines[here]))
        nodes = row + here
        scores = np.concatenate([self._scores[nodes], near], axis=1)
        others = np.concatenate([self._others[nodes], column + columns], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :NEAREST]
        self._scores[nodes] = np.take_along_axis(scores, order, 1)
        self._others[nodes] = np.take_along_axis(others, order, 1)

    def links(self) -> Iterator[Link]:
        """Yield the pairs that are mutually nearest, including ties: equal texts would displace each other."""
        ones, ranks = np.nonzero(self._others >= 0)
        others, scores = self._others[ones, ranks], self._scores[ones, ranks]
        mutual = scores >= self._scores[others, -1] - SLACK
        yield from zip(ones[mutual].tolist(), others[mutual].tolist(), strict=True)


def _largest(scores: Vector) -> tuple[Vector, NDArray[np.intp]]:
    """Return the largest values of each row, at most NEAREST, and their columns; `scores` is overwritten.

    Repeated argmax is ten times faster than partitioning each row.
    """
    rows = np.arange(len(scores))
    largest, columns = [], []
    for _ in range(min(NEAREST, scores.shape[1])):
        columns.append(scores.argmax(1))
        largest.append(scores[rows, columns[-1]])
        scores[rows, columns[-1]] = -np.inf
    return np.stack(largest, 1), np.stack(columns, 1)


def joined(links: Iterable[Link]) -> list[list[int]]:
    """Return the connected components of links, the largest first."""
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for one, other in links:
        beside[one].add(other)
        beside[other].add(one)
    found, seen = [], set[int]()
    for start in sorted(beside):
        if start not in seen:
            cluster, waiting = {start}, [start]
            while waiting:
                new = beside[waiting.pop()] - cluster
                cluster |= new
                waiting.extend(new)
            seen |= cluster
            found.append(sorted(cluster))
    return sorted(found, key=len, reverse=True)


def by_relations(queries: Queries) -> tuple[list[str], list[list[int]]]:
    """Return node ids, and clusters as indices into them: related nodes that share most of their neighbors.

    Connected components would be too coarse: in most graphs nearly everything is connected.
    """
    around: defaultdict[str, set[str]] = defaultdict(set)
    for row in queries.all("relations.pairs"):
        for one, other in ((row["from_entity"], row["to_entity"]), (row["to_entity"], row["from_entity"])):
            around[one] |= {one, other}
    ids = sorted(around)
    place = {key: number for number, key in enumerate(ids)}
    close = (
        (place[one], place[other]) for one in ids for other in around[one] if one < other and _close(around, one, other)
    )
    return ids, joined(close)


def _close(around: dict[str, set[str]], one: str, other: str) -> bool:
    common = len(around[one] & around[other])
    return common >= SHARED * (len(around[one]) + len(around[other]) - common)
