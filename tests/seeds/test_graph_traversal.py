"""Seed c: traversal of the graph, sentence by sentence, through a real client and a real server."""

import pytest

from tests.clients import Agent, Json


def names(nodes: list[Json]) -> list[str]:
    return [one["name"] for one in nodes]


def written(relations: list[Json]) -> list[str]:
    return [" ".join((one["from"], one["relation_type"], one["to"])) for one in relations]


@pytest.fixture
def chain(graph: Agent) -> Agent:
    """Return the graph a -> b <- c -> d -> e with a circle c -> x -> c, and `alone`."""
    graph.node("a", kind="letter", summary="first", tags=["vowel"])
    graph.nodes("b", "c", "d", "e", "x", "alone")
    graph.relate("a to b", "c to b", "c to d", "d to e", "c to x", "x back c", "a self a", "c also b")
    return graph


# get_neighborhood ----------------------------------------------------------------------------------------------------


AROUND: tuple[tuple[int, list[str], list[str]], ...] = (
    (1, ["a", "b"], ["a to b", "a self a"]),
    (2, ["a", "b", "c"], ["a to b", "c to b", "a self a", "c also b"]),
    (3, ["a", "b", "c", "d", "x"], ["a to b", "c to b", "c to d", "c to x", "x back c", "a self a", "c also b"]),
    (
        6,
        ["a", "b", "c", "d", "x", "e"],
        ["a to b", "c to b", "c to d", "d to e", "c to x", "x back c", "a self a", "c also b"],
    ),
)


def test_a_neighborhood_by_depth(chain: Agent) -> None:
    # c: "Return a node and all nodes within N hops, with the subgraph of relations between them."
    for depth, nodes, relations in AROUND:
        result = chain.ok("get_neighborhood", name="a", depth=depth)
        assert names(result["nodes"]) == nodes
        assert sorted(written(result["relations"])) == sorted(relations)
        assert result["omitted"] == {"nodes": 0, "relations": 0}


def test_a_neighborhood_describes_its_nodes(chain: Agent) -> None:
    # c: "nodes: list of { name, entity_type, summary, tags }" "depth: int = 1"
    result = chain.ok("get_neighborhood", name="b")
    assert names(result["nodes"]) == ["b", "a", "c"]
    assert (
        result["nodes"][1].items()
        >= {
            "name": "a",
            "entity_type": "letter",
            "summary": "first",
            "tags": ["vowel"],
        }.items()
    )
    assert names(chain.ok("get_neighborhood", name="alone", depth=6)["nodes"]) == ["alone"]


def test_a_depth_out_of_range_is_refused_with_the_limit(graph: Agent) -> None:
    for depth in (0, -1, 7, 10**9):
        message = graph.refused("get_neighborhood", name="a", depth=depth)
        assert "depth: " in message
        assert ("6" if depth > 6 else "1") in message


@pytest.mark.slow
def test_a_large_neighborhood_keeps_to_its_budget(graph: Agent) -> None:
    graph.nodes("hub", *(f"n{number}" for number in range(300)))
    graph.relate(*(f"hub has n{number}" for number in range(300)))
    result = graph.ok("get_neighborhood", name="hub", token_budget=2_000)
    assert result["tokens_used"] <= 2_000
    assert result["nodes"][0]["name"] == "hub"
    assert result["omitted"]["nodes"] == 301 - len(result["nodes"]) > 0
    assert result["omitted"]["relations"] == 300 - len(result["relations"])
    assert {one["to"] for one in result["relations"]} <= set(names(result["nodes"])), (
        "relations only between shown nodes"
    )
    whole = graph.ok("get_neighborhood", name="hub", token_budget=0)
    assert (len(whole["nodes"]), len(whole["relations"])) == (301, 300)


# get_path ------------------------------------------------------------------------------------------------------------


def test_the_shortest_path(chain: Agent) -> None:
    # c: "Find the shortest relation path between two nodes." "{ found, path, relations }"
    result = chain.ok("get_path", from_entity="a", to_entity="e")
    assert result["found"]
    assert result["path"] == ["a", "b", "c", "d", "e"]  # "ordered node names from source to target"
    first, *second, third, fourth = written(result["relations"])
    assert (first, set(second), third, fourth) == ("a to b", {"c to b", "c also b"}, "c to d", "d to e")
    back = chain.ok("get_path", from_entity="e", to_entity="a")
    assert back["path"] == result["path"][::-1]
    chain.relate("e short a")
    assert chain.ok("get_path", from_entity="a", to_entity="e")["path"] == ["a", "e"]


