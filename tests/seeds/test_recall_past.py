"""Current and earlier states through a client: memories, observations, relations, keys."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tests.clients import Agent, Json, agent, environment

BOTH = "recall,graph,vault"


@pytest.fixture(scope="module")
def server(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("past")
    with agent(environment(home), "--toolsets", BOTH) as server:
        yield server


@pytest.fixture
def now(server: Agent) -> Agent:
    """Return an empty memory."""
    for scope in ("vault", "session"):
        server.ok("prune_memory", scope=scope, older_than="9999-01-01T00:00:00Z")
    return server.clear_graph().clear()


def time() -> str:
    """Return a time after all writes so far and before later ones; times of quick writes run ahead of the clock."""
    sleep(0.05)
    between = datetime.now(UTC).isoformat()
    sleep(0.002)
    return between


def contents(server: Agent, query: str, **more: str) -> list[str]:
    found = server.ok("memory_recall", query=query, format="list", **more)["ids"]
    return [memory["content"] for memory in server.whole(*found)] if found else []


def text(server: Agent, query: str, **more: Any) -> str:
    answer: str = server.ok("memory_recall", query=query, format="list", **more)["text"]
    return answer


def test_a_superseded_memory_is_not_found(now: Agent) -> None:
    old = now.store("The database is MySQL 5.7.")
    new: Json = now.ok("memory_store", content="The database is Postgres 16.", supersedes=[old])
    assert new["status"] == "updated"
    assert contents(now, "database") == ["The database is Postgres 16."]


def test_as_of_finds_a_superseded_memory(now: Agent) -> None:
    old = now.store("The database is MySQL 5.7.")
    before = time()
    now.ok("memory_store", content="The database is Postgres 16.", supersedes=[old])
    assert "MySQL" in (then := text(now, "database", as_of=before))
    assert "Postgres" not in then


def test_as_of_does_not_find_a_later_memory(now: Agent) -> None:
    before = time()
    now.store("The database is Postgres 16.")
    assert "Postgres" not in text(now, "database", as_of=before)


def test_as_of_finds_a_forgotten_memory(now: Agent) -> None:
    old = now.store("The office is in Berlin.")
    before = time()
    now.ok("memory_forget", ids=[old])
    assert "Berlin" in text(now, "office", as_of=before)


@pytest.mark.parametrize("query", ["database NOT MySQL", '"database was MySQL"', "database AND Oracle", "Ora*"])
def test_syntax_applies_to_deleted_memories_too(now: Agent, query: str) -> None:
    old = now.store("The database is MySQL 5.7.")
    before = time()
    now.ok("memory_forget", ids=[old])
    assert "MySQL" not in text(now, query, as_of=before)
    assert "MySQL" in text(now, "(Oracle OR MySQL) AND data*", as_of=before)


def test_filters_apply_to_deleted_memories_too(now: Agent) -> None:
    old: Json = now.ok("memory_store", content="The database is MySQL 5.7.", tags=["infra", "db"])
    before = time()
    now.ok("memory_forget", ids=[old["id"]])
    assert "MySQL" in text(now, "database", as_of=before, tags=["db", "infra"], kinds=["memory"])
    assert "MySQL" not in text(now, "database", as_of=before, tags=["db", "other"])
    assert "MySQL" not in text(now, "database", as_of=before, kinds=["entity"])


def test_as_of_does_not_find_a_later_text_of_the_session(now: Agent) -> None:
    now.ok("commit_memory", scope="session", key="plan", content="first the tests")
    before = time()
    now.ok("commit_memory", scope="session", key="plan", content="first the docs")
    assert "docs" not in text(now, "plan", as_of=before)


def test_superseding_again_changes_nothing(now: Agent) -> None:
    old = now.store("The database is MySQL 5.7.")
    first = now.ok("memory_store", content="The database is Postgres 16.", supersedes=[old])
    assert now.ok("memory_store", content="The database is Postgres 16.", supersedes=[old]) == first


def test_a_superseding_memory_inherits_tags_and_importance_unless_given(now: Agent) -> None:
    olds = [
        now.ok("memory_store", content=f"The port is {n}.", tags=["infra", tag], importance=weight)["id"]
        for n, tag, weight in ((1, "db", 0.9), (2, "staging", 0.2))
    ]
    for _ in range(2):  # the second time it already exists
        new = now.ok("memory_store", content="The ports are 3 and 4.", supersedes=olds)["id"]
        (kept,) = now.ok("memory_inspect", ids=[new])["memories"]
        assert (kept["tags"], kept["importance"]) == (["infra", "db", "staging"], 0.9)
    other = now.ok("memory_store", content="There are no ports.", tags=[], importance=0.1, supersedes=[new])["id"]
    (given,) = now.ok("memory_inspect", ids=[other])["memories"]
    assert (given["tags"], given["importance"]) == ([], 0.1)


@pytest.mark.parametrize("wrong", ["nope", "itself"])
def test_only_a_living_memory_can_be_superseded(now: Agent, wrong: str) -> None:
    there = now.store("The database is Postgres 16.")
    content = "The database is Postgres 16." if wrong == "itself" else "Another database"
    error = now.refused("memory_store", content=content, supersedes=[there if wrong == "itself" else wrong])
    assert "Nothing was stored" in error
    assert len(contents(now, "database")) == 1


def test_as_of_finds_the_earlier_text_of_a_key(now: Agent) -> None:
    now.ok("commit_memory", scope="vault", key="db", content="we use MySQL")
    before = time()
    now.ok("commit_memory", scope="vault", key="db", content="we use Postgres")
    assert "MySQL" in (then := text(now, "which db", as_of=before))
    assert "Postgres" not in then


def test_as_of_finds_a_replaced_observation(now: Agent) -> None:
    now.ok("create_entities", entities=[{"name": "Ann", "entity_type": "person", "observations": ["works at Acme"]}])
    before = time()
    now.ok("replace_observation", entity_name="Ann", ordinal=0, new_content="works at Initech")
    assert "Acme" in (then := text(now, "where does Ann work", as_of=before))
    assert "Initech" not in then


def test_as_of_opens_deleted_nodes(now: Agent) -> None:
    now.ok(
        "create_entities",
        entities=[
            {"name": "Ann", "entity_type": "person", "observations": ["works at Acme"]},
            {"name": "Acme", "entity_type": "firm"},
        ],
    )
    now.ok("create_relations", relations=[{"from_entity": "Ann", "to_entity": "Acme", "relation_type": "works_at"}])
    before = time()
    now.ok("delete_entities", entity_names=["Ann"])
    assert now.ok("open_nodes", names=["Ann"])["not_found"] == ["Ann"]
    then = now.ok("open_nodes", names=["Ann"], as_of=before)
    assert [one["observations"] for one in then["entities"]] == [[{"ordinal": 0, "content": "works at Acme"}]]
    assert then["relations"] == [{"from": "Ann", "to": "Acme", "relation_type": "works_at"}]


def test_as_of_shows_the_earlier_type_of_a_relation(now: Agent) -> None:
    now.ok("create_entities", entities=[{"name": name, "entity_type": "x"} for name in ("Ann", "Acme")])
    edge = {"from_entity": "Ann", "to_entity": "Acme"}
    now.ok("create_relations", relations=[edge | {"relation_type": "works_at"}])
    before = time()
    now.ok("update_relation_type", **edge, old_type="works_at", new_type="left")
    assert [one["relation_type"] for one in now.ok("open_nodes", names=["Ann"])["relations"]] == ["left"]
    then = now.ok("open_nodes", names=["Ann"], as_of=before)
    assert [one["relation_type"] for one in then["relations"]] == ["works_at"]


@pytest.mark.parametrize("tool", ["memory_recall", "open_nodes"])
def test_an_invalid_time_is_refused(now: Agent, tool: str) -> None:
    asked = {"query": "x"} if tool == "memory_recall" else {"names": ["x"]}
    assert "'last week' is not an ISO 8601 time" in now.refused(tool, **asked, as_of="last week")


def test_each_record_knows_who_wrote_it(now: Agent) -> None:
    (memory,) = now.whole(now.store("who wrote this?"))
    assert memory["tool"] == "memory_store"
    assert memory["client"] == "mcp"


def test_an_earlier_text_keeps_its_author(now: Agent) -> None:
    now.ok("commit_memory", scope="vault", key="db", content="we use MySQL")
    before = time()
    now.ok("commit_memory", scope="vault", key="db", content="we use Postgres")
    (then,) = now.ok("memory_recall", query="db", format="raw", as_of=before)["memories"]
    assert (then["content"], then["tool"]) == ("we use MySQL", "commit_memory")
    assert then["client"] == "mcp"
    assert then["updated_at"][:23] <= before[:23]


def test_as_of_finds_a_memory_by_meaning(tmp_path: Path, model_dir: Path) -> None:
    with agent(environment(tmp_path, model_dir, MEMORY_RERANKER="none")) as server:
        server.settle()
        old = server.store("The user lives in Berlin.")
        before = time()
        server.ok("memory_store", content="Home is Lisbon.", supersedes=[old])
        assert "Berlin" in text(server, "In which city was somebody's flat?", as_of=before)
