"""Invalid, odd or enormous calls of the graph tools: they are refused with a reason, and nothing changes."""

import pytest

from tests.clients import Agent, Json

ODD = (
    "it's",
    'say "hi"',
    "100%",
    "a_b",
    "a\nb",
    "tab\tand\r\nlines",
    " padded ",
    "'; DROP TABLE records; --",
    "${x} {y} {{z}}",
    "back\\slash",
    "/a/b/../c",
    "NULL",
    "0",
    "x" * 500,
    "名前",
    "العربية \u202e",
    "👨‍👩‍👧‍👦",
    "e\u0301",
    "a\u2028b",
    "\ufffe\U0010ffff",
    "*",
    '"*',
    "AND",
    "\x01\x7f",
)


@pytest.fixture
def small(graph: Agent) -> Agent:
    graph.node("Ann", "one", "two", kind="person", summary="S", tags=["t"])
    graph.nodes("Bob").relate("Ann knows Bob")
    return graph


def state(graph: Agent) -> Json:
    return graph.ok("read_graph", token_budget=0)


# names and texts -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.stores
def test_odd_names_work_everywhere(graph: Agent) -> None:
    # created, read, related, found and deleted, next to `other`
    graph.node("other", *(f"Next to {name} here." for name in ODD))
    more = [{"entity_type": name[:200], "summary": name, "observations": ["a fact", name]} for name in ODD]
    made = graph.ok("create_entities", entities=[{"name": name} | one for name, one in zip(ODD, more, strict=True)])
    assert [one["name"] for one in made["result"]] == [*ODD]
    for name, node in zip(ODD, graph.opened(*ODD), strict=True):
        assert (node["name"], node["entity_type"], node["summary"]) == (name, name[:200], name)
        assert [(one["ordinal"], one["content"]) for one in node["observations"]] == [(0, "a fact"), (1, name)]
    between = [{"from": name, "to": "other", "relation_type": name[:200]} for name in ODD]
    graph.ok("create_relations", relations=between)
    for name, relation in zip(ODD, between, strict=True):
        assert graph.ok("get_relations_between", entity_a="other", entity_b=name)["result"] == [relation]
        assert [one["name"] for one in graph.ok("get_nodes_by_type", entity_type=name[:200])["result"]] == [name]
        for tool, arguments in (("search_nodes", {}), ("query_observations", {"entity_name": name})):
            assert graph.call(tool, {"query": name, **arguments}).is_error in (False, not name.strip())
    deletions = [{"entity_name": name, "observations": [name]} for name in ODD]
    assert graph.ok("delete_observations", deletions=deletions)["deleted_count"] == len(ODD)
    assert graph.ok("delete_entities", entity_names=ODD)["deleted"] == [*ODD]
    assert [one["name"] for one in state(graph)["entities"]] == ["other"]


def test_the_largest_allowed_values_are_accepted(graph: Agent) -> None:
    graph.node("x" * 500, *("y" * 10_000 for _ in range(3)), kind="t" * 200, summary="s" * 10_000)
    (node,) = graph.opened("x" * 500)
    assert [len(one["content"]) for one in node["observations"]] == [10_000] * 3
    assert graph.ok("open_nodes", names=["z" * 10_000])["not_found"] == ["z" * 10_000]
    assert graph.ok("delete_entities", entity_names=["z" * 10_000])["deleted_count"] == 0
    assert graph.ok("get_nodes_by_type", entity_type="t" * 10_000)["result"] == []
    long = {"from": "z" * 10_000, "to": "z" * 10_000, "relation_type": "r" * 10_000}
    assert graph.ok("delete_relations", relations=[long])["not_found"] == 1


ENTITY = {"name": "New", "entity_type": "thing"}
WRONG: list[tuple[str, Json, str]] = [
    ("create_entities", {}, "entities: "),
    ("create_entities", {"entities": ["Ann"]}, "entities.0: "),
    ("create_entities", {"entities": [ENTITY] * 1_001}, "entities: "),
    ("create_entities", {"entities": [ENTITY, {"name": "x"}]}, "entities.1.entity_type: "),
    ("create_entities", {"entities": [ENTITY | {"name": " \n\t\u2003"}]}, "entities.0.name: "),
    ("create_entities", {"entities": [ENTITY | {"name": "x" * 501}]}, "entities.0.name: "),
    ("create_entities", {"entities": [ENTITY | {"observations": ["ok", ""]}]}, "entities.0.observations.1: "),
    ("create_entities", {"entities": [ENTITY | {"color": "red"}]}, "entities.0.color: unknown argument; it takes "),
    ("create_entities", {"entities": [ENTITY], "mode": "x"}, "mode: unknown argument; create_entities takes entities"),
    ("delete_entities", {"entity_names": ["Ann", ""]}, "entity_names.1: "),
    ("open_nodes", {"names": ["Ann"], "token_budget": -1}, "token_budget: "),
    ("get_nodes_by_type", {"entity_type": " "}, "entity_type: "),
    ("get_recently_modified", {"days": "week"}, "days: "),
    ("get_recently_modified", {"limit": 1.5}, "limit: "),
    ("set_summary", {"name": "Ann"}, "summary: "),
    ("set_tags", {"name": "Ann", "tags": "t"}, "tags: "),
    ("add_observations", {"observations": [{"entity_name": "Ann"}]}, "observations.0.contents: "),
    ("replace_observation", {"entity_name": "Ann", "ordinal": 10**30, "new_content": "x"}, "ordinal: "),
    ("delete_observations", {"deletions": [{"entity_name": "Ann", "ordinals": [-1]}]}, "deletions.0.ordinals.0: "),
    ("query_observations", {"entity_name": "Ann", "query": "x", "mode": "auto"}, "mode: "),
    ("create_relations", {"relations": [{"from": "Ann", "relation_type": "x"}]}, "relations.0.to_entity: "),
    ("delete_relations", {"relations": []}, "relations: "),
    ("update_relation_type", {"from": "Ann", "to": "Bob", "old_type": "knows", "new_type": ""}, "new_type: "),
    ("get_stats", {"workspace": "other"}, "workspace: unknown argument; no argument chooses the workspace"),
    ("search_nodes", {"query": "x" * 100_001}, "query: "),
]


