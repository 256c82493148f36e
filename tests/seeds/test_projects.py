"""Seed b, sections 3.1, 4.1 and 5: its project tools through a real client, sentence by sentence."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.store.sqlite import placement
from tests.clients import PATIENCE, POSTGRES, Agent, Json, agent, environment
from tests.conftest import Start
from tests.store.kit import value

FIELDS = {"id", "name", "description", "status", "created_at", "updated_at"}
NONE_ACTIVE = {"project": None, "message": "No project is currently active. Use switch_project to select one."}
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
WORKSPACE, SESSION = "memoryd/workspace", "memoryd/session"


@pytest.fixture
def b(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """Yield an agent with b's tools and recall; a busy machine may take long to release a file to be archived."""
    monkeypatch.setattr(placement, "LETTING_GO", PATIENCE)
    with agent(environment(home), "--toolsets", "projects,recall") as connected:
        yield connected


def data(home: Path) -> list[str]:
    """Return the databases in the data directory, without the logs of open ones."""
    root = home / "data"
    paths = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    return sorted(path for path in paths if not path.endswith(("-wal", "-shm")) and path.endswith(".db"))


def holds(home: Path, *files: str) -> None:
    """Check that SQLite has exactly these files; Postgres has none."""
    assert POSTGRES or data(home) == list(files)


def names(b: Agent, **arguments: Any) -> list[str]:
    return [project["name"] for project in b.ok("list_projects", **arguments)["result"]]


def current(b: Agent) -> Any:
    project: Json | None = b.ok("get_current_project")["project"]
    return project and project["name"]


# 4.1 -----------------------------------------------------------------------------------------------------------------


def test_the_life_of_a_project(b: Agent, home: Path) -> None:
    assert b.ok("get_current_project") == NONE_ACTIVE
    assert b.ok("list_projects") == {"result": []}
    made = b.ok("create_project", name="website", description="The relaunch")
    assert set(made) == FIELDS
    assert re.fullmatch(UUID4, made["id"])
    assert (made["name"], made["description"], made["status"]) == ("website", "The relaunch", "active")
    holds(home, "_meta.db", f"projects/{made['id']}.db")
    assert b.ok("get_current_project") == {"project": made, "message": 'Project "website" is active.'}

    b.store("The relaunch is on 2 May.")
    archived = b.ok("archive_project", name="website")
    assert archived["message"] == 'Project "website" archived.'
    assert archived["project"] | {"updated_at": ""} == made | {"status": "archived", "updated_at": ""}
    assert archived["project"]["updated_at"] > made["updated_at"]
    holds(home, "_meta.db", f"archive/{made['id']}.db")
    assert b.ok("get_current_project") == NONE_ACTIVE

    restored = b.ok("restore_project", name="website")
    assert set(restored) == FIELDS
    assert restored["status"] == "active"
    holds(home, "_meta.db", f"projects/{made['id']}.db")
    assert b.ok("get_current_project") == NONE_ACTIVE, "b: restoring does not switch"
    switched = b.ok("switch_project", name="website")
    assert switched == {"project": restored, "message": 'Switched to project "website".'}
    assert b.found("relaunch") == ["The relaunch is on 2 May."]

    deleted = b.ok("delete_project", name="website")
    assert deleted["message"] == 'Project "website" permanently deleted.'
    assert set(deleted["project"]) == FIELDS
    holds(home, "_meta.db")
    assert b.ok("get_current_project") == NONE_ACTIVE
    assert names(b, status="all") == []


def test_list_projects_filters_by_status(b: Agent) -> None:
    for name in ("b", "a", "c"):
        b.ok("create_project", name=name)
    b.ok("archive_project", name="b")
    assert names(b) == names(b, status="active") == ["a", "c"]
    assert names(b, status="archived") == ["b"]
    assert names(b, status="all") == ["a", "b", "c"]
    assert "status" in b.refused("list_projects", status="deleted")


def test_an_archived_project_can_be_deleted(b: Agent, home: Path) -> None:
    b.ok("create_project", name="p")
    b.ok("archive_project", name="p")
    b.ok("delete_project", name="p")
    holds(home, "_meta.db")
    assert names(b, status="all") == []


def test_create_switches(b: Agent) -> None:
    b.ok("create_project", name="one")
    b.ok("create_project", name="two")
    assert current(b) == "two"
    assert b.ok("switch_project", name="one")["project"]["name"] == "one"
    assert current(b) == "one"


def test_an_impossible_request_is_refused_and_changes_nothing(b: Agent) -> None:
    b.ok("create_project", name="old")
    b.ok("archive_project", name="old")
    b.ok("create_project", name="p")
    assert b.refused("create_project", name="p").startswith('Failed to create project "p": the name is taken')
    assert b.refused("create_project", name="a b").startswith('Failed to create project "a b": a name has 1 to 100')
    assert b.refused("switch_project", name="old") == 'project "old" is archived — restore it first'
    assert b.refused("archive_project", name="old") == 'project "old" is already archived'
    assert b.refused("restore_project", name="p") == 'project "p" is not archived'
    for tool in ("switch_project", "archive_project", "restore_project", "delete_project"):
        assert b.refused(tool, name="none") == 'project "none" not found. There are: old, p.'
    assert current(b) == "p"
    assert names(b, status="all") == ["old", "p"]


