"""Relations are part of what is known of a node: memory_recall and search_nodes find the node by them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import Agent, Json, agent, edge, environment

PEOPLE, SERVICES, COMPANIES = ("Ann", "Bob", "Cleo"), ("checkout", "billing", "ledger"), ("Acme", "Globex")
RELATIONS = (
    "Ann works_at Acme", "Bob worksAt Globex", "Bob manages Ann", "checkout depends_on billing",
    "billing writes-to ledger", "Cleo maintains checkout",
)  # fmt: skip
BY_WORDS = (
    ("who works at Acme", "Ann"), ("who works at Globex", "Bob"), ("who manages Ann", "Bob"),
    ("what depends on billing", "checkout"), ("what writes to ledger", "billing"), ("who maintains checkout", "Cleo"),
    ("where does Ann work", "Ann"), ("what does checkout depend on", "checkout"),
)  # fmt: skip
BY_MEANING = (
    ("employees of Acme", "Ann"), ("who is employed by Globex?", "Bob"), ("Who is the boss of Ann?", "Bob"),
    ("Which one relies on billing?", "checkout"),
)  # fmt: skip


def fill(graph: Agent) -> Agent:
    graph.clear_graph()
    for kind, names in (("person", PEOPLE), ("service", SERVICES), ("company", COMPANIES)):
        graph.ok("create_entities", entities=[{"name": name, "entity_type": kind} for name in names])
    graph.node("Dora", "Works on anvils at night.", kind="person")
    graph.relate(*RELATIONS)
    return graph


@pytest.fixture(scope="session")
def _server(backend: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(environment(tmp_path_factory.mktemp("related")), "--toolsets", "recall,graph") as server:
        yield server


@pytest.fixture(scope="session")
def _with_models(backend: None, tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("understood")
    with agent(environment(home, model_dir), "--toolsets", "recall,graph") as server:
        yield server


@pytest.fixture
def named(_server: Agent) -> Agent:
    """Return the graph on a server without models."""
    return fill(_server)


@pytest.fixture
def understood(_with_models: Agent) -> Agent:
    """Return the graph on a server with models, completely embedded."""
    return fill(_with_models).settle_graph()


def recalled(graph: Agent, query: str, **arguments: object) -> list[str]:
    return [str(hit["key"]) for hit in graph.raw(query, **arguments)]


def searched(graph: Agent, query: str, mode: str = "auto") -> list[str]:
    found: list[Json] = graph.ok("search_nodes", query=query, mode=mode)["result"]
    return [one["name"] for one in found]


def test_a_relation_is_found_by_its_words(named: Agent) -> None:
    for question, node in BY_WORDS:
        assert node in recalled(named, question)[:2], question  # next to the other end, whose line names it, too
        assert node in searched(named, question)[:2], question


def test_a_relation_is_found_by_meaning(understood: Agent) -> None:
    for question, node in (*BY_WORDS, *BY_MEANING):
        assert node in recalled(understood, question)[:2], question
        assert node in searched(understood, question)[:2], question


def test_the_line_of_a_node_names_the_relations_that_bear(named: Agent) -> None:
    assert "Bob (person) [worksAt Globex]" in named.text("memory_recall", query="who works at Globex")
    assert "Ann (person) [Bob manages Ann]" in named.text("memory_recall", query="who manages Ann")
    related = {hit["key"]: hit.get("relations") for hit in named.raw("who works at Acme")}
    assert (related["Ann"], related["Acme"]) == (["works_at Acme"], ["Ann works_at Acme"])
    lines = named.text("memory_recall", query="anvils").splitlines()
    assert "] Dora: Works on anvils at night. (" in lines[1], "no relations, no brackets"


def test_what_ends_a_relation_takes_it_out_of_every_answer(named: Agent) -> None:
    named.ok("delete_relations", relations=[edge("Ann works_at Acme")])
    assert "works_at" not in named.text("memory_recall", query="who works at Acme")
    assert "Ann" not in searched(named, "Acme")
    named.ok("delete_entities", entity_names=["billing"])
    assert searched(named, "what depends on billing") == []
    assert "ledger" not in searched(named, "writes")


def test_an_answer_about_the_past_names_the_relations_of_then(named: Agent) -> None:
    before = named.ok("open_nodes", names=["Ann"])["entities"][0]["created_at"]
    named.ok("delete_relations", relations=[edge("Ann works_at Acme")])
    named.relate("Ann works_at Globex")
    at = named.ok("open_nodes", names=["Ann"])["entities"][0]["updated_at"]
    then = named.text("memory_recall", query="Ann", as_of=at)
    assert "works_at Globex" in then
    assert "works_at Acme" not in then
    assert "Globex" not in named.text("memory_recall", query="Ann", as_of=before)


def test_a_new_relation_is_found_by_meaning_at_once(understood: Agent) -> None:
    understood.relate("Cleo teaches_at Globex")
    assert "Cleo" in searched(understood, "Who gives lectures at Globex?", "embedding")[:2]
    understood.relate("Cleo advises Acme")  # her text changes again
    assert "Cleo" in searched(understood, "Who is a consultant of Acme?", "embedding")[:3]