@pytest.mark.slow
@pytest.mark.parametrize("tool", dict.fromkeys(tool for tool, _, _ in WRONG))
def test_an_invalid_call_names_the_argument_and_changes_nothing(small: Agent, tool: str) -> None:
    before = state(small)
    for arguments, place in ((arguments, place) for name, arguments, place in WRONG if name == tool):
        message = small.refused(tool, **arguments)
        assert message.startswith(f"Invalid arguments for {tool}. {place}"), arguments
        assert len(message) < 1_000, arguments
    assert state(small) == before


def test_only_the_first_of_many_errors_are_reported(small: Agent) -> None:
    message = small.refused("create_entities", entities=[{"name": "x"}] * 1_000)
    assert message.endswith("entities.9.entity_type: Field required; and 990 more")


# all or nothing ------------------------------------------------------------------------------------------------------

LAST_IS_WRONG: dict[str, Json] = {
    "create_entities": {"entities": [{"name": f"n{n}", "entity_type": "t"} for n in range(99)] + [{"name": "x"}]},
    "add_observations": {"observations": [{"entity_name": "Ann", "contents": ["new"]}, {"entity_name": "Ann"}]},
    "delete_observations": {
        "deletions": [{"entity_name": "Ann", "ordinals": [0]}, {"entity_name": "Unknown", "ordinals": [0]}]
    },
    "create_relations": {
        "relations": [{"from": "Bob", "to": "Ann", "relation_type": "x"}, {"from": "Bob", "to": "Ann"}]
    },
    "delete_relations": {
        "relations": [{"from": "Ann", "to": "Bob", "relation_type": "knows"}, {"from": "Ann", "to": "Bob"}]
    },
    "delete_entities": {"entity_names": ["Ann", "a\0b"]},
}


def test_a_call_that_fails_at_its_last_item_does_nothing(small: Agent) -> None:
    before = state(small)
    for tool, arguments in LAST_IS_WRONG.items():
        small.refused(tool, **arguments)
        assert state(small) == before, tool


# unknown names -------------------------------------------------------------------------------------------------------

UNKNOWN: list[tuple[str, Json]] = [
    ("set_summary", {"name": "Unknown", "summary": "S"}),
    ("set_tags", {"name": "Unknown", "tags": []}),
    ("replace_observation", {"entity_name": "Unknown", "ordinal": 0, "new_content": "x"}),
    ("delete_observations", {"deletions": [{"entity_name": "Unknown", "ordinals": [0]}]}),
    ("query_observations", {"entity_name": "Unknown", "query": "x"}),
    ("update_relation_type", {"from_entity": "Ann", "to_entity": "Unknown", "old_type": "knows", "new_type": "x"}),
    ("get_relations_between", {"entity_a": "Unknown", "entity_b": "Ann"}),
]


def test_an_unknown_node_is_named_with_a_next_step(small: Agent) -> None:
    for tool, arguments in UNKNOWN:
        message = small.refused(tool, **arguments)
        assert "'Unknown' not found" in message, tool
        assert "search_nodes" in message, tool


@pytest.mark.slow
def test_only_the_first_of_many_unknown_nodes_are_named(small: Agent) -> None:
    deletions = [{"entity_name": f"n{number}" + "x" * 900, "ordinals": [0]} for number in range(100)]
    message = small.refused("delete_observations", deletions=deletions)
    assert "Nodes 'n0xxx" in message
    assert "... and 90 more not found" in message
    assert len(message) < 6_000


# text that no store can keep -----------------------------------------------------------------------------------------

NUL: list[tuple[str, Json, str]] = [
    ("create_entities", {"entities": [ENTITY, ENTITY | {"name": "a\0b"}]}, "entities.1.name: "),
    ("create_entities", {"entities": [{"name": "x", "entityType": "a\0b"}]}, "entities.0.entityType: "),
    ("create_entities", {"entities": [ENTITY | {"observations": ["a\0b"]}]}, "entities.0.observations: "),
    ("add_observations", {"observations": [{"entity_name": "a\0b", "contents": []}]}, "observations.0.entity_name: "),
    ("create_relations", {"relations": [{"from": "a\0b", "to": "Ann", "relation_type": "x"}]}, "relations.0.from: "),
    ("open_nodes", {"names": ["a\0b"]}, "names: "),
    ("search_nodes", {"query": "a\0b"}, "query: "),
    ("read_graph", {"cursor": "0.0:a\0b"}, "cursor: "),
]


def test_nul_is_refused_with_its_place(small: Agent) -> None:
    for tool, arguments, place in NUL:
        message = small.refused(tool, **arguments)
        assert place in message, tool
        assert "has U+0000 at character" in message, tool
