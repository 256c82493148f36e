"""Seeds b and c: the graph tools, the projects where they work, and read-only servers."""

import pytest

from memoryd.toolsets import TOOLSETS
from tests.clients import Agent, Json
from tests.conftest import Start

B = """create_entities add_observations create_relations search_nodes open_nodes read_graph delete_entities
    delete_observations delete_relations"""
C = """create_entities delete_entities open_nodes get_nodes_by_type get_recently_modified set_summary set_tags
    add_observations replace_observation delete_observations query_observations create_relations delete_relations
    update_relation_type get_relations_between get_neighborhood get_path get_orphans get_relation_gaps
    find_similar_nodes search_nodes get_consolidation_report get_pending_consolidation get_stats"""

READING = {"open_nodes", "read_graph", "search_nodes", "query_observations", "find_similar_nodes"}
ONCE = {"update_relation_type"}
"""Tools that are not idempotent."""


def test_there_is_one_tool_per_name(graph: Agent) -> None:
    listed = [tool.name for tool in graph.tools()]
    assert sorted(listed) == sorted({*B.split(), *C.split()})


def test_tools_are_annotated(graph: Agent) -> None:
    for tool in graph.tools():
        assert tool.annotations is not None
        reads = tool.name in READING or tool.name.startswith("get_")
        assert tool.annotations.read_only_hint == reads, tool.name
        assert tool.annotations.destructive_hint == tool.name.startswith("delete_"), tool.name
        assert tool.annotations.idempotent_hint == (tool.name not in ONCE), tool.name


def test_a_reader_sees_and_calls_only_read_tools(start: Start) -> None:
    writer = start("--toolsets", "graph")
    writer.node("Ann", "Likes tea.")
    reader = start("--toolsets", "graph", "--read-only")
    listed = {tool.name for tool in reader.tools()}
    assert listed == {tool.name for tool in TOOLSETS["graph"] if tool.capability == "read"}
    assert reader.hits("tea") == ["Ann"]
    assert reader.facts("Ann") == {0: "Likes tea."}
    with pytest.raises(Exception, match="Unknown tool: delete_entities"):
        reader.call("delete_entities", {"entity_names": ["Ann"]})


# projects ------------------------------------------------------------------------------------------------------------

CALLS: dict[str, Json] = {
    "create_entities": {"entities": [{"name": "Ann", "entity_type": "person"}]},
    "add_observations": {"observations": [{"entity_name": "Ann", "contents": ["one"]}]},
    "create_relations": {"relations": [{"from": "Ann", "to": "Ann", "relation_type": "is"}]},
    "search_nodes": {"query": "x"},
    "open_nodes": {"names": ["Ann"]},
    "read_graph": {},
    "delete_observations": {"deletions": [{"entity_name": "Ann", "observations": ["one"]}]},
    "delete_relations": {"relations": [{"from": "Ann", "to": "Ann", "relation_type": "is"}]},
    "delete_entities": {"names": ["Ann"]},
    "get_stats": {},
    "get_orphans": {},
}


def test_every_graph_tool_requires_an_active_project(start: Start) -> None:
    # b: "All tools below return an error if no project is currently active. The error message instructs the caller to
    # use switch_project first."
    client = start("--toolsets", "projects,graph")
    for tool, arguments in CALLS.items():
        assert client.refused(tool, **arguments) == "No active project. Use switch_project to select one."
    assert all(tool.needs == "project" for tool in TOOLSETS["graph"])
    client.ok("create_project", name="first")
    for tool, arguments in CALLS.items():
        client.ok(tool, **arguments)
    client.ok("archive_project", name="first")
    assert "No active project" in client.refused("read_graph")


def test_without_projects_the_configured_workspace_is_used(start: Start) -> None:
    start("--toolsets", "graph", "--workspace", "mine").node("Ann")
    assert start("--toolsets", "graph", "--workspace", "mine").opened("Ann")
    other = start("--toolsets", "graph", "--workspace", "other")
    assert other.ok("get_stats").items() >= {"node_count": 0, "workspace": "other"}.items()
    result = other.call("get_stats", {})
    assert result.meta is not None
    assert result.meta["memoryd/workspace"] == "other"


def test_two_clients_in_two_projects_do_not_touch_each_other(start: Start) -> None:
    # b: "project-isolated knowledge graph storage"
    one, other = (start("--toolsets", "projects,graph") for _ in range(2))
    one.ok("create_project", name="one")
    other.ok("create_project", name="other")
    for turn in range(3):
        one.node("Ann", f"one {turn}")
        other.node("Ann", f"other {turn}")
    one.nodes("Bob").relate("Ann knows Bob")
    assert list(one.facts("Ann").values()) == ["one 0", "one 1", "one 2"]
    assert list(other.facts("Ann").values()) == ["other 0", "other 1", "other 2"]
    assert (one.edges(), other.edges()) == (["Ann knows Bob"], [])
    assert other.hits("one") == []
    other.ok("delete_entities", names=["Ann"])
    assert one.opened("Ann")[0]["id"]
    other.ok("switch_project", name="one")
    assert other.edges() == ["Ann knows Bob"]
    one.ok("switch_project", name="other")
    assert one.ok("read_graph")["entities"] == []