def test_the_tools_are_annotated(b: Agent) -> None:
    tools = {tool.name: tool for tool in b.tools()}
    hints = {name: tools[name].annotations for name in tools if name.endswith(("project", "projects"))}
    assert len(hints) == 7
    reading = {name for name, hint in hints.items() if hint and hint.read_only_hint}
    assert reading == {"list_projects", "get_current_project", "switch_project"}
    assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {"delete_project"}
    assert tools["list_projects"].input_schema["properties"]["status"]["enum"] == ["active", "archived", "all"]
    assert tools["get_current_project"].input_schema.get("properties", {}) == {}
    assert tools["create_project"].input_schema["required"] == ["name"]


# 5: sessions, and the project in which the other tools run -----------------------------------------------------------


def test_the_other_tools_run_in_the_active_project(b: Agent) -> None:
    def place(tool: str, **arguments: Any) -> Any:
        result = b.call(tool, arguments)
        assert not result.is_error
        return (result.meta or {}).get(WORKSPACE)

    assert place("memory_store", content="No project is chosen yet.") == "default"
    b.ok("create_project", name="p")
    assert b.found("project") == []
    assert place("memory_store", content="The project is chosen.") == "p"
    assert place("memory_recall", query="project") == "p"
    assert place("list_projects") is place("get_current_project") is None
    assert names(b) == ["default", "p"], "all workspaces are projects"
    b.ok("switch_project", name="default")
    assert b.found("project") == ["No project is chosen yet."]


def test_each_session_has_its_own_project(b: Agent) -> None:
    def ask(session: str, tool: str, **arguments: Any) -> Json:
        result = b.call(tool, arguments, meta={SESSION: session})
        assert not result.is_error
        return result.structured_content or {}

    for session, name in (("ann", "one"), ("bob", "two")):
        ask(session, "create_project", name=name)
        ask(session, "memory_store", content=f"A text of {session}.")
    found = {s: [m["content"] for m in ask(s, "memory_inspect", view="recent")["memories"]] for s in ("ann", "bob")}
    assert found == {"ann": ["A text of ann."], "bob": ["A text of bob."]}
    ask("ann", "archive_project", name="two")
    assert ask("bob", "get_current_project") == NONE_ACTIVE
    assert ask("ann", "get_current_project")["project"]["name"] == "one"
    assert current(b) is None, "this connection has none either"


def test_the_graph_requires_a_project_if_projects_are_offered(start: Start) -> None:
    b = start("--toolsets", "projects,graph")
    for tool in ("read_graph", "open_nodes"):
        arguments = {"names": ["x"]} if tool == "open_nodes" else {}
        assert b.refused(tool, **arguments) == "No active project. Use switch_project to select one."
    assert names(b, status="all") == []
    b.ok("create_project", name="p")
    assert b.ok("read_graph")["entities"] == []
    b.ok("archive_project", name="p")
    assert b.refused("read_graph") == "No active project. Use switch_project to select one."
    without = start("--toolsets", "graph")
    assert (without.call("read_graph", {}).meta or {})[WORKSPACE] == "default"


def test_two_servers_have_separate_active_projects(start: Start, home: Path) -> None:
    one, two = (start("--toolsets", "all") for _ in range(2))
    one.ok("create_project", name="p")
    assert current(two) is None
    two.ok("create_project", name="q")
    assert (current(one), current(two)) == ("p", "q")
    two.ok("archive_project", name="p")
    assert current(one) is None
    assert one.refused("switch_project", name="p") == 'project "p" is archived — restore it first'


def test_a_configured_session_finds_its_project_again(home: Path) -> None:
    def server(*session: str) -> Any:
        settings = dict(zip(["MEMORY_MCP_SESSION_ID"], session, strict=False))
        return agent(environment(home) | settings, "--toolsets", "projects")

    with server("mine") as first:
        first.ok("create_project", name="p")
    with server("mine") as second:
        assert current(second) == "p"
    with server() as third:
        assert current(third) is None
        third.ok("switch_project", name="p")
    assert POSTGRES or value(home / "data/_meta.db", "SELECT group_concat(id) FROM sessions") == "mine"


def test_read_only_switches_and_changes_nothing(start: Start, home: Path) -> None:
    writer = start("--toolsets", "all")
    writer.ok("create_project", name="p")
    writer.store("A text in p.")
    reader = start("--toolsets", "projects,recall", "--read-only")
    offered = {tool.name for tool in reader.tools()}
    assert offered >= {"list_projects", "get_current_project", "switch_project"}
    assert not offered & {"create_project", "archive_project", "restore_project", "delete_project"}
    reader.ok("switch_project", name="p")
    assert current(reader) == "p"
    assert reader.found("text") == ["A text in p."]
    assert POSTGRES or value(home / "data/_meta.db", "SELECT count(*) FROM sessions") == 1, "the writer's"


def test_without_the_toolset_the_active_project_has_no_effect(start: Start) -> None:
    plain = start()
    assert {tool.name for tool in plain.tools()} & {"switch_project", "create_project"} == set()
    start("--toolsets", "projects", MEMORY_MCP_SESSION_ID="s").ok("create_project", name="p")
    same = start(MEMORY_MCP_SESSION_ID="s")
    same.store("A text.")
    assert (same.call("memory_inspect", {}).meta or {})[WORKSPACE] == "default"


def test_everything_in_one_file(home: Path, start: Start) -> None:
    b = start("--toolsets", "all", "--db", str(home / "all.db"))
    for name in ("one", "two"):
        b.ok("create_project", name=name)
        b.store(f"A text of {name}.")
    b.ok("archive_project", name="one")
    assert current(b) == "two"
    assert b.found("text") == ["A text of two."]
    b.ok("restore_project", name="one")
    b.ok("switch_project", name="one")
    assert b.found("text") == ["A text of one."]
    b.ok("delete_project", name="one")
    assert names(b, status="all") == ["two"]
    assert not (home / "data" / "projects").exists()
