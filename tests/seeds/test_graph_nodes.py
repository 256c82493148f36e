"""Seeds b (4.2) and c: nodes, sentence by sentence, through a real client and a real server. Quotes are theirs."""

import uuid
from collections.abc import Callable

import pytest

from memoryd.core.base.clock import moment
from tests.clients import Agent, Json
from tests.conftest import Start


def test_the_life_of_a_node(start: Start) -> None:
    agent = start("--toolsets", "graph")
    agent.node("Ann", "Likes tea.", "Lives in Rome.", kind="person", summary="A friend.", tags=["friend"])
    agent.nodes("Acme")
    agent.relate("Ann works_at Acme")
    assert agent.hits("tea") == ["Ann"]
    agent.ok("add_observations", observations=[{"entity_name": "Ann", "contents": ["Moved to Oslo."]}])
    agent.ok("replace_observation", entity_name="Ann", ordinal=1, new_content="Lived in Rome.")
    agent.ok("delete_observations", deletions=[{"entity_name": "Ann", "ordinals": [0]}])
    assert agent.facts("Ann") == {1: "Lived in Rome.", 2: "Moved to Oslo."}
    assert agent.edges() == ["Ann works_at Acme"]
    agent.ok("delete_entities", entity_names=["Ann"])
    assert [one["name"] for one in agent.ok("read_graph")["entities"]] == ["Acme"]
    assert agent.edges() == []


# create_entities -----------------------------------------------------------------------------------------------------


def test_create_one_or_more_nodes(graph: Agent) -> None:
    # c: "Create one or more nodes." "returns: list of { name, entity_type, created_at }"
    # b: "Returns: Array of created entity objects with their IDs"
    made = graph.ok(
        "create_entities",
        entities=[
            {"name": "Ann", "entity_type": "person", "observations": ["one", "two"], "summary": "S", "tags": ["t"]},
            {"name": "Go", "entity_type": "technology"},
        ],
    )["result"]
    assert [(one["name"], one["entity_type"], one["already_existed"]) for one in made] == [
        ("Ann", "person", False),
        ("Go", "technology", False),
    ]
    assert all(uuid.UUID(one["id"]).version == 4 for one in made)
    assert all(moment(one["created_at"]) for one in made)
    ann, go = graph.opened("Ann", "Go")
    assert (ann["id"], ann["summary"], ann["tags"]) == (made[0]["id"], "S", ["t"])
    # c: "optional initial observations, appended in order"
    assert ann["observations"] == [{"ordinal": 0, "content": "one"}, {"ordinal": 1, "content": "two"}]
    assert (go["observations"], go["summary"], go["tags"]) == ([], None, [])  # b: "default": []


def test_a_name_is_unique_within_a_workspace(graph: Agent) -> None:
    # c: "name: str # unique within workspace"; the second call adds to the first
    first = graph.node("Ann", "one", "two", kind="person", summary="Old.", tags=["old"])
    again = graph.node("Ann", "two", "three", kind="robot")
    assert again == first | {"already_existed": True}
    assert graph.facts("Ann") == {0: "one", 1: "two", 2: "three"}
    (ann,) = graph.opened("Ann")
    assert (ann["entity_type"], ann["summary"], ann["tags"]) == ("person", "Old.", ["old"])
    graph.node("Ann", summary="New.", tags=["new", "new"])
    (ann,) = graph.opened("Ann")
    assert (ann["summary"], ann["tags"]) == ("New.", ["new"])
    assert len(graph.ok("read_graph")["entities"]) == 1


def test_the_same_node_twice_in_one_call(graph: Agent) -> None:
    entities = [{"name": "Ann", "entity_type": "person", "observations": [text]} for text in ("a", "b", "a")]
    made = graph.ok("create_entities", entities=entities)["result"]
    assert [one["already_existed"] for one in made] == [False, True, True]
    assert len({one["id"] for one in made}) == 1
    assert graph.facts("Ann") == {0: "a", 1: "b"}


def test_names_are_matched_exactly(graph: Agent) -> None:
    # b: "Retrieve specific entities by exact name match."
    names = [
        "Ann",
        "ann",
        "ANN",
        "A%n",
        "A_n",
        "Anne",
        "A'n\"n",
        "A\nn",
        "Änn",
        "名前",
        "👩🏽‍💻",
    ]
    graph.nodes(*names)
    assert [one["name"] for one in graph.opened(*names)] == names
    assert graph.ok("open_nodes", names=["A*", "an", "A.n"])["not_found"] == ["A*", "an", "A.n"]


