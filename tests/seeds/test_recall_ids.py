"""An id in a question, or its beginning, finds that record first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.settings import Settings
from tests.clients import Agent, agent, environment

NOISE = (
    "The memory of the build server is 64 GB.",
    "Image digest sha256:9b2f4c77aa01 was pushed.",
    "Records are kept.",
)


@pytest.fixture(scope="session")
def _server(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(environment(tmp_path_factory.mktemp("ids")), "--toolsets", "recall,graph,journal") as server:
        yield server


@pytest.fixture(scope="session")
def _with_models(backend: None, tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    with agent(environment(tmp_path_factory.mktemp("meant"), model_dir), "--toolsets", "recall,graph") as server:
        yield server


@pytest.fixture(params=["_server", pytest.param("_with_models", marks=pytest.mark.models)])
def memory(request: pytest.FixtureRequest) -> Agent:
    server: Agent = request.getfixturevalue(request.param)
    server.clear_graph().clear().store_all(NOISE)
    return server


@pytest.fixture
def journal(_server: Agent) -> Agent:
    return _server


def ids(memory: Agent, query: str, **arguments: object) -> list[str]:
    return [str(hit["id"]) for hit in memory.raw(query, **arguments)]


SPELLED = (
    *("{id}", "{beginning}", "memory {beginning}", "{longer}", "What is {id}?"),
    *("{upper}", '"{id}"', "({beginning})", "{cut}"),
)


@pytest.mark.slow
def test_the_record_with_the_id_comes_first(memory: Agent) -> None:
    wanted = memory.store("Bread needs yeast.", tags=["food"])
    begun = {"beginning": wanted[:8], "longer": wanted[:15], "cut": f"{wanted[:8]}-..."}
    for spelled in SPELLED:
        query = spelled.format(**begun, id=wanted, upper=wanted.upper())
        assert ids(memory, query)[0] == wanted, query
        assert wanted[:8] in memory.text("memory_recall", query=query, format="list")


def test_a_question_of_an_id_alone_brings_nothing_else_but_mentions(memory: Agent) -> None:
    wanted = memory.store("Bread needs yeast.")
    other = memory.store(f"See {wanted} for bread.")
    assert ids(memory, wanted) == [wanted, other]
    assert ids(memory, f"{wanted[:8]} {other[:8]}") == [wanted, other]


def test_a_record_of_any_kind_is_found(memory: Agent) -> None:
    node = memory.node("Ann", "plays the cello")
    assert ids(memory, node["id"])[0] == node["id"]
    assert ids(memory, node["id"], kinds=["memory"]).count(node["id"]) == 0


def test_the_filters_of_a_recall_hold(memory: Agent) -> None:
    wanted = memory.store("Bread needs yeast.", tags=["food"])
    assert ids(memory, wanted, tags=["food"]) == [wanted]
    assert ids(memory, wanted, tags=["plan"]) == []
    memory.ok("memory_forget", ids=[wanted])
    assert wanted not in ids(memory, wanted)


def test_what_was_forgotten_is_found_at_its_time(memory: Agent) -> None:
    wanted = memory.store("Bread needs yeast.")
    (at,) = (one["created_at"] for one in memory.whole(wanted))
    memory.ok("memory_forget", ids=[wanted])
    assert ids(memory, f"memory {wanted[:8]}", as_of=at)[0] == wanted


def test_a_hexadecimal_word_that_is_no_id_stays_a_word(memory: Agent) -> None:
    for word in ("deadbeef", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "cafe", "deadbeef-1"):
        wanted = memory.store(f"The marker {word} fills freed pages.")
        assert ids(memory, word)[0] == wanted
        memory.clear()


def test_turns_are_found_by_their_ids(journal: Agent) -> None:
    turns = [
        journal.ok("add_memory", sessionId="ids", prompt=f"Which yeast {number}?", thought="-", response="Dry yeast.")
        for number in range(2)
    ]
    assert turns[0]["id"].startswith("mem_")
    for turn in turns:
        for spelled in ("{id}", "the turn {id}.", "{id}?"):
            assert ids(journal, spelled.format(id=turn["id"]))[0] == turn["id"]
    shared = turns[0]["id"][: len("mem_2026")]
    assert set(ids(journal, shared)[:2]) == {turn["id"] for turn in turns}


def test_included_workspaces_are_searched_too(backend: None, tmp_path: Path) -> None:
    environ = environment(tmp_path)
    with Engine(Settings.read(environ)) as engine:
        for name in ("shop", "personal", "secret"):
            engine.workspaces.create(name)
        engine.workspaces.include("shop", ["personal"])
    stored = {}
    for name in ("personal", "secret"):
        with agent(environ, "--workspace", name) as one:
            stored[name] = one.store(f"Bread of {name} needs yeast.")
    with agent(environ, "--workspace", "shop") as shop:
        shop.store_all(NOISE)
        (hit, *_) = shop.raw(f"memory {stored['personal'][:8]}")
        assert (hit["id"], hit["workspace"]) == (stored["personal"], "personal")
        assert ids(shop, stored["secret"]) == []
