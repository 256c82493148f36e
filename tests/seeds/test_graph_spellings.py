"""One tool per name: the calls of seed b, of seed c and of the reference memory server all work."""

from collections.abc import Callable

import pytest

from tests.clients import Agent, Json

Walk = Callable[[Agent], Json]


def seed_b(graph: Agent) -> Json:
    graph.ok(
        "create_entities",
        entities=[
            {"name": "Ann", "entity_type": "person", "observations": ["one", "two"]},
            {"name": "Acme", "entity_type": "company"},
            {"name": "Gone", "entity_type": "company"},
        ],
    )
    graph.ok("add_observations", observations=[{"entity_name": "Ann", "contents": ["three"]}])
    graph.ok(
        "create_relations",
        relations=[
            {"from": "Ann", "to": "Acme", "relation_type": "works_at"},
            {"from": "Ann", "to": "Gone", "relation_type": "left"},
            {"from": "Acme", "to": "Ann", "relation_type": "employs"},
        ],
    )
    graph.ok("delete_observations", deletions=[{"entity_name": "Ann", "observations": ["two"]}])
    graph.ok("delete_relations", relations=[{"from": "Acme", "to": "Ann", "relation_type": "employs"}])
    graph.ok("delete_entities", names=["Gone"])
    return graph.ok("open_nodes", names=["Ann", "Acme"])


def seed_c(graph: Agent) -> Json:
    graph.ok(
        "create_entities",
        entities=[
            {"name": "Ann", "entity_type": "person", "observations": ["one", "two"], "summary": None, "tags": []},
            {"name": "Acme", "entity_type": "company", "observations": [], "summary": None, "tags": []},
            {"name": "Gone", "entity_type": "company"},
        ],
    )
    graph.ok("add_observations", observations=[{"entity_name": "Ann", "contents": ["three"]}])
    graph.ok(
        "create_relations",
        relations=[
            {"from_entity": "Ann", "to_entity": "Acme", "relation_type": "works_at"},
            {"from_entity": "Ann", "to_entity": "Gone", "relation_type": "left"},
            {"from_entity": "Acme", "to_entity": "Ann", "relation_type": "employs"},
        ],
    )
    graph.ok("delete_observations", deletions=[{"entity_name": "Ann", "ordinals": [1]}])
    graph.ok("delete_relations", relations=[{"from_entity": "Acme", "to_entity": "Ann", "relation_type": "employs"}])
    graph.ok("delete_entities", entity_names=["Gone"])
    return graph.ok("open_nodes", names=["Ann", "Acme"])


def reference_server(graph: Agent) -> Json:
    graph.ok(
        "create_entities",
        entities=[
            {"name": "Ann", "entityType": "person", "observations": ["one", "two"]},
            {"name": "Acme", "entityType": "company", "observations": []},
            {"name": "Gone", "entityType": "company", "observations": []},
        ],
    )
    graph.ok("add_observations", observations=[{"entityName": "Ann", "contents": ["three"]}])
    graph.ok(
        "create_relations",
        relations=[
            {"from": "Ann", "to": "Acme", "relationType": "works_at"},
            {"from": "Ann", "to": "Gone", "relationType": "left"},
            {"from": "Acme", "to": "Ann", "relationType": "employs"},
        ],
    )
    graph.ok("delete_observations", deletions=[{"entityName": "Ann", "observations": ["two"]}])
    graph.ok("delete_relations", relations=[{"from": "Acme", "to": "Ann", "relationType": "employs"}])
    graph.ok("delete_entities", entityNames=["Gone"])
    assert graph.ok("search_nodes", query="three")["result"][0]["name"] == "Ann"
    assert len(graph.ok("read_graph")["entities"]) == 2
    return graph.ok("open_nodes", names=["Ann", "Acme"])


@pytest.mark.parametrize("walk", [seed_b, seed_c, reference_server])
def test_the_same_calls_in_other_spellings(graph: Agent, walk: Walk) -> None:
    page = walk(graph)
    ann, acme = page["entities"]
    assert (ann["name"], ann["entity_type"]) == ("Ann", "person")
    assert (acme["name"], acme["entity_type"]) == ("Acme", "company")
    assert [(one["ordinal"], one["content"]) for one in ann["observations"]] == [(0, "one"), (2, "three")]
    assert page["relations"] == [{"from": "Ann", "to": "Acme", "relation_type": "works_at"}]


def test_other_spellings_of_single_arguments(graph: Agent) -> None:
    graph.node("Ann", "one", kind="person")
    graph.nodes("Bob").relate("Ann knows Bob")
    result = graph.ok("replace_observation", entityName="Ann", ordinal=0, newContent="ONE")
    assert (result["entity_name"], result["new_content"]) == ("Ann", "ONE")
    retyped = graph.ok("update_relation_type", **{"from": "Ann", "to": "Bob"}, oldType="knows", newType="likes")
    assert (retyped["from_entity"], retyped["new_type"]) == ("Ann", "likes")
    assert graph.ok("get_relations_between", entityA="Bob", entityB="Ann")["result"][0]["relation_type"] == "likes"
    assert graph.ok("get_nodes_by_type", entityType="person", tokenBudget=0)["result"][0]["name"] == "Ann"
    assert graph.ok("query_observations", entityName="Ann", query="one")["result"][0]["ordinal"] == 0


def test_only_one_spelling_is_advertised(graph: Agent) -> None:
    schemas = " ".join(str(tool.input_schema) for tool in graph.tools())
    for word in ("entityType", "entityName", "relationType", "newContent", "tokenBudget", "'from'", "'to'"):
        assert word not in schemas


def test_two_spellings_of_one_argument_are_refused(graph: Agent) -> None:
    entity = {"name": "Ann", "entity_type": "person", "entityType": "robot"}
    message = graph.refused("create_entities", entities=[entity])
    assert "entities.0.entityType: another name of entity_type, which is given as well" in message