@pytest.mark.slow
def test_many_nodes_in_one_call(graph: Agent) -> None:
    entities = [
        {"name": f"node {number}", "entity_type": "thing", "observations": [f"fact {number}", "common"]}
        for number in range(250)
    ]
    made = graph.ok("create_entities", entities=entities)["result"]
    assert len({one["id"] for one in made}) == 250
    assert len(graph.ok("get_nodes_by_type", entity_type="thing", token_budget=0)["result"]) == 250
    gone = graph.ok("delete_entities", entity_names=[one["name"] for one in made])
    assert gone["deleted_count"] == 250


def test_one_call_may_name_a_thousand_nodes(graph: Agent) -> None:
    names = [f"node {number}" for number in range(1_000)]
    assert graph.ok("delete_entities", entity_names=names)["not_found"] == names


# delete_entities -----------------------------------------------------------------------------------------------------


def test_delete_nodes_with_their_observations_and_relations(graph: Agent) -> None:
    # c: "Delete nodes by name, including all their observations, relations, embeddings, and events."
    # b: "Sets deleted_at on matched entities + their observations and relations (both from/to)."
    graph.node("Ann", "Likes tea.")
    graph.nodes("Bob", "Eve")
    graph.relate("Ann knows Bob", "Bob knows Ann", "Bob knows Eve")
    gone = graph.ok("delete_entities", entity_names=["Ann", "Unknown", "Ann"])
    assert gone == {"deleted": ["Ann"], "not_found": ["Unknown"], "deleted_count": 1}  # b: "Count of deleted entities"
    assert graph.edges() == ["Bob knows Eve"]
    assert graph.hits("tea") == graph.hits("Ann") == []
    assert graph.ok("open_nodes", names=["Ann"])["not_found"] == ["Ann"]
    assert graph.ok("delete_entities", entity_names=["Ann"])["not_found"] == ["Ann"]


def test_a_deleted_name_can_be_used_again(graph: Agent) -> None:
    first = graph.node("Ann", "old", tags=["old"])
    graph.nodes("Bob").relate("Ann knows Bob")
    graph.ok("delete_entities", entity_names=["Ann"])
    second = graph.node("Ann", "new")
    assert second["id"] != first["id"]
    assert not second["already_existed"]
    assert graph.facts("Ann") == {0: "new"}
    assert graph.opened("Ann")[0]["tags"] == []
    assert graph.edges() == []


# open_nodes ----------------------------------------------------------------------------------------------------------


def test_open_nodes_shows_everything(graph: Agent) -> None:
    # c: "Retrieve full node content by name, including all observations (ordered by ordinal), summary, tags, and
    # relation stubs." "all relations where either endpoint is in the requested set"
    graph.node("Ann", "one", "two", kind="person", summary="S", tags=["b", "a"])
    graph.nodes("Bob", "Eve", "Far")
    graph.relate("Ann knows Bob", "Eve likes Ann", "Eve knows Far")
    page = graph.ok("open_nodes", names=["Ann", "Unknown", "Bob", "Ann"])
    assert [one["name"] for one in page["entities"]] == ["Ann", "Bob"]
    assert page["not_found"] == ["Unknown"]
    ann = page["entities"][0]
    assert ann["observations"] == [{"ordinal": 0, "content": "one"}, {"ordinal": 1, "content": "two"}]
    assert (ann["entity_type"], ann["summary"], ann["tags"]) == ("person", "S", ["b", "a"])
    assert moment(ann["created_at"]) <= moment(ann["updated_at"])
    assert {(one["from"], one["relation_type"], one["to"]) for one in page["relations"]} == {
        ("Ann", "knows", "Bob"),
        ("Eve", "likes", "Ann"),
    }
    assert page["omitted"] == {"entities": 0, "observations": 0, "relations": 0}


def test_deleted_observations_and_relations_are_not_opened(graph: Agent) -> None:
    # b: "Array of entity objects with observations and relations (only active/non-deleted)"
    graph.node("Ann", "one", "two")
    graph.nodes("Bob").relate("Ann knows Bob", "Ann likes Bob")
    graph.ok("delete_observations", deletions=[{"entity_name": "Ann", "observations": ["one"]}])
    graph.ok("delete_relations", relations=[{"from": "Ann", "to": "Bob", "relation_type": "knows"}])
    page = graph.ok("open_nodes", names=["Ann"])
    assert page["entities"][0]["observations"] == [{"ordinal": 1, "content": "two"}]
    assert [one["relation_type"] for one in page["relations"]] == ["likes"]