def test_a_path_to_nowhere_and_to_itself(chain: Agent) -> None:
    nowhere = chain.ok("get_path", from_entity="a", to_entity="alone")
    assert nowhere == {"found": False, "path": [], "relations": []}
    assert chain.ok("get_path", from_entity="a", to_entity="a")["path"] == ["a"]


def test_a_path_may_be_long(graph: Agent) -> None:
    graph.nodes(*(f"n{number}" for number in range(100)))
    graph.relate(*(f"n{number} to n{number + 1}" for number in range(99)))
    assert len(graph.ok("get_path", from_entity="n0", to_entity="n99")["path"]) == 100


def test_deleted_nodes_and_relations_lead_nowhere(chain: Agent) -> None:
    chain.ok("delete_relations", relations=[{"from": "c", "to": "d", "relation_type": "to"}])
    assert not chain.ok("get_path", from_entity="a", to_entity="e")["found"]
    chain.ok("delete_entities", entity_names=["b"])
    assert names(chain.ok("get_neighborhood", name="a", depth=6)["nodes"]) == ["a"]


def test_an_unknown_node_is_named(chain: Agent) -> None:
    for tool, arguments in (
        ("get_neighborhood", {"name": "Unknown"}),
        ("get_path", {"from_entity": "a", "to_entity": "Unknown"}),
        ("get_path", {"from": "Unknown", "to": "Unknown"}),
    ):
        assert "'Unknown' not found" in chain.refused(tool, **arguments)


# get_orphans, get_relation_gaps --------------------------------------------------------------------------------------


def test_nodes_with_no_relations(chain: Agent) -> None:
    # c: "Return nodes with no relations." "{ name, entity_type, summary, updated_at }"
    chain.node("lonely", kind="person", summary="S")
    result = chain.ok("get_orphans")
    assert names(result["result"]) == ["lonely", "alone"]
    assert result["result"][0].items() >= {"entity_type": "person", "summary": "S"}.items()
    assert "updated_at" in result["result"][0]
    chain.relate("lonely knows lonely")
    chain.ok("delete_relations", relations=[{"from": "a", "to": "a", "relation_type": "self"}])
    chain.ok("delete_entities", entity_names=["b"])
    assert set(names(chain.ok("get_orphans")["result"])) == {"alone", "a"}
    short = chain.ok("get_orphans", token_budget=50)
    assert (len(short["result"]), short["omitted"]) == (1, 1)


def gaps(graph: Agent) -> set[tuple[str, str, int]]:
    return {
        (one["node"], one["referenced_name"], one["reference_count"]) for one in graph.ok("get_relation_gaps")["result"]
    }


def test_nodes_that_mention_others_without_a_relation(graph: Agent) -> None:
    # c: "Return nodes that have observations referencing other node names but no formal relation to them."
    graph.node("Ann", "Met Bob in Rome.", "bob is tall.", "Ann likes good food.")
    graph.node("Bob", "Writes Go.", "Thinks that Go is fine; Eve does not.")
    graph.nodes("Rome", "Go", "Eve", "100%", "a_b", "C++")
    graph.node("Notes", "It is 100% done.", "aXb is not it, C is not either, C++ is.")
    expected = {
        ("Ann", "Bob", 2),
        ("Ann", "Rome", 1),
        ("Bob", "Go", 2),
        ("Bob", "Eve", 1),
        ("Notes", "100%", 1),
        ("Notes", "C++", 1),
    }
    assert gaps(graph) == expected, "whole words, in either case; Go is not in good"
    graph.relate("Rome hosts Ann", "Bob writes Go")
    assert gaps(graph) == expected - {("Ann", "Rome", 1), ("Bob", "Go", 2)}, "a relation in either direction closes it"
    graph.ok("delete_entities", entity_names=["Eve"])
    assert ("Bob", "Eve", 1) not in gaps(graph)
    short = graph.ok("get_relation_gaps", token_budget=45)
    assert (short["result"][0]["reference_count"], short["omitted"]) == (2, 2)
