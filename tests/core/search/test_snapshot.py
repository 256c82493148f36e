"""A search uses one snapshot: concurrent writes do not affect it, and it opens no second one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, search
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Criteria
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from memoryd.server.calls import Calls
from memoryd.server.connection import Caller
from memoryd.settings import Settings
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.sqlite.connection import SqliteQueries
from tests.clients import POSTGRES, environment
from tests.core.kit import NOMIC, memories, ollama

TOOLSETS = "recall,vault,graph,journal"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Engine]:
    with ollama() as server:
        settings = {"MEMORY_EMBEDDER": NOMIC, "OLLAMA_HOST": server.url, "MEMORY_TOOLSETS": TOOLSETS}
        with Engine(Settings.read(environment(tmp_path) | settings)) as engine:
            engine.helpers.embedder.start()
            assert engine.helpers.embedder.get(wait=30)
            yield engine


def scope(here: Engine) -> Scope:
    return Scope(here, here.workspaces.ensure("default"), "s")


def in_the_middle(here: Engine, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Run `act` once, right after the next search has searched by words."""
    index, done = here.store.index, list[bool]()
    words = index.words

    def then(*asked: Any) -> object:
        found = words(*asked)
        if not done:
            done.append(True)
            act()
        return found

    monkeypatch.setattr(index, "words", then)


def test_a_recall_does_not_see_concurrent_writes(here: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = memories(here)
    gone = ours.store("The tall door is red.")
    ours.store("The tall window is green.")

    def act() -> None:
        ours.forget(Criteria(ids=(gone.id,)))
        ours.store("The tall door is blue.")
        assert "blue" in ours.recall("tall door", 500).text  # a later snapshot, with which the vectors have moved on

    in_the_middle(here, monkeypatch, act)
    torn = ours.recall("tall door", 500, form="list").text
    assert ("red" in torn, "blue" in torn) == (True, False)
    after = ours.recall("tall door", 500, form="list").text
    assert ("red" in after, "blue" in after) == (False, True)


def test_nodes_are_shown_as_they_were_when_they_were_found(here: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(scope(here))
    entities.create(graph, [NewEntity(name="Ann", type="person", observations=("keeps bees", "likes tea"))])
    in_the_middle(here, monkeypatch, lambda: entities.delete(graph, ["Ann"]))
    (match,) = search.search(graph, "bees", 5)[0].best
    assert (match.entity.name, match.observation) == ("Ann", "keeps bees")
    assert search.search(graph, "bees", 5)[0].best == []


def test_searches_of_vault_and_journal_use_one_snapshot(here: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, journal = Vault(scope(here)), Journal(scope(here))
    vault.commit("vault", "door", "The door is red.")
    journal.add("What colour has the door?", "I look.", "The door is red.", "one")
    journal.summarize("one")
    in_the_middle(here, monkeypatch, lambda: vault.prune("vault", key="door"))
    found, total = vault.search("door")
    (match,) = found.best
    assert (match.record.body, total) == ("The door is red.", 1)
    in_the_middle(here, monkeypatch, lambda: journal.kept.replace([], []))
    assert len(journal.kept.find("door", 5, "").best) == 1
    assert journal.kept.find_summaries("door", 5, "").best == []


# statements ----------------------------------------------------------------------------------------------------------


CALLS = {
    "memory_recall": ({"query": "tall door"}, 10, 10),  # with `ids.beside`: every line has a short id
    "memory_context": ({"task": "tall door"}, 16, 16),
    "search_nodes": ({"query": "bees"}, 12, 16),  # Postgres asks for each of the five perspectives
    "query_observations": ({"entity_name": "Ann", "query": "bees"}, 9, 11),
    "search_memories": ({"query": "tall door"}, 4, 5),
    "query_raw_memories": ({"query": "tall door"}, 11, 11),  # with the vectors of what stands beside a match
    "query_summaries": ({"query": "tall door"}, 11, 11),
}
"""The arguments of each tool, and its maximum of statements: on SQLite, and on Postgres, which has the indexes."""


@pytest.fixture
def asked(here: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The transactions and statements from now on: `read`, `write`, or the name of a statement."""
    seen: list[str] = []
    for kind, verbs in ((SqliteQueries, ("all", "one", "run", "many")), (type(here.store), ("read", "write")),
                        (PostgresQueries, ("all", "one", "run", "many", "composed"))):  # fmt: skip
        for verb in verbs:
            monkeypatch.setattr(kind, verb, _counted(seen, verb, getattr(kind, verb)))
    return seen


def _counted(seen: list[str], verb: str, old: Callable[..., object]) -> Callable[..., object]:
    def new(self: object, first: object, /, *more: object, **parameters: object) -> object:
        seen.append(verb if verb in {"read", "write"} else str(first))
        return old(self, first, *more, **parameters)

    return new


def test_a_search_takes_at_most_two_transactions(here: Engine, asked: list[str]) -> None:
    memories(here).store("The tall door is red.")
    entities.create(Graph(scope(here)), [NewEntity(name="Ann", type="person", observations=("keeps bees",))])
    Vault(scope(here)).commit("vault", "door", "The tall door is red.")
    Journal(scope(here)).add("What colour has the tall door?", "I look.", "Red.", "one")
    Journal(scope(here)).summarize("one")
    here.embedding.catch_up(lambda: False)
    calls = Calls(here)
    for tool, (arguments, *limits) in CALLS.items():
        for _ in range(2):  # the first one may load an index
            asked.clear()
            anyio.run(calls.run, Caller(session_id="s", client="t"), calls.tools[tool], arguments)
        transactions = [one for one in asked if one in {"read", "write"}]
        assert transactions == ["read", "read"], tool  # the registry's, and the workspace's
        statements = [one for one in asked if one not in transactions]
        assert len(statements) <= limits[bool(POSTGRES)], (tool, statements)
        assert max(map(statements.count, ("search.hidden", "search.marks"))) <= 1, (tool, statements)
