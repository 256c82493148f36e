"""Seeds b (4.2) and c: relations, sentence by sentence, through a real client and a real server."""

import uuid

import pytest

from tests.clients import Agent, Json, edge


@pytest.fixture
def people(graph: Agent) -> Agent:
    return graph.nodes("Ann", "Bob", "Eve")


def written(relations: list[Json]) -> list[str]:
    return sorted(" ".join((one["from"], one["relation_type"], one["to"])) for one in relations)


# create_relations ----------------------------------------------------------------------------------------------------


def test_create_directed_typed_relations(people: Agent) -> None:
    # c: "Create directed typed edges between nodes."
    # c: "{ created: list[relation], already_existed: list[relation], not_found: list[str] }"
    # b: "Returns: Array of created relation objects"
    people.relate("Ann knows Bob")
    answer = people.relate("Ann knows Bob", "Bob knows Ann", "Ann likes Bob", "Ann knows Unknown", "Who knows Unknown")
    assert written(answer["created"]) == ["Ann likes Bob", "Bob knows Ann"]
    assert written(answer["already_existed"]) == ["Ann knows Bob"]
    assert answer["not_found"] == ["Unknown", "Who"]
    assert all(uuid.UUID(one["id"]) and one["created_at"] for one in answer["created"] + answer["already_existed"])
    assert people.edges() == ["Ann knows Bob", "Ann likes Bob", "Bob knows Ann"]


def test_a_relation_exists_only_once(people: Agent) -> None:
    # c: "(workspace_id, from_node_id, to_node_id, relation_type) unique constraint"
    answer = people.relate("Ann knows Bob", "Ann knows Bob")
    assert written(answer["created"]) == ["Ann knows Bob"]
    again = people.relate("Ann knows Bob")
    assert again["already_existed"] == answer["created"]
    assert people.edges() == ["Ann knows Bob"]


def test_a_node_may_be_related_to_itself_and_in_a_circle(people: Agent) -> None:
    people.relate("Ann admires Ann", "Ann knows Bob", "Bob knows Eve", "Eve knows Ann")
    assert people.edges() == ["Ann admires Ann", "Ann knows Bob", "Bob knows Eve", "Eve knows Ann"]
    between = people.ok("get_relations_between", entity_a="Ann", entity_b="Ann")["result"]
    assert written(between) == ["Ann admires Ann"]
    assert people.ok("delete_entities", entity_names=["Ann"])["deleted_count"] == 1
    assert people.edges() == ["Bob knows Eve"]


@pytest.mark.slow
def test_many_relations_in_one_call(graph: Agent) -> None:
    graph.nodes(*(f"n{number}" for number in range(20)))
    edges = [edge(f"n{number % 20} has n{number // 20}") for number in range(300)]
    assert len(graph.ok("create_relations", relations=edges)["created"]) == 300
    assert graph.ok("delete_relations", relations=edges) == {"deleted": 300, "not_found": 0}


# delete_relations ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_delete_specific_relations(people: Agent) -> None:
    # c: "Delete specific relations." "{ deleted: int, not_found: int }"; b: "Returns: Count of deleted relations"
    people.relate("Ann knows Bob", "Bob knows Ann", "Ann likes Bob")
    gone = [edge(words) for words in ("Ann knows Bob", "Ann knows Eve", "Ann hates Bob", "Ann knows Unknown")]
    assert people.ok("delete_relations", relations=gone) == {"deleted": 1, "not_found": 3}
    assert people.edges() == ["Ann likes Bob", "Bob knows Ann"]
    assert people.ok("delete_relations", relations=gone[:1] * 2) == {"deleted": 0, "not_found": 1}


def test_a_deleted_relation_can_be_made_again(people: Agent) -> None:
    (first,) = people.relate("Ann knows Bob")["created"]
    people.ok("delete_relations", relations=[edge("Ann knows Bob")])
    (second,) = people.relate("Ann knows Bob")["created"]
    assert second["id"] != first["id"]
    assert people.edges() == ["Ann knows Bob"]


# update_relation_type ------------------------------------------------------------------------------------------------


def retype(words: str, new_type: str) -> Json:
    one = edge(words)
    return one | {"old_type": one.pop("relation_type"), "new_type": new_type}


def test_rename_the_type_of_a_relation(people: Agent) -> None:
    # c: "Rename the type string on an existing relation." "{ from_entity, to_entity, old_type, new_type }"
    people.relate("Ann knows Bob", "Bob knows Ann", "Ann knows Eve")
    result = people.ok("update_relation_type", **retype("Ann knows Bob", "trusts"))
    assert result == {"from_entity": "Ann", "to_entity": "Bob", "old_type": "knows", "new_type": "trusts"}
    assert people.edges() == ["Ann knows Eve", "Ann trusts Bob", "Bob knows Ann"]
    assert people.ok("update_relation_type", **retype("Ann trusts Bob", "trusts"))["new_type"] == "trusts"


def test_a_relation_cannot_be_renamed_onto_another(people: Agent) -> None:
    people.relate("Ann knows Bob", "Ann likes Bob")
    assert "Relation 'Ann' 'likes' 'Bob' already exists" in people.refused(
        "update_relation_type", **retype("Ann knows Bob", "likes")
    )
    assert people.edges() == ["Ann knows Bob", "Ann likes Bob"]


def test_only_an_existing_relation_can_be_renamed(people: Agent) -> None:
    people.relate("Ann knows Bob")
    assert "no relation 'Bob' 'knows' 'Ann'" in people.refused(
        "update_relation_type", **retype("Bob knows Ann", "likes")
    )
    assert "'Unknown' not found" in people.refused("update_relation_type", **retype("Ann knows Unknown", "likes"))


# get_relations_between -----------------------------------------------------------------------------------------------


def test_all_relations_between_two_nodes(people: Agent) -> None:
    # c: "Return all relations between two specific nodes (both directions)." "list of { from, to, relation_type }"
    people.relate("Ann knows Bob", "Ann likes Bob", "Bob knows Ann", "Ann knows Eve", "Ann admires Ann")
    for one, other in (("Ann", "Bob"), ("Bob", "Ann")):
        found = people.ok("get_relations_between", entity_a=one, entity_b=other)["result"]
        assert written(found) == ["Ann knows Bob", "Ann likes Bob", "Bob knows Ann"]
        assert all(set(relation) == {"from", "to", "relation_type"} for relation in found)
    assert people.ok("get_relations_between", entity_a="Bob", entity_b="Eve")["result"] == []
    message = people.refused("get_relations_between", entity_a="Unknown", entity_b="Who")
    assert "Nodes 'Unknown', 'Who' not found" in message
