"""Maintenance in real servers: killed midway, started by two at once, or with a model that does not answer."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance.history import HistoryEntry, entries
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.settings import Settings
from tests.clients import Json, environment, problems, process_agent, until
from tests.llm import Model, model
from tests.wires import ProcessWire

pytestmark = [pytest.mark.process, pytest.mark.slow]

CITIES = ("Berlin", "Lisbon")
FACTS = [f"{name} lives in {city}." for name in ("Ann", "Bob", "Eve", "Max", "Zoe") for city in CITIES]


@pytest.fixture
def llm() -> Iterator[Model]:
    with model() as found:
        found.reply = moved
        yield found


@pytest.fixture
def environ(tmp_path: Path, model_dir: Path, llm: Model) -> dict[str, str]:
    """Return the environment of a database where five people moved from Berlin to Lisbon, and maintenance is due."""
    made = environment(tmp_path, model_dir, MEMORY_RERANKER="none", **llm.settings(MEMORY_MAINTENANCE_INTERVAL="1000"))
    with opened(made) as one:
        kept = Memories(Scope(one, one.workspaces.ensure("default")))
        for fact in FACTS:
            kept.store(fact)
        one.embedding.complete(lambda _: None)
    return made


def opened(environ: dict[str, str]) -> Engine:
    return Engine(Settings.read(environ), fetch=False)


def moved(body: Json) -> tuple[int, Any]:
    """Answer as a model that finds that a person who lives in Lisbon no longer lives in Berlin."""
    lines = [line for line in body["messages"][-1]["content"].splitlines() if line.startswith('{"number"')]
    verdicts = []
    for pair in map(json.loads, lines):
        (older, was), (newer, is_) = (pair[one]["text"].rstrip(".").split(" lives in ") for one in ("older", "newer"))
        same = older == newer and (was, is_) == CITIES
        verdicts.append(
            {"number": pair["number"], "verdict": "contradiction" if same else "distinct", "reason": "moved"}
        )
    return 200, json.dumps({"verdicts": verdicts})


def outcome(environ: dict[str, str]) -> tuple[list[str], list[HistoryEntry]]:
    """Return the living texts, and the history of the others."""
    with opened(environ) as one:
        place = one.workspaces.ensure("default")
        living = sorted(hit.record.body for hit in Memories(Scope(one, place)).recent(100))
        return living, entries(Graph(Scope(one, place)), 100)


def await_end(environ: dict[str, str]) -> None:
    """Wait until maintenance is done."""
    with opened(environ) as one:
        kept = Memories(Scope(one, one.workspaces.ensure("default")))
        until(lambda: len(kept.recent(100)) == len(FACTS) // 2, "maintenance")


def check(environ: dict[str, str], home: Path) -> None:
    """Check that each person moved once, nothing is lost, and the database is sound."""
    living, gone = outcome(environ)
    assert living == sorted(FACTS[1::2])
    assert sorted(entry.text for entry in gone) == sorted(FACTS[::2])
    assert problems(home) == []


def test_a_killed_pass_is_done_by_the_next_server(environ: dict[str, str], llm: Model, tmp_path: Path) -> None:
    llm.hangs(30)
    with ProcessWire(environ | {"MEMORY_LLM_TIMEOUT": "30"}) as server:
        server.handshake()
        until(lambda: llm.asked, "the model is asked")
        server.process.kill()
    llm.reply = moved
    with closing(apsw.Connection(str(tmp_path / "data" / "_meta.db"))) as registry:
        registry.execute("DELETE FROM leases")  # the dead server's lease would expire only in a minute
    with process_agent(environ, log=tmp_path / "log"):
        await_end(environ)
    check(environ, tmp_path)


def test_two_servers_that_start_together_run_maintenance_once(
    environ: dict[str, str], llm: Model, tmp_path: Path
) -> None:
    with ExitStack() as ends:
        for number in range(2):
            ends.enter_context(process_agent(environ, log=tmp_path / f"log{number}"))
        await_end(environ)
    check(environ, tmp_path)
    assert len(llm.asked) == 1


def test_tools_answer_and_vectors_are_made_while_a_model_hangs_and_it_is_logged_once(
    environ: dict[str, str], llm: Model, tmp_path: Path
) -> None:
    llm.hangs(60)
    with process_agent(environ | {"MEMORY_LLM_TIMEOUT": "60"}, log=tmp_path / "log") as server:
        until(lambda: llm.asked, "the model is asked")
        assert server.found("Where does Ann live?")
        server.store("long " * 1_500)  # too long to be embedded at once
        server.settle()
    living, gone = outcome(environ)
    assert (len(living), gone) == (len(FACTS) + 1, [])
    assert (tmp_path / "log").read_text(encoding="utf-8").count("the language model:") <= 1
