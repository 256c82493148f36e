"""The graph as a picture: related nodes near each other, communities apart, always the same; and renamed nodes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memoryd.core.graph import entities, observations, relations, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.names import demand
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance.history import restore
from memoryd.core.memories import listing
from memoryd.core.memories.listing import Facets
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.features.page.picture import communities, layout, picture
from memoryd.store.base import Queries
from tests.core.kit import embedded, engine, ollama, with_ollama

pytestmark = pytest.mark.stores


@pytest.fixture
def graph(home: Path) -> Iterator[Graph]:
    with engine(home) as made:
        yield Graph(Scope(made, made.workspaces.ensure("default")))


def cliques(number: int, size: int) -> tuple[int, np.ndarray]:
    """Groups of nodes that all know each other, in a ring."""
    ends = [(g * size + a, g * size + b) for g in range(number) for a in range(size) for b in range(a)]
    ends += [(g * size, (g + 1) % number * size + 1) for g in range(number)]
    return number * size, np.array(ends)


def test_communities_are_nodes_that_know_each_other() -> None:
    number, ends = cliques(8, 6)
    found = communities(number, ends)
    assert [len(set(found[at : at + 6])) for at in range(0, number, 6)] == [1] * 8
    assert len(set(found.tolist())) == 8


def test_related_nodes_are_placed_near_each_other() -> None:
    number, ends = cliques(12, 8)
    places = layout(number, ends, communities(number, ends))
    assert np.isfinite(places).all()
    near = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1).mean()
    chance = np.random.default_rng(3).integers(0, number, (1000, 2))
    assert near < 0.4 * np.linalg.norm(places[chance[:, 0]] - places[chance[:, 1]], axis=1).mean()
    assert np.array_equal(places, layout(number, ends, communities(number, ends)))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_small_graphs_have_a_layout_too(number: int) -> None:
    none = np.empty((0, 2), np.int64)
    assert layout(number, none, communities(number, none)).shape == (number, 2)


def test_a_picture_has_the_whole_graph_and_its_deleted_parts(graph: Graph) -> None:
    entities.create(
        graph, [NewEntity(name=name, type=kind) for name, kind in (("Ann", "p"), ("Bob", "p"), ("Acme", "firm"))]
    )
    relations.create(graph, [Edge("Ann", "Acme", "works at"), Edge("Ann", "Bob", "knows")])
    entities.delete(graph, ["Bob"])
    made = picture(graph)
    assert sorted(made.names) == ["Acme", "Ann", "Bob"]
    assert [made.types[one] for one in made.type] == [
        {"Ann": "p", "Bob": "p", "Acme": "firm"}[name] for name in made.names
    ]
    assert [name for name, died in zip(made.names, made.died, strict=True) if died] == ["Bob"]
    assert sum(bool(died) for died in made.edge_died) == 1
    assert made.complete
    assert len(made.x) == len(made.y) == len(made.community) == len(made.born) == 3


# names ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def people(graph: Graph) -> Graph:
    ann = NewEntity(name="Ann", type="p", observations=("likes tea", "works there"))
    anne = NewEntity(name="Anne", type="p", observations=("likes tea",))
    entities.create(graph, [ann, anne, NewEntity(name="Acme", type="firm")])
    relations.create(
        graph, [Edge("Ann", "Acme", "works at"), Edge("Anne", "Acme", "works at"), Edge("Ann", "Anne", "is")]
    )
    return graph


def facts(graph: Graph, name: str) -> list[str]:
    def work(queries: Queries) -> list[str]:
        (node,) = demand(queries, name)
        return [one.content for one in observations.of(queries, [node.id]).get(node.id, [])]

    return graph.read(work)


def test_a_renamed_node_keeps_its_observations_and_relations(people: Graph) -> None:
    renaming.rename(people, "Ann", " Ann Smith ")
    assert facts(people, "Ann Smith") == ["likes tea", "works there"]
    found = [one.record.name for one in listing.typed(people.scope, "Smith", Facets())]
    assert found[:3] == ["Ann Smith"] * 3
    assert set(found[3:]) == {"Anne", "Acme"}  # related to her
    assert relations.between(people, "Ann Smith", "Acme")
    with pytest.raises(NotFoundError):
        facts(people, "Ann")


def test_a_taken_name_is_refused(people: Graph) -> None:
    for wrong in ("Anne", " ", "x" * 1_001):
        with pytest.raises(InvalidInputError):
            renaming.rename(people, "Ann", wrong)
    assert facts(people, "Ann")


def test_texts_embedded_with_the_old_name_are_embedded_again(tmp_path: Path) -> None:
    with ollama() as server, with_ollama(tmp_path, server) as one:
        graph = Graph(Scope(one, one.workspaces.ensure("default")))
        entities.create(graph, [NewEntity(name="Ann", type="p", observations=("likes tea",))])
        one.embedding.follow(lambda: False)
        before = sum(embedded(one).values())
        server.asked.clear()
        renaming.rename(graph, "Ann", "Zoe")
        one.embedding.follow(lambda: False)
        assert sum(embedded(one).values()) == before
        assert any("Zoe" in text for text in server.asked)


def test_a_merged_node_can_be_restored(people: Graph) -> None:
    done = renaming.merge(people, "Anne", "Ann")
    assert (done.observations, done.relations) == (0, 0)
    with pytest.raises(NotFoundError):
        facts(people, "Anne")
    renaming.merge(people, "Ann", "Acme")
    assert facts(people, "Acme") == ["likes tea", "works there"]
    restore(people, [done.gone])
    assert facts(people, "Anne") == ["likes tea"]
    with pytest.raises(InvalidInputError):
        renaming.merge(people, "Acme", "Acme")
