"""Perspectives: what is embedded of an observation from each, and when it is embedded again."""

import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.records import embedding, perspectives, records
from memoryd.core.records.perspectives import DEFAULTS, FIELDS, check, render
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import GENERAL
from tests.core.kit import NONE, Ollama, engine, never

NOMIC = "ollama:nomic-embed-text"
FIVE = ["general", "project", "relational", "technical", "temporal"]


@pytest.fixture
def graph(embedded: Graph) -> Graph:
    return embedded


def texts(graph: Graph, content: str) -> dict[str, str]:
    """Return what would be embedded of an observation now."""
    (key,) = ids(graph, content)
    return graph.read(lambda q: perspectives.texts(q, graph.workspace, [key]))[key]


def ids(graph: Graph, content: str) -> list[str]:
    found = {one.id: one for one in entities.page(graph, "", 100)}
    about = graph.read(lambda q: observations.of(q, list(found)))
    return [o.id for each in about.values() for o in each if o.content == content]


def present(graph: Graph, content: str) -> list[str]:
    """Return the perspectives from which an observation has vectors."""
    some = ids(graph, content)
    given = {"ids": json.dumps(some), "first": min(some), "last": max(some), "model": NOMIC, "other": NOMIC}
    rows = graph.read(lambda q: q.all("embeddings.present", **given))
    return sorted(row["perspective"] for row in rows)


def ann(graph: Graph, *contents: str) -> None:
    entities.create(graph, [NewEntity(name="Ann", type="engineer", observations=contents, tags=("core",))])


def catch_up(graph: Graph) -> Graph:
    graph.engine.embedding.catch_up(never)
    return graph


# templates -----------------------------------------------------------------------------------------------------------


def test_a_part_in_brackets_is_omitted_if_nothing_fills_it() -> None:
    values = dict.fromkeys(FIELDS, "") | {"text": "t", "entity": "e"}
    assert render("{entity}[ ({related})]: {text}", values) == "e: t"
    assert render("{entity}[ ({related})]: {text}", values | {"related": "r"}) == "e (r): t"
    assert render("[{tags}, {summary}: ]{text}", values | {"tags": "x"}) == "t"


def test_values_are_never_templates_themselves() -> None:
    values = dict.fromkeys(FIELDS, "") | {"text": "{entity} [x] {0} {text.__class__}", "entity": "[{tags}]"}
    assert render("{entity}[ ({related})]: {text}", values) == "[{tags}]: {entity} [x] {0} {text.__class__}"


@pytest.mark.parametrize("template", DEFAULTS.values())
def test_the_defaults_are_valid(template: str) -> None:
    check("another", template)


@pytest.mark.parametrize(
    ("name", "template", "message"),
    [
        ("Has Blanks", "{text}", "cannot name a perspective"),
        ("client", "{text}", "cannot name a perspective"),
        ("x" * 51, "{text}", "cannot name a perspective"),
        (GENERAL, "{text}!", "cannot be changed"),
        ("mine", "no text", "must name {text}"),
        ("mine", "{text} " + "x" * 500, "in at most 500 characters"),
        ("mine", "{text} {mood}", "{mood}, which does not exist. There are: text, entity"),
        ("mine", "{text", "is malformed"),
        ("mine", "{text} {0}", "{0}, which does not exist"),
        ("mine", "{text} {entity.name}", "{entity.name}, which does not exist"),
        ("mine", "{text!r}", "takes no format"),
        ("mine", "{text:>9}", "takes no format"),
    ],
)
def test_an_invalid_perspective_is_refused(name: str, template: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=r"(?s).*") as raised:
        check(name, template)
    assert message in str(raised.value)


# texts ---------------------------------------------------------------------------------------------------------------


def test_each_perspective_has_a_different_context(graph: Graph) -> None:
    ann(graph, "likes tea")
    entities.create(graph, [NewEntity(name="Acme", type="company"), NewEntity(name="Bob", type="person")])
    relations.create(graph, [Edge("Ann", "Acme", "works_at")])
    relations.create(graph, [Edge("Bob", "Ann", "knows")])
    entities.set_summary(graph, "Ann", "An engineer.")
    embedded = texts(graph, "likes tea")
    assert sorted(embedded) == FIVE
    assert embedded["general"] == "Ann: likes tea"
    assert embedded["technical"] == "engineer: likes tea"
    assert embedded["relational"] == "Ann (works at Acme, Bob knows): likes tea"
    assert embedded["temporal"].startswith("Ann, 20")
    assert embedded["project"] == "default, core, Ann (An engineer.): likes tea"


