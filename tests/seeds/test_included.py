"""Searches of the vault, the graph and the journal over workspaces that are read together."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.settings import Settings
from tests.clients import Agent, agent, environment

PLACES = ("shop", "personal", "secret")
SEARCHES = {
    "search_memories": "results",
    "search_nodes": "result",
    "query_raw_memories": "results",
    "query_summaries": "results",
}


@contextmanager
def places(home: Path) -> Iterator[dict[str, Agent]]:
    """Yield an agent per workspace: `shop` includes `personal`; `secret` has the same content and is not included."""
    environ = environment(home)
    with ExitStack() as ends:
        registry = ends.enter_context(Engine(Settings.read(environ))).workspaces
        for name in PLACES:
            registry.create(name)
        registry.include("shop", ["personal"])
        tools = ("--toolsets", "vault,graph,journal,projects", "--workspace")
        agents = {name: ends.enter_context(agent(environ, *tools, name)) for name in PLACES}
        for name, one in agents.items():
            furnish(one, name)
        yield agents


def furnish(agent: Agent, name: str) -> None:
    agent.ok("switch_project", name=name)
    agent.ok("commit_memory", scope="vault", key="ferry", content=f"The ferry of {name} leaves at seven.")
    facts = [f"steers the ferry of {name}", f"lives in {name}"]
    port = f"Port of {name}"
    agent.ok(
        "create_entities",
        entities=[
            {"name": "Ann", "entity_type": "captain", "observations": facts},
            {"name": port, "entity_type": "place"},
        ],
    )
    agent.ok("create_relations", relations=[{"from": "Ann", "to": port, "relation_type": "sails_from"}])
    turn = {"prompt": f"When does the ferry of {name} leave?", "thought": "I look.", "response": "At seven."}
    agent.ok("add_memory", **turn, sessionId=f"of {name}")
    agent.ok("summarize_sessions", sessionId=f"of {name}")


@pytest.fixture(scope="module")
def here(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Agent]]:
    """Yield agents for tests that only read."""
    with places(tmp_path_factory.mktemp("included")) as agents:
        yield agents


@pytest.fixture(scope="module")
def shop(here: dict[str, Agent]) -> Agent:
    return here["shop"]


def found(agent: Agent, tool: str, query: str = "ferry", **arguments: object) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = agent.ok(tool, query=query, **arguments)[SEARCHES[tool]]
    return hits


@pytest.mark.stores
@pytest.mark.parametrize("tool", SEARCHES)
def test_each_hit_names_its_workspace_and_the_best_is_first(shop: Agent, tool: str) -> None:
    for query, first in (("ferry personal", "personal"), ("ferry shop", "shop")):
        hits = found(shop, tool, query)
        assert hits[0]["workspace"] == first
        assert {hit["workspace"] for hit in hits} == {"shop", "personal"}
        scores = [hit["score" if "score" in hit else "relevance"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
    limit = "nResults" if "query_" in tool else "limit"
    assert [hit["workspace"] for hit in found(shop, tool, "ferry personal", **{limit: 1})] == ["personal"]


@pytest.mark.parametrize("tool", SEARCHES)
def test_without_included_workspaces_hits_name_no_workspace(here: dict[str, Agent], tool: str) -> None:
    hits = found(here["personal"], tool)
    assert hits
    assert not any("workspace" in hit for hit in hits)
    assert "shop" not in str(hits)


def test_a_node_has_the_observations_of_its_own_workspace(shop: Agent) -> None:
    nodes = {hit["workspace"]: hit for hit in found(shop, "search_nodes") if hit["name"] == "Ann"}
    for name, node in nodes.items():
        facts = [one["content"] for one in node["observations"]]
        assert facts == [f"steers the ferry of {name}", f"lives in {name}"]
        ((target,)) = [one["to"] for one in node["relations"]]
        assert target == f"Port of {name}"
    assert set(nodes) == {"shop", "personal"}


def test_all_workspaces_share_one_budget(shop: Agent) -> None:
    small = shop.ok("search_nodes", query="ferry", token_budget=230)
    assert small["tokens_used"] <= 230
    assert {hit["workspace"] for hit in small["result"]} == {"shop", "personal"}
    left = sum(hit["observations_omitted"] for hit in small["result"])
    assert small["omitted"]["observations"] == left > 0
    whole = shop.ok("search_nodes", query="ferry", token_budget=0)
    assert whole["omitted"] == {"entities": 0, "observations": 0, "relations": 0}


def test_a_session_is_found_in_an_included_workspace(shop: Agent) -> None:
    (hit,) = found(shop, "query_raw_memories", sessionId="of personal")
    assert (hit["sessionId"], hit["workspace"]) == ("of personal", "personal")


def test_writes_go_to_one_workspace_and_an_archived_one_is_reported(tmp_path: Path) -> None:
    with places(tmp_path) as agents:
        shop = agents["shop"]
        shop.ok("commit_memory", scope="vault", key="quay", content="Quay two.", tags=["port"])
        answer = shop.ok("search_memories", query="ferry")
        assert (len(answer["results"]), answer["total_searched"]) == (2, 3)
        (tagged,) = found(shop, "search_memories", "", tags=["port"])
        assert (tagged["key"], tagged["workspace"]) == ("quay", "shop")

        assert shop.ok("prune_memory", scope="vault", key="ferry") == {"pruned_count": 1}
        assert [hit["workspace"] for hit in found(shop, "search_memories")] == ["personal"]
        assert shop.ok("delete_all_summaries")["deleted"] == 1
        assert [hit["workspace"] for hit in found(shop, "query_summaries")] == ["personal"]
        assert shop.ok("delete_entities", entity_names=["Port of personal"])["not_found"] == ["Port of personal"]

        shop.ok("archive_project", name="personal")
        for tool, hits in SEARCHES.items():
            answer = shop.ok(tool, query="ferry")
            assert answer["degraded"].endswith("Archived workspaces are not read: personal.")
            assert "of personal" not in str(answer[hits])