def test_open_nodes_keeps_to_its_budget(graph: Agent) -> None:
    graph.node("Ann", *(f"{number} " + "long " * 100 for number in range(100)))
    graph.node("Bob", "short")
    full = graph.ok("open_nodes", names=["Ann", "Bob"], token_budget=0)
    assert [len(one["observations"]) for one in full["entities"]] == [100, 1]
    text = graph.text("open_nodes", names=["Ann", "Bob"], token_budget=2_000)
    assert len(text) / 4 < 2_100
    page = graph.ok("open_nodes", names=["Ann", "Bob"], token_budget=2_000)
    ann, bob = page["entities"]
    assert 10 < len(ann["observations"]) < 20
    assert ann["observations_omitted"] == 100 - len(ann["observations"])
    assert page["omitted"]["observations"] == ann["observations_omitted"] + bob["observations_omitted"]
    assert 1_500 < page["tokens_used"] <= 2_000
    assert len(graph.text("open_nodes", names=["Ann", "Bob"])) / 4 < 20_100, "the default"


# read_graph ----------------------------------------------------------------------------------------------------------


def test_read_the_entire_graph(graph: Agent) -> None:
    # b: "Complete graph: { entities: [...], relations: [...] } with all active entities, their observations, and all
    # active relations."
    assert graph.ok("read_graph") == {"entities": [], "relations": [], "next_cursor": None, "tokens_used": 17}
    graph.node("Bob", "two", "three")
    graph.node("Ann", "one")
    graph.nodes("Gone").relate("Ann knows Bob", "Bob knows Gone", "Bob knows Bob")
    graph.ok("delete_entities", entity_names=["Gone"])
    page = graph.ok("read_graph")
    assert [(one["name"], [fact["content"] for fact in one["observations"]]) for one in page["entities"]] == [
        ("Ann", ["one"]),
        ("Bob", ["two", "three"]),
    ]
    assert graph.edges() == ["Ann knows Bob", "Bob knows Bob"]


@pytest.mark.slow
def test_read_a_large_graph(graph: Agent) -> None:
    # b: "Can be large."
    entities = [
        {"name": f"node {n:03}", "entity_type": "t", "observations": [f"{n} {m} " + "x" * 300 for m in range(n % 7)]}
        for n in range(150)
    ]
    graph.ok("create_entities", entities=entities)
    graph.node("node 077", *(f"hub {number} " + "y" * 300 for number in range(60)))
    edges = [{"from": "node 077", "to": f"node {n:03}", "relation_type": "has"} for n in range(150)]
    graph.ok("create_relations", relations=edges)
    whole = graph.ok("read_graph", token_budget=0)
    assert whole["next_cursor"] is None
    assert len(whole["entities"]) == 150
    names, facts, ends, pages = set[str](), list[str](), list[str](), 0
    cursor: Json = {}
    while pages == 0 or cursor["cursor"]:
        page = graph.ok("read_graph", token_budget=2_000, **cursor)
        assert page["tokens_used"] <= 2_000
        pages, cursor = pages + 1, {"cursor": page["next_cursor"]}
        names |= {one["name"] for one in page["entities"]}
        facts += [fact["content"] for one in page["entities"] for fact in one["observations"]]
        ends += [one["to"] for one in page["relations"]]
    assert pages > 10
    assert names == {one["name"] for one in whole["entities"]}
    assert facts == [fact["content"] for one in whole["entities"] for fact in one["observations"]]
    assert sorted(ends) == sorted(one["to"] for one in whole["relations"])


def test_an_invalid_cursor_is_refused(graph: Agent) -> None:
    for cursor in ("x", "1|", "|||Ann", "-1|||Ann", "1:Ann", "1||Ann", "١|||Ann", "1" * 400):
        assert "is not a cursor" in graph.refused("read_graph", cursor=cursor), cursor


# get_nodes_by_type, get_recently_modified ----------------------------------------------------------------------------


def test_nodes_of_a_type(graph: Agent) -> None:
    # c: "List all nodes of a given entity type." "list of { name, entity_type, summary, tags, updated_at }"
    graph.node("Bob", kind="person")
    graph.node("Ann", kind="person", summary="S", tags=["t"])
    graph.node("Per", kind="persona")
    page = graph.ok("get_nodes_by_type", entity_type="person")
    assert [one["name"] for one in page["result"]] == ["Ann", "Bob"]
    assert page["result"][0] | {"updated_at": ""} == {
        "name": "Ann",
        "entity_type": "person",
        "summary": "S",
        "tags": ["t"],
        "updated_at": "",
    }
    assert page["omitted"] == 0
    assert graph.ok("get_nodes_by_type", entity_type="Person")["result"] == []
    short = graph.ok("get_nodes_by_type", entity_type="person", token_budget=50)
    assert (len(short["result"]), short["omitted"]) == (1, 1)


