"""For operators: whether a server is ready, and its metrics."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from memoryd.server.calls import Calls
from memoryd.server.http import metrics as operations
from memoryd.server.http.metrics import Metrics
from memoryd.settings import Settings
from memoryd.store.postgres import pool
from tests.clients import environment, until
from tests.http import HttpServer, bearer, granted, remote, serving
from tests.store.clusters import cluster

Sample = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    with serving(tmp_path, "--toolsets", "all", "--workspace", "default") as server:
        yield server


def figures(server: HttpServer) -> dict[Sample, float]:
    """Return every sample by its name and labels."""
    answer = server.request("GET", "/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for each in families for one in each.samples}


def calls(found: dict[Sample, float]) -> dict[tuple[str, str], float]:
    """Return the number of calls by tool and outcome."""
    return {
        (dict(labels)["tool"], dict(labels)["outcome"]): value
        for (name, labels), value in found.items()
        if name == "memoryd_calls_total"
    }


def test_it_is_alive_and_ready(server: HttpServer) -> None:
    assert server.request("GET", "/health/live").json() == {"live": True}
    answer = server.request("GET", "/health")
    assert (answer.status_code, answer.json()) == (200, {"live": True, "ready": True})
    for path in ("/health", "/health/live", "/metrics", "/openapi.json"):
        refused = server.request("POST", path)
        assert (refused.status_code, refused.json()) == (405, {"error": "Method Not Allowed"})
        assert "GET" in refused.headers["Allow"]


def test_the_address_alone_leads_to_the_page(server: HttpServer) -> None:
    answer = server.request("GET", "/")
    assert (answer.status_code, answer.headers["Location"]) == (307, "/ui/")
    assert "MCP at /mcp" in answer.text
    page = server.request("GET", "/", follow_redirects=True)
    assert page.headers["Content-Type"].startswith("text/html")
    assert server.request("POST", "/").status_code == 405


@pytest.mark.slow
def test_calls_are_counted_by_tool_and_outcome_over_any_transport(server: HttpServer) -> None:
    assert calls(figures(server)) == {}
    assert server.tool("memory_store", content="text").status_code == 200
    assert server.tool("memory_store", content="").status_code == 400
    assert server.tool("memory_store", contents="text").status_code == 400
    assert server.tool("open_nodes", names=["none"]).status_code == 404  # no active project
    for mode in ("auto", "legacy", "sse"):
        with remote(server, mode) as agent:
            agent.store(f"by {mode}")
            agent.refused("memory_store", content="")
    found = figures(server)
    assert calls(found) == {
        ("memory_store", "ok"): 4,
        ("memory_store", "invalid"): 5,
        ("open_nodes", "failed"): 1,
    }
    assert found["memoryd_call_seconds_count", (("tool", "memory_store"),)] == 9
    assert 0 < found["memoryd_call_seconds_sum", (("tool", "memory_store"),)] < 60
    assert found["memoryd_call_seconds_bucket", (("le", "+Inf"), ("tool", "memory_store"))] == 9


def test_nothing_that_a_caller_writes_becomes_a_label(server: HttpServer) -> None:
    before = set(figures(server))
    for name in ("no_such_tool", "memory_store%22%7D", "x" * 200, "memory_store\u2028"):
        assert server.tool(name).status_code == 404
    with remote(server) as agent, pytest.raises(Exception, match="Unknown tool"):
        agent.call("no_such_tool_either", {})
    assert set(figures(server)) == before


def test_stored_records_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path, "--toolsets", "all", "--workspace", "default") as server:
        for number in range(3):
            server.tool("memory_store", content=f"text {number}")
        server.tool("commit_memory", scope="vault", key="k", content="text with a key")
        found = figures(server)
        kinds = {dict(labels)["kind"]: value for (name, labels), value in found.items() if name == "memoryd_records"}
        assert sum(kinds.values()) == 4
        assert found["memoryd_database_bytes", ()] > 4_096
        assert found["memoryd_unembedded_records", ()] == 0, "no model, no backlog"


@pytest.mark.stores
def test_the_memory_of_searches_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path, "--toolsets", "recall", "--workspace", "default") as server:

        def words() -> float:
            return figures(server)["memoryd_memory_bytes", (("what", "words"),)]

        server.tool("memory_store", content="the lighthouse lamp burns rapeseed oil")
        before = words()
        server.tool("memory_recall", query="which oil does the lamp burn?")
        assert words() > before


def test_a_kind_without_records_has_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "FRESH", 0.0)
    with Engine(Settings.read(environment(tmp_path)), fetch=False) as engine:
        metrics = Metrics(Calls(engine))
        memories = Memories(Scope(engine, engine.workspaces.ensure("default")))
        stored = memories.store("text").id
        assert b'memoryd_records{kind="memory"} 1.0' in metrics._text()
        memories.forget(Criteria(ids=(stored,)))
        assert b'kind="memory"} 1.0' not in metrics._text()


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="no managed server there")
def test_while_the_database_is_away_it_is_alive_but_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "ANSWER", 0.1)
    with cluster() as postgres:
        url = postgres.database()
        with serving(tmp_path, "--workspace", "default", MEMORY_DATABASE_URL=url) as server:
            assert server.tool("memory_store", content="kept").status_code == 200
            assert server.request("GET", "/health").status_code == 200
            postgres.stop()
            assert server.request("GET", "/health/live").json() == {"live": True}
            answer = server.request("GET", "/health")  # a call would wait longer for it to come back
            monkeypatch.setattr(pool, "FAILOVER", 0)
            metrics = server.request("GET", "/metrics")
            assert (answer.status_code, answer.json()["live"], answer.json()["ready"]) == (503, True, False)
            assert answer.json().keys() == {"live", "ready"}
            assert metrics.status_code == 503
            postgres.start()
            until(lambda: server.request("GET", "/health").status_code == 200, "the database")
            assert server.tool("memory_store", content="kept as well").status_code == 200
            token = bearer(granted(server, "one"))
        with serving(tmp_path, "--host", "0.0.0.0", "--workspace", "default", MEMORY_DATABASE_URL=url) as server:
            server.url = server.url.replace("0.0.0.0", "127.0.0.1")
            assert server.request("GET", "/metrics", headers=token).status_code == 200
            postgres.stop()
            answer = server.request("GET", "/health")  # a stranger does not learn where the database is
            assert (answer.status_code, answer.json()) == (503, {"live": True, "ready": False})
            assert "cannot be reached" in caplog.text
            postgres.start()
