"""Ways through the graph: in both directions, as short as possible, and the same every time."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.core.graph import entities, observations, relations, traversal
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Relation
from tests.core.kit import engine


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with engine(tmp_path) as here:
        yield Graph(Scope(here, here.workspaces.ensure("default")))


NO_PATH = {"found": False, "path": [], "relations": []}


def nodes(graph: Graph, names: Sequence[str]) -> None:
    entities.create(graph, [NewEntity(name=name, type="t") for name in names])


def relate(graph: Graph, *edges: str) -> None:
    """Create relations written as `a>b`, in this order and with their nodes if missing."""
    ends = [edge.split(">") for edge in edges]
    nodes(graph, [name for pair in ends for name in pair])
    for source, target in ends:
        relations.create(graph, [Edge(source, target, "r")])


def around(graph: Graph, name: str, depth: int) -> str:
    return "".join(entity.name for entity in traversal.neighborhood(graph, name, depth)[0])


def arrows(found: Sequence[Relation]) -> list[str]:
    return [f"{relation.source}>{relation.target}" for relation in found]


# neighborhoods -------------------------------------------------------------------------------------------------------


def test_a_neighborhood_is_ordered_by_distance_then_name_over_both_directions(graph: Graph) -> None:
    relate(graph, "m>z", "a>m", "z>b", "c>a", "b>x")
    assert around(graph, "m", 1) == "maz"
    assert around(graph, "m", 2) == "mazbc"
    assert around(graph, "m", 6) == "mazbcx"


def test_a_neighborhood_has_all_relations_between_its_nodes_and_no_others(graph: Graph) -> None:
    relate(graph, "a>b", "b>c", "c>d", "a>c", "c>a", "a>a")
    relations.create(graph, [Edge("a", "b", "s")])
    _, found = traversal.neighborhood(graph, "a", 1)
    assert arrows(found) == ["a>b", "b>c", "a>c", "c>a", "a>a", "a>b"]
    assert found[-1].type == "s"


def test_cycles_end_and_a_node_alone_is_its_own_neighborhood(graph: Graph) -> None:
    relate(graph, "a>b", "b>c", "c>a")
    nodes(graph, ["z"])
    assert around(graph, "a", 6) == "abc"
    assert around(graph, "z", 6) == "z"


def test_deleted_parts_lead_nowhere(graph: Graph) -> None:
    relate(graph, "a>b", "b>c", "a>d")
    entities.delete(graph, ["b"])
    relations.delete(graph, [Edge("a", "d", "r")])
    assert around(graph, "a", 6) == "a"
    assert traversal.path(graph, "a", "c") == NO_PATH
    assert [node["name"] for node in traversal.orphans(graph)] == ["a", "d", "c"]


@pytest.mark.parametrize("depth", [-1, 0, 7, 10**9])
def test_a_depth_out_of_bounds_is_refused_with_the_limit(graph: Graph, depth: int) -> None:
    nodes(graph, ["a"])
    with pytest.raises(InvalidInputError, match=f"{depth} .*1 to 6"):
        traversal.neighborhood(graph, "a", depth)


def test_unknown_names_are_listed_in_the_error(graph: Graph) -> None:
    nodes(graph, ["a"])
    with pytest.raises(NotFoundError, match="'b'"):
        traversal.neighborhood(graph, "b")
    with pytest.raises(NotFoundError, match="'x', 'y'"):
        traversal.path(graph, "x", "y")


def test_workspaces_do_not_see_each_other(graph: Graph) -> None:
    other = Graph(Scope(graph.engine, graph.engine.workspaces.ensure("other")))
    relate(other, "a>b", "b>c")
    relate(graph, "a>x", "c>y")
    assert around(graph, "a", 6) == "ax"
    assert traversal.path(graph, "a", "c") == NO_PATH


# paths ---------------------------------------------------------------------------------------------------------------


def test_a_path_has_every_parallel_relation_of_each_hop_in_the_order_of_hops(graph: Graph) -> None:
    relate(graph, "c>b", "b>d", "a>b", "b>b")
    relations.create(graph, [Edge("b", "a", "s"), Edge("b", "c", "s")])
    found = traversal.path(graph, "a", "c")
    assert found["path"] == ["a", "b", "c"]
    assert [f"{edge['from']}>{edge['to']}" for edge in found["relations"]] == ["a>b", "b>a", "c>b", "b>c"]


def test_a_path_to_itself_is_the_node_alone(graph: Graph) -> None:
    relate(graph, "a>a", "a>b")
    assert traversal.path(graph, "a", "a") == {"found": True, "path": ["a"], "relations": []}


def test_a_path_may_have_any_length(graph: Graph) -> None:
    names = [f"n{number:03}" for number in range(120)]
    nodes(graph, names)
    relations.create(graph, [Edge(one, other, "r") for one, other in pairwise(names)])
    assert traversal.path(graph, names[0], names[-1])["path"] == names
    assert traversal.path(graph, names[-1], names[0])["path"] == names[::-1]


def test_unconnected_nodes_have_no_path(graph: Graph) -> None:
    relate(graph, "a>b", "c>d", "d>c")
    assert traversal.path(graph, "a", "c") == NO_PATH


def test_among_equally_short_paths_the_names_decide(graph: Graph) -> None:
    relate(graph, "s>c", "s>b", "c>a", "b>y", "b>x", "a>t", "y>t", "x>t")
    assert traversal.path(graph, "s", "t")["path"] == ["s", "b", "x", "t"]
    assert traversal.path(graph, "t", "s")["path"] == ["t", "a", "c", "s"]


def brute(edges: set[tuple[str, str]], start: str, end: str) -> tuple[str, ...]:
    """Return the first of the shortest paths, by trying all paths without repetitions."""
    beside = {(one, other) for pair in edges for one, other in (pair, pair[::-1])}
    paths: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while paths:
        if found := sorted(path for path in paths if path[-1] == end):
            return found[0]
        paths = [(*path, other) for path in paths for one, other in beside if one == path[-1] and other not in seen]
        seen |= {path[-1] for path in paths}
    return ()


NAMES = "abcdefgh"


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=14))
def test_paths_and_neighborhoods_equal_those_of_an_exhaustive_search(graph: Graph, edges: set[tuple[str, str]]) -> None:
    entities.delete(graph, list(NAMES))
    nodes(graph, NAMES)
    relations.create(graph, [Edge(*edge, "r") for edge in sorted(edges)])
    lengths = {}
    for end in NAMES:
        found = traversal.path(graph, "a", end)
        assert tuple(found["path"]) == brute(edges, "a", end)
        lengths[end] = len(found["path"]) - 1
    for depth in (1, 2, 3):
        near = sorted((length, name) for name, length in lengths.items() if 0 <= length <= depth)
        assert around(graph, "a", depth) == "".join(name for _, name in near)


# orphans -------------------------------------------------------------------------------------------------------------


def test_orphans_have_no_relation_of_any_kind_the_last_changed_first(graph: Graph) -> None:
    relate(graph, "a>b", "c>c")
    nodes(graph, ["x", "y", "z"])
    observations.add(graph, [("x", ["news"])])
    assert [node["name"] for node in traversal.orphans(graph)] == ["x", "y", "z"]
    relations.delete(graph, [Edge("a", "b", "r"), Edge("c", "c", "r")])
    assert [node["name"] for node in traversal.orphans(graph)] == ["a", "b", "c", "x", "y", "z"]