Touch = Callable[[Agent], object]
TOUCHES: dict[str, Touch] = {
    "add": lambda g: g.ok("add_observations", observations=[{"entity_name": "Old", "contents": ["new"]}]),
    "replace": lambda g: g.ok("replace_observation", entity_name="Old", ordinal=0, new_content="new"),
    "delete": lambda g: g.ok("delete_observations", deletions=[{"entity_name": "Old", "ordinals": [0]}]),
    "relate": lambda g: g.relate("Old knows Bob"),
    "be related": lambda g: g.relate("Bob knows Old"),
    "unrelate": lambda g: g.ok("delete_relations", relations=[{"from": "Old", "to": "Eve", "relation_type": "likes"}]),
    "retype": lambda g: g.ok(
        "update_relation_type", from_entity="Old", to_entity="Eve", old_type="likes", new_type="loves"
    ),
    "lose the other end": lambda g: g.ok("delete_entities", entity_names=["Eve"]),
    "summarize": lambda g: g.ok("set_summary", name="Old", summary="S"),
    "tag": lambda g: g.ok("set_tags", name="Old", tags=["t"]),
    "create again": lambda g: g.node("Old", "and more"),
}


@pytest.mark.slow
@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES)
def test_recently_modified_counts_any_child(graph: Agent, touch: Touch) -> None:
    # c: "Return nodes modified in the last N days, ordered by updated_at descending."
    # c: "updated_at timestamp on nodes, updated by trigger on any child write"
    graph.node("Old", "one")
    graph.nodes("Eve", "Bob", "Last").relate("Old likes Eve")
    graph.ok("set_tags", name="Last", tags=["last"])
    before = graph.ok("get_recently_modified")["result"]
    assert before[0]["name"] == "Last"
    touch(graph)
    after = graph.ok("get_recently_modified", limit=2, days=0.5)["result"]
    assert len(after) == 2
    assert "Old" in [one["name"] for one in after]
    assert [one["updated_at"] for one in after] == sorted((one["updated_at"] for one in after), reverse=True)
    old, new = (next(one for one in each if one["name"] == "Old") for each in (before, after))
    assert moment(old["updated_at"]) < moment(new["updated_at"])


def test_recently_modified_looks_back_the_given_days(graph: Agent) -> None:
    graph.nodes("Ann", "Bob")
    assert graph.ok("get_recently_modified", days=1e-12)["result"] == []
    assert len(graph.ok("get_recently_modified", days=36_500)["result"]) == 2
    assert len(graph.ok("get_recently_modified", limit=1)["result"]) == 1


# set_summary, set_tags -----------------------------------------------------------------------------------------------


def test_set_or_replace_the_summary(graph: Agent) -> None:
    # c: "Set or replace the summary field on a node." "{ name, summary, updated_at }"
    graph.node("Ann", "one")
    for summary in ("First.", "Second.\n ", "S" * 10_000):
        result = graph.ok("set_summary", name="Ann", summary=summary)
        (ann,) = graph.opened("Ann")
        assert result == {"name": "Ann", "summary": summary, "updated_at": ann["updated_at"]}
        assert ann["summary"] == summary
    assert graph.ok("set_summary", name="Ann", summary="")["summary"] is None
    assert graph.opened("Ann")[0]["summary"] is None
    assert graph.facts("Ann") == {0: "one"}


def test_replace_the_tags(graph: Agent) -> None:
    # c: "Replace the tag set on a node." "{ name, tags }"
    graph.node("Ann", tags=["old"], summary="S")
    assert graph.ok("set_tags", name="Ann", tags=["b", "a", "b"]) == {"name": "Ann", "tags": ["b", "a"]}
    assert graph.opened("Ann")[0]["tags"] == ["b", "a"]
    assert graph.ok("set_tags", name="Ann", tags=[]) == {"name": "Ann", "tags": []}
    assert graph.opened("Ann")[0]["summary"] == "S"


@pytest.mark.parametrize(("tool", "more"), [("set_summary", {"summary": "S"}), ("set_tags", {"tags": ["t"]})])
def test_an_unknown_node_is_named_when_setting_fields(graph: Agent, tool: str, more: Json) -> None:
    assert "'No \"body\"'" in graph.refused(tool, name='No "body"', **more)
