"""Seed e: healthcheck, start_database and stop_database, on each store."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from memoryd.store.postgres import pool
from tests.clients import POSTGRES, Agent, agent, environment, until
from tests.conftest import Start
from tests.seeds.journal import add, prompts

AWAY = "Tool Error: Database connection failed. Message: "


def kind() -> tuple[str, str]:
    """Return the product that keeps the journal, and its state."""
    return ("Postgres", "external") if POSTGRES else ("SQLite", "embedded")


def test_a_healthy_database_is_reported(journal: Agent) -> None:
    add(journal, "Something.")
    result = journal.ok("healthcheck")
    assert result["status"] == "healthy"
    assert result["collections"] == {"memories": 1, "summaries": 0}
    assert (result["database"]["product"], result["database"]["state"]) == kind()


def test_a_healthcheck_leaves_nothing_behind(journal: Agent) -> None:
    for _ in range(3):
        journal.ok("healthcheck")
    assert journal.ok("healthcheck")["collections"] == {"memories": 0, "summaries": 0}


def test_a_read_only_server_is_healthy_too(start: Start) -> None:
    add(start("--toolsets", "journal"), "Something.")
    result = start("--toolsets", "journal", "--read-only").ok("healthcheck")
    assert result["collections"]["memories"] == 1


@pytest.mark.parametrize("tool", ["start_database", "stop_database"])
def test_a_database_that_memoryd_does_not_manage_is_not_started_or_stopped(journal: Agent, tool: str) -> None:
    result = journal.ok(tool)
    assert result["status"] == result["database"]["state"] == kind()[1]
    add(journal, "It goes on.")
    assert prompts(journal) == ["It goes on."]


@pytest.mark.files
@pytest.mark.slow
def test_a_lost_database_is_unhealthy(start: Start, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FAILOVER", 0)
    server = start("--toolsets", "journal")
    add(server, "Something.")
    broken = start("--toolsets", "journal", MEMORY_DATABASE_URL="postgresql://user@127.0.0.1:1/none?connect_timeout=1")
    assert broken.refused("healthcheck").startswith(AWAY)


@pytest.fixture
def managed(home: Path) -> Iterator[Agent]:
    environ = environment(home, MEMORY_DATABASE_URL="postgresql:managed")
    with agent(environ, "--toolsets", "journal") as server:
        yield server


def postmaster(server: Agent) -> psutil.Process:
    return psutil.Process(int((server.data / "postgres" / "postmaster.pid").read_text().splitlines()[0]))


def lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


@pytest.mark.process
@pytest.mark.files
def test_a_managed_server_is_stopped_and_started(managed: Agent) -> None:
    add(managed, "Something.")
    process = postmaster(managed)
    assert managed.ok("stop_database")["status"] == "stopped"
    until(lambda: not lives(process), "its end")
    for tool, arguments in (("healthcheck", {}), ("get_session_memories", {"sessionId": "s"})):
        assert managed.refused(tool, **arguments).startswith(AWAY)
    assert managed.ok("stop_database")["status"] == "already_stopped"
    assert managed.ok("start_database")["status"] == "started"
    assert managed.ok("start_database")["status"] == "already_running"
    assert prompts(managed) == ["Something."]


@pytest.mark.process
@pytest.mark.files
def test_a_server_that_another_process_uses_is_not_stopped(managed: Agent, home: Path) -> None:
    add(managed, "Something.")
    environ = {**managed.environ}
    with agent(environ, "--toolsets", "journal") as other:
        assert prompts(other) == ["Something."]
        assert "Another process uses" in managed.refused("stop_database")
        assert prompts(other) == ["Something."]
    until(lambda: not managed.call("stop_database", {}).is_error, "the other process to let go")


@pytest.mark.process
@pytest.mark.files
def test_a_killed_server_is_restarted_by_the_next_call(managed: Agent) -> None:
    add(managed, "Something.")
    os.kill(postmaster(managed).pid, signal.SIGQUIT)
    until(lambda: not managed.call("get_session_memories", {"sessionId": "s"}).is_error, "the server")
    assert prompts(managed) == ["Something."]
