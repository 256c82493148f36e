"""The relations in a node's text follow every change of a relation, or of the node at its other end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.graph import entities, relations, renaming
from memoryd.core.graph import search as node_search
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.names import named
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history
from memoryd.core.scope import Scope
from memoryd.store.base import Queries
from tests.core.kit import engine

pytestmark = pytest.mark.stores
MANY = 200  # relations of one node, whose text has fifty


@pytest.fixture
def graph(backend: None, tmp_path: Path) -> Iterator[Graph]:
    with engine(tmp_path) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        make(graph, "Ann", "Acme", "Bob")
        relations.create(graph, [Edge("Ann", "Acme", "works_at"), Edge("Bob", "Ann", "manages")])
        yield graph


def make(graph: Graph, *names: str) -> None:
    entities.create(graph, [NewEntity(name=name, type="node") for name in names])


def found(graph: Graph, query: str) -> set[str]:
    return {match.entity.name for match in node_search.search(graph, query, 2 * MANY, "text")[0].best}


def lines(graph: Graph, name: str) -> list[list[str]]:
    def work(queries: Queries) -> list[list[str]]:
        (row,) = queries.all("perspectives.related", ids=json.dumps([named(queries, [name])[name].id]))
        listed: list[list[str]] = json.loads(row["related"])
        return listed

    return graph.read(work)


def test_both_ends_are_found_by_the_relation(graph: Graph) -> None:
    assert found(graph, "works") == {"Ann", "Acme"}
    assert sorted(lines(graph, "Ann")) == [["", "works_at", "Acme"], ["Bob", "manages", ""]]
    assert lines(graph, "Acme") == [["Ann", "works_at", ""]]


def test_a_relation_to_itself_names_the_node_once(graph: Graph) -> None:
    relations.create(graph, [Edge("Bob", "Bob", "admires")])
    renaming.rename(graph, "Bob", "Robert")
    assert lines(graph, "Robert") == [["", "manages", "Ann"], ["", "admires", ""]]


def test_a_renamed_neighbour_is_found_by_its_new_name_only(graph: Graph) -> None:
    renaming.rename(graph, "Acme", "Globex")
    assert found(graph, "Globex") == {"Globex", "Ann"}
    assert found(graph, "Acme") == set()
    relations.rename(graph, Edge("Ann", "Globex", "works_at"), "left")
    assert (found(graph, "works"), found(graph, "left")) == (set(), {"Ann", "Globex"})


def test_a_merged_node_leaves_its_relations_to_the_other(graph: Graph) -> None:
    make(graph, "Anna")
    merged = renaming.merge(graph, "Ann", "Anna")
    assert found(graph, "works") == {"Anna", "Acme"}
    history.restore(graph, [merged.gone])
    assert found(graph, "works") == {"Ann", "Acme"}


def test_a_deleted_node_and_its_relations_are_restored_together(graph: Graph) -> None:
    (ann,) = graph.read(lambda q: named(q, ["Ann"])).values()
    entities.delete(graph, ["Ann"])
    assert found(graph, "works Ann") == set()
    history.restore(graph, [ann.id])
    assert found(graph, "works") == {"Ann", "Acme"}
    assert graph.engine.store.upkeep.problems(None) == []


def test_of_many_relations_the_oldest_are_words(graph: Graph) -> None:
    others = [f"n{number}" for number in range(MANY)]
    make(graph, "hub", *others)
    relations.create(graph, [Edge(name, "hub", "feeds") for name in others])
    assert len(lines(graph, "hub")) == 50
    assert found(graph, "feeds hub") == {"hub", *others}, "each is found by its own end"
    entities.delete(graph, ["hub"])
    assert found(graph, "feeds") == set()


def test_long_names_are_cut_in_the_text_of_the_other_end(graph: Graph) -> None:
    long = "x" * 300
    make(graph, long)
    relations.create(graph, [Edge("Acme", long, "owns")])
    assert lines(graph, "Acme")[-1] == ["", "owns", "x" * 200]
