"""Clusters: nodes that belong together, by what is said of them or, without vectors, by their relations.

Two nodes are linked where each is among the nearest of the other: a node that is near to everything links nothing, so
chains do not swallow the graph. What is linked, over however many links, is one cluster.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from memoryd.core.graph.similarity import SLACK, Tile
from memoryd.store.base import Queries, Vector

NEAREST = 5  # of each node may be linked with it, and those that are as near as the last of them
SHARED = 0.5  # of what two related nodes are related with, themselves included, they must have in common

Link = tuple[int, int]


class Nearest:
    """The nearest of each node among the pairs that are offered."""

    def __init__(self, number: int, least: float) -> None:
        self._scores = np.full((number, NEAREST), least - SLACK, np.float32)
        self._others = np.full((number, NEAREST), -1, np.int64)

    def offer(self, tile: Tile) -> None:
        """Look at the pairs of a tile, from both ends."""
        row, column, cosines = tile
        self._improve(row, column, cosines)
        self._improve(column, row, cosines.T)

    def _improve(self, row: int, column: int, cosines: Vector) -> None:
        """For nodes from `row` on, see whether those from `column` on are nearer than the nearest so far."""
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
        """The pairs of which each is among the nearest of the other, or as near as those: equal texts crowd out."""
        ones, ranks = np.nonzero(self._others >= 0)
        others, scores = self._others[ones, ranks], self._scores[ones, ranks]
        mutual = scores >= self._scores[others, -1] - SLACK
        yield from zip(ones[mutual].tolist(), others[mutual].tolist(), strict=True)


def _largest(scores: Vector) -> tuple[Vector, NDArray[np.intp]]:
    """The largest of each row, NEAREST at most, and their columns; uses `scores` up.

    Looking so many times for the largest is ten times faster than a partition of each row.
    """
    rows = np.arange(len(scores))
    largest, columns = [], []
    for _ in range(min(NEAREST, scores.shape[1])):
        columns.append(scores.argmax(1))
        largest.append(scores[rows, columns[-1]])
        scores[rows, columns[-1]] = -np.inf
    return np.stack(largest, 1), np.stack(columns, 1)


def joined(links: Iterable[Link]) -> list[list[int]]:
    """The clusters that links make, the largest first."""
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for one, other in links:
        beside[one].add(other)
        beside[other].add(one)
    found, seen = [], set[int]()
    for start in sorted(beside):
        if start not in seen:
            cluster = _reached(beside, start)
            seen |= cluster
            found.append(sorted(cluster))
    return sorted(found, key=len, reverse=True)


def _reached(beside: dict[int, set[int]], start: int) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        new = beside[waiting.pop()] - reached
        reached |= new
        waiting.extend(new)
    return reached


def by_relations(queries: Queries) -> tuple[list[str], list[list[int]]]:
    """Nodes, and the clusters that their places make: related nodes that are mostly related with the same ones.

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
