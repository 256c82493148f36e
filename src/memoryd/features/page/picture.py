"""The graph as a picture: the place and community of each node. The same graph always gives the same picture."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memoryd.core.graph.transaction import Graph
from memoryd.hidden import spelled_out

NODES, EDGES = 10_000, 60_000  # maximum numbers in a picture; more would be unreadable
PASSES = 12  # maximum passes of the search for communities; it ends once nothing changes
STEPS_SMALL, STEPS_LARGE, LARGE = 120, 50, 3_000  # steps of the layout; the smaller number from LARGE nodes on
ROOM = 12.0  # the distance to which related nodes converge

Ends = NDArray[np.int64]
Positions = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """Nodes and relations as columns: nodes are given by index, times in seconds since 1970, 0 for never."""

    names: Sequence[str]
    labels: Mapping[int, str]
    """What is shown instead of the names that contain invisible characters."""
    types: Sequence[str]
    type: Sequence[int]
    community: Sequence[int]
    """The community of each node; the largest is 0."""
    x: Sequence[float]
    y: Sequence[float]
    born: Sequence[int]
    died: Sequence[int]
    edges: Sequence[int]
    """The source and target of each relation, alternating."""
    relations: Sequence[str]
    relation: Sequence[int]
    edge_born: Sequence[int]
    edge_died: Sequence[int]
    complete: bool
    """Whether it contains the whole graph."""


def picture(graph: Graph) -> GraphPicture:
    """Return the picture of a graph, including deleted parts that can still be restored."""
    nodes, edges = graph.read(
        lambda q: (q.all("picture.nodes", limit=NODES + 1), q.all("picture.edges", limit=EDGES + 1))
    )
    complete = len(nodes) <= NODES and len(edges) <= EDGES
    nodes = nodes[:NODES]
    place = {row["id"]: number for number, row in enumerate(nodes)}
    edges = [row for row in edges[:EDGES] if row["from_entity"] in place and row["to_entity"] in place]
    ends = np.array([(place[row["from_entity"]], place[row["to_entity"]]) for row in edges], np.int64).reshape(-1, 2)
    groups = communities(len(nodes), ends)
    places = np.round(layout(len(nodes), ends, groups), 1)
    types, relations = _names(row["type"] for row in nodes), _names(row["relation_type"] for row in edges)
    return GraphPicture(
        names=[row["name"] for row in nodes],
        labels={
            number: shown for number, row in enumerate(nodes) if (shown := spelled_out(row["name"])) != row["name"]
        },
        types=list(map(spelled_out, types)),
        type=[types[row["type"]] for row in nodes],
        community=groups.tolist(),
        x=places[:, 0].tolist(),
        y=places[:, 1].tolist(),
        born=[_seconds(row["created_at"]) for row in nodes],
        died=[_seconds(row["deleted_at"]) for row in nodes],
        edges=ends.ravel().tolist(),
        relations=list(map(spelled_out, relations)),
        relation=[relations[row["relation_type"]] for row in edges],
        edge_born=[_seconds(row["created_at"]) for row in edges],
        edge_died=[_seconds(row["deleted_at"]) for row in edges],
        complete=complete,
    )


def _names(given: Iterable[str]) -> dict[str, int]:
    """Return the rank of each name, the most frequent first."""
    return {name: at for at, (name, _) in enumerate(Counter(given).most_common())}


def _seconds(time: str | None) -> int:
    return int(datetime.fromisoformat(time).timestamp()) if time else 0


def communities(number: int, ends: Ends) -> Ends:
    """Return the community of each node, the largest first: each takes the most frequent label of its neighbours.

    Nodes are relabelled in two halves, so that two neighbours do not swap labels forever.
    """
    labels = np.arange(number, dtype=np.int64)
    if not len(ends):
        return labels
    here, there = np.concatenate([ends, ends[:, ::-1]]).T
    half = np.random.default_rng(5).permutation(number) % 2
    for _ in range(PASSES):
        before = labels.copy()
        for side in (0, 1):
            labels = np.where(half == side, _commonest(here, labels[there], labels), labels)
        if np.array_equal(before, labels):
            break
    _, compact, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[compact.ravel()]


def _commonest(here: Ends, labels: Ends, own: Ends) -> Ends:
    """Return for each node the most frequent label of its neighbours; its own in a tie, or if it has none."""
    number = len(own)
    pairs, votes = np.unique(here * number + labels, return_counts=True)
    nodes, named = pairs // number, pairs % number
    weight = votes + np.where(named == own[nodes], 0.5, 0.0)
    order = np.lexsort((-named, weight, nodes))
    last = np.flatnonzero(np.append(np.diff(nodes[order]), 1))
    chosen = own.copy()
    chosen[nodes[order][last]] = named[order][last]
    return chosen


def layout(number: int, ends: Ends, groups: Ends) -> Positions:
    """Return the place of each node: related ones near each other, communities apart, the rest spread out.

    Repulsion is sampled: each step compares a node with a few others, so the cost per node is constant.
    """
    chance = np.random.default_rng(1)
    if number == 0:
        return np.zeros((0, 2), np.float32)
    size = np.sqrt(number)
    centres = _spiral(int(groups.max()) + 1, np.bincount(groups)) * ROOM * 1.1
    places = (centres[groups] + chance.normal(size=(number, 2)) * ROOM).astype(np.float32)
    sources, targets = ends[:, 0], ends[:, 1]
    gravity = np.where(np.bincount(ends.ravel(), minlength=number) == 0, 0.12, 0.02)[:, None].astype(np.float32)
    sample = max(24, int(size / 2))
    steps = STEPS_SMALL if number < LARGE else STEPS_LARGE
    for step in range(steps):
        force = np.zeros_like(places)
        away = places[:, None, :] - places[chance.integers(0, number, size=(number, sample))]
        square = (away * away).sum(2) + 4.0
        force += (away * (ROOM * ROOM * number / sample / 16 / square)[:, :, None]).sum(1)
        pull = places[sources] - places[targets]
        length = np.sqrt((pull * pull).sum(1)) + 1e-3
        pull *= (length / ROOM / 6)[:, None]
        for axis in (0, 1):
            force[:, axis] += np.bincount(targets, pull[:, axis], number) - np.bincount(sources, pull[:, axis], number)
        force -= (places - _means(places, groups)[groups]) * 0.03 + places * gravity
        length = np.sqrt((force * force).sum(1)) + 1e-6
        most = size * 1.5 * (1 - step / steps) + 0.3
        places += force * (np.minimum(length, most) / length)[:, None]
    return places


def _means(places: Positions, groups: Ends) -> Positions:
    """Return the centre of each community."""
    sizes = np.bincount(groups)
    means = np.stack([np.bincount(groups, places[:, axis]) / sizes for axis in (0, 1)], 1)
    return means.astype(np.float32)


def _spiral(number: int, sizes: Ends) -> Positions:
    """Return the centres of discs of these sizes along a spiral, the largest innermost."""
    radius = np.sqrt(np.cumsum(sizes) - sizes / 2)
    angle = np.arange(number) * 2.399963  # the golden angle
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32)