def test_only_the_oldest_relations_are_named(graph: Graph) -> None:
    ann(graph, "x")
    others = [f"other {n}" for n in range(records.RELATED + 3)]
    entities.create(graph, [NewEntity(name=name, type="t") for name in others])
    for name in others:
        relations.create(graph, [Edge("Ann", name, "knows")])
    assert "other 7)" in texts(graph, "x")["relational"]


# vectors -------------------------------------------------------------------------------------------------------------


def test_an_observation_is_embedded_from_each_perspective_an_entity_and_a_memory_from_one(
    graph: Graph, server: Ollama
) -> None:
    server.asked.clear()
    ann(graph, "likes tea")
    assert present(graph, "likes tea") == [GENERAL], "at once, with its row"
    catch_up(graph)
    assert present(graph, "likes tea") == FIVE
    assert len(set(server.asked)) == 1 + 4, "Ann herself, and four texts: without relations two are equal"
    asked = len(server.asked)
    catch_up(graph)
    assert len(server.asked) == asked


def test_a_change_of_the_context_recreates_the_vectors_made_from_it(graph: Graph) -> None:
    ann(graph, "likes tea")
    entities.create(graph, [NewEntity(name="Acme", type="company", observations=("makes anvils",))])
    catch_up(graph)
    relations.create(graph, [Edge("Ann", "Acme", "works_at")])
    without = [name for name in FIVE if name != "relational"]
    assert present(graph, "likes tea") == present(graph, "makes anvils") == without
    assert present(catch_up(graph), "likes tea") == FIVE
    for change in (partial(entities.set_summary, graph, "Ann", "s"), partial(entities.set_tags, graph, "Ann", ["t"])):
        change()
        assert present(graph, "likes tea") == [name for name in FIVE if name != "project"]
        assert present(graph, "makes anvils") == FIVE
        catch_up(graph)
    relations.rename(graph, Edge("Ann", "Acme", "works_at"), "left")
    assert present(graph, "likes tea") == without
    catch_up(graph)
    entities.delete(graph, ["Acme"])
    assert present(graph, "likes tea") == without
    assert present(catch_up(graph), "likes tea") == FIVE


def test_a_relation_that_no_text_names_outdates_no_vector(graph: Graph) -> None:
    ann(graph, "likes tea")
    entities.create(graph, [NewEntity(name=f"n{n}", type="t") for n in range(20)])
    relations.create(graph, [Edge("Ann", f"n{n}", "knows") for n in range(10)])
    catch_up(graph)
    relations.create(graph, [Edge("Ann", "n15", "knows")])
    assert present(graph, "likes tea") == FIVE


def test_what_changes_nothing_outdates_no_vector(graph: Graph, server: Ollama) -> None:
    ann(graph, "likes tea")
    entities.set_summary(graph, "Ann", "s")
    catch_up(graph)
    asked = len(server.asked)
    entities.set_summary(graph, "Ann", "s")
    entities.set_tags(graph, "Ann", ["core"])
    ann(graph, "likes tea")
    assert present(graph, "likes tea") == FIVE
    catch_up(graph)
    assert len(server.asked) == asked


@pytest.mark.slow
def test_many_texts_are_left_to_the_background(graph: Graph, server: Ollama) -> None:
    server.asked.clear()
    ann(graph, *(f"fact {n}" for n in range(40)))
    assert server.asked == []
    assert present(catch_up(graph), "fact 7") == FIVE


def test_another_text_is_embedded_again_from_each_perspective(graph: Graph) -> None:
    ann(graph, "likes tea")
    catch_up(graph)
    assert observations.replace(graph, "Ann", 0, "likes coffee")["old_content"] == "likes tea"
    assert present(graph, "likes coffee") == [GENERAL]
    assert present(catch_up(graph), "likes coffee") == FIVE


def test_a_vector_of_an_outdated_context_is_not_written(graph: Graph, server: Ollama) -> None:
    ann(graph, "likes tea")
    entities.create(graph, [NewEntity(name="Acme", type="company")])

    def meanwhile(text: str) -> bool:
        if "likes tea" in text and not relations.between(graph, "Ann", "Acme"):
            relations.create(graph, [Edge("Ann", "Acme", "works_at")])
        return False

    server.fails = meanwhile
    catch_up(graph)
    assert "relational" not in present(graph, "likes tea")
    assert present(catch_up(graph), "likes tea") == FIVE


def test_a_workspace_may_define_its_perspectives(graph: Graph) -> None:
    ann(graph, "likes tea")
    catch_up(graph)
    own = {GENERAL: DEFAULTS[GENERAL], "temporal": "{date} {text}", "technical": DEFAULTS["technical"]}
    changed = {"temporal": own["temporal"]}
    assert graph.engine.embedding.change_perspectives(graph.workspace, changed, ["project", "relational"]) == own
    assert present(graph, "likes tea") == ["general", "technical"], "removed and changed ones lose their vectors"
    catch_up(graph)  # it knows of nothing that lacks vectors, so it checks all
    assert present(graph, "likes tea") == ["general", "technical", "temporal"]
    other = Graph(Scope(graph.engine, graph.engine.workspaces.ensure("other")))
    assert sorted(graph.engine.store.read(other.workspace, perspectives.templates)) == FIVE


NEW = {"temporal": "{date} {text}"}


def test_no_vector_of_an_old_template_is_taken_for_a_new_one(
    graph: Graph, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = [f"likes tea {n}" for n in range(5)]
    ann(graph, *contents)
    catch_up(graph)
    real, parts = embedding._drop, []

    def meanwhile(*given: Any) -> int:
        parts.append(given)
        server.asked.clear()
        if not others:  # a server that is at work on the same workspace
            others.append(threading.Thread(target=catch_up, args=(graph,)))
            others[0].start()
        return real(*given)

    others: list[threading.Thread] = []
    monkeypatch.setattr(embedding, "DROPPED", 2)
    monkeypatch.setattr(embedding, "_drop", meanwhile)
    graph.engine.embedding.change_perspectives(graph.workspace, NEW)
    others[0].join()
    assert len(parts) == 4, "two, two, one and none"
    assert all(present(catch_up(graph), content) == FIVE for content in contents)
    asked = [text for text in server.asked if text.startswith("search_document: 20")]
    assert len(asked) == len(contents), "each of them again, and once"


def test_an_interrupted_change_of_perspectives_can_be_repeated(
    graph: Graph, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann(graph, "likes tea")
    catch_up(graph)

    def dies(*_: object) -> int:
        raise StoreError

    with monkeypatch.context() as patch:
        patch.setattr(embedding, "_drop", dies)
        with pytest.raises(StoreError):
            graph.engine.embedding.change_perspectives(graph.workspace, NEW)
    assert sorted(graph.read(perspectives.templates)) == [name for name in FIVE if name != "temporal"]
    server.asked.clear()
    catch_up(graph)
    assert server.asked == []
    graph.engine.embedding.change_perspectives(graph.workspace, NEW)
    assert present(graph, "likes tea") == [name for name in FIVE if name != "temporal"]
    assert present(catch_up(graph), "likes tea") == FIVE
    assert graph.read(perspectives.templates)["temporal"] == NEW["temporal"]


def test_an_invalid_change_of_perspectives_changes_nothing(graph: Graph) -> None:
    change = graph.engine.embedding.change_perspectives
    ann(graph, "likes tea")
    before = change(graph.workspace, NEW)
    catch_up(graph)
    with pytest.raises(InvalidInputError):
        change(graph.workspace, {"dated": "nothing"}, reset=True)
    with pytest.raises(InvalidInputError):
        change(graph.workspace, {}, ["moods"], reset=True)
    assert graph.read(perspectives.templates) == before
    assert present(graph, "likes tea") == FIVE
    assert change(graph.workspace, {}, reset=True) == DEFAULTS
    assert graph.read(lambda q: q.all("perspectives.all")) == []


def test_a_restart_makes_what_the_last_process_did_not(tmp_path: Path, server: Ollama) -> None:
    with engine(tmp_path, **NONE) as here:
        ann(Graph(Scope(here, here.workspaces.ensure("default"))), "likes tea")
    with engine(tmp_path, MEMORY_EMBEDDER=NOMIC, OLLAMA_HOST=server.url) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        assert present(catch_up(graph), "likes tea") == FIVE


def test_doctor_counts_what_lacks_any_perspective(graph: Graph) -> None:
    def lacking(of: Engine) -> int:
        return of.embedding.unembedded(graph.workspace)

    ann(graph, "likes tea")
    assert lacking(graph.engine) == 1
    assert lacking(catch_up(graph).engine) == 0
