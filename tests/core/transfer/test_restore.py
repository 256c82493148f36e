"""A file of workspaces is added to existing ones, or replaces them, however often it is interrupted."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.maintenance import history
from memoryd.core.memories.correction import Correction, correct
from memoryd.core.memories.memories import Criteria
from memoryd.core.memories.vault import Vault
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.core.transfer.jsonl import ImportMode
from memoryd.errors import InvalidInputError
from memoryd.store import rows
from memoryd.store.base import Queries
from tests.clients import environment
from tests.core.exports_kit import everything, export, found, load, of, opened, sound, values, written
from tests.core.kit import memories
from tests.store.kit import axis, put, python

# merging -------------------------------------------------------------------------------------------------------------


def test_a_second_merge_adds_nothing(engine: Engine, other: Engine, file: Path, tmp_path: Path) -> None:
    everything(engine)
    first = export(engine, file)
    load(other, file)
    (again,) = load(other, file)
    assert not again.new.total()
    assert not again.remarks
    assert export(other, tmp_path / "again") == first
    (own,) = load(engine, file)
    assert not own.new.total()


def test_an_entity_of_the_same_name_gains_what_it_lacks(engine: Engine, other: Engine, file: Path) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    facts = tuple(f"fact {number}" for number in range(20))
    entities.create(graph, [NewEntity(name="Ann", type="person", observations=facts), NewEntity(name="Bob", type="x")])
    relations.create(graph, [Edge("Ann", "Bob", "knows"), Edge("Bob", "Ann", "likes")])
    export(engine, file)
    theirs = Graph(Scope(other, other.workspaces.ensure("default")))
    there = NewEntity(name="Ann", type="robot", observations=("mine", "fact 7"), summary="hers")
    (before,) = entities.create(theirs, [there])["result"]
    entities.create(theirs, [NewEntity(name="Bob", type="y")])
    relations.create(theirs, [Edge("Ann", "Bob", "knows")])
    (outcome,) = load(other, file)
    assert (outcome.new["entities"], outcome.new["observations"], outcome.new["relations"]) == (0, 19, 1)
    about = theirs.read(lambda q: observations.of(q, [before["id"]]))[before["id"]]
    assert [one.content for one in about] == ["mine", "fact 7", *(one for one in facts if one != "fact 7")]
    assert [one.ordinal for one in about] == list(range(21))
    (now,) = [one for one in entities.page(theirs, "", 9) if one.name == "Ann"]
    assert (now.type, now.summary, now.updated_at > before["created_at"]) == ("robot", "hers", True)
    edges = theirs.read(lambda q: relations.of(q, [now.id]))
    assert sorted((one.source, one.type, one.target) for one in edges) == [
        ("Ann", "knows", "Bob"),
        ("Bob", "likes", "Ann"),
    ]
    assert not load(other, file)[0].new["observations"]


def test_a_text_that_a_new_relation_changes_loses_its_earlier_vector(engine: Engine, other: Engine, file: Path) -> None:
    for one in (engine, other):
        graph = Graph(Scope(one, one.workspaces.ensure("default")))
        entities.create(graph, [NewEntity(name=name, type="x", observations=("a",)) for name in ("Ann", "Bob", "Cid")])
    relations.create(Graph(Scope(engine, engine.workspaces.find("default"))), [Edge("Ann", "Bob", "knows")])
    theirs = Graph(Scope(other, other.workspaces.find("default")))
    about = theirs.read(lambda q: observations.of(q, [one.id for one in entities.page(theirs, "", 9)]))
    row = {"chunk": 0, "model": "m", "dim": 8, "vector": np.float16(axis(1))}
    keys = [one.id for each in about.values() for one in each]
    every = [row | {"id": key, "perspective": name} for key in keys for name in ("general", "relational")]
    theirs.engine.store.write(theirs.workspace, lambda q: q.many("embeddings.add", every))
    export(engine, file)
    load(other, file)
    lines = values(export(other, file.with_name("after")))
    names = {record["id"]: record["name"] for record in of(lines, "records")}
    left = {(names[row["id"]], row["perspective"]) for row in of(lines, "embeddings")}
    assert left == {*((name, "general") for name in ("Ann", "Bob", "Cid")), ("Cid", "relational")}


def test_two_diverged_copies_are_merged(engine: Engine, other: Engine, file: Path) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name="Ann", type="person", observations=("both",))])
    export(engine, file)
    load(other, file)
    theirs = Graph(Scope(other, other.workspaces.find("default")))
    observations.add(graph, [("Ann", ["here", "same"])])
    observations.add(theirs, [("Ann", ["there", "same"])])
    export(engine, file.with_name("later"))
    (outcome,) = load(other, file.with_name("later"))
    (ann,) = entities.page(theirs, "", 9)
    about = theirs.read(lambda q: observations.of(q, [ann.id]))[ann.id]
    assert [(one.ordinal, one.content) for one in about] == [(0, "both"), (1, "there"), (2, "same"), (3, "here")]
    assert outcome.new["observations"] == 1
    observations.add(theirs, [("Ann", ["next"])])
    about = theirs.read(lambda q: observations.of(q, [ann.id]))[ann.id]
    assert about[-1].ordinal == 4


def test_observations_of_a_renamed_node_have_its_present_name(engine: Engine, other: Engine, file: Path) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name="Ann", type="person")])
    export(engine, file)
    load(other, file)
    renaming.rename(Graph(Scope(other, other.workspaces.find("default"))), "Ann", "Berta")
    observations.add(graph, [("Ann", ["likes tea"])])
    (key,) = [row["id"] for row in of(values(export(engine, file.with_name("x"))), "observation_details")]
    row = {"id": key, "chunk": 0, "perspective": "general", "model": "m", "dim": 8, "vector": np.float16(axis(1))}
    engine.store.write(graph.workspace, lambda q: q.many("embeddings.add", [row]))
    export(engine, file.with_name("later"))
    load(other, file.with_name("later"))
    lines = values(export(other, file.with_name("after")))
    assert {one["name"] for one in of(lines, "records")} == {"Berta"}
    assert of(lines, "embeddings") == []  # it was made from the other name
    assert found(other, "Berta AND tea")


def test_ordinals_continue_after_all_that_were_ever_given(engine: Engine, other: Engine, file: Path) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name="Ann", type="person", observations=("0",))])
    export(engine, file)
    load(other, file)
    observations.add(graph, [("Ann", ["1", "2"])])
    observations.delete(graph, [Deletion(entity="Ann", ordinals=(2,))])
    export(engine, file.with_name("later"))
    load(other, file.with_name("later"))
    theirs = Graph(Scope(other, other.workspaces.find("default")))
    (added,) = observations.add(theirs, [("Ann", ["next"])])["result"]
    assert [one["ordinal"] for one in added["added"]] == [3]


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_file_with_a_wrong_next_ordinal_does_no_harm(
    engine: Engine, other: Engine, file: Path, mode: ImportMode
) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name="Ann", type="person", observations=("0", "1"))])
    lines = values(export(engine, file))
    for row in of(lines, "entity_details"):
        row["next_ordinal"] = 0
    load(other, written(file, lines), mode)
    (added,) = observations.add(Graph(Scope(other, other.workspaces.find("default"))), [("Ann", ["next"])])["result"]
    assert [one["ordinal"] for one in added["added"]] == [2]


def test_a_file_with_a_wrong_next_ordinal_loses_no_ordinal_to_new_ones(
    engine: Engine, other: Engine, file: Path
) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name="Ann", type="person", observations=("0",))])
    export(engine, file)
    load(other, file)
    theirs = Graph(Scope(other, other.workspaces.find("default")))
    observations.add(theirs, [("Ann", ["there"])])
    observations.add(graph, [("Ann", ["1", "2", "3"])])
    lines = values(export(engine, file.with_name("later")))
    for row in of(lines, "entity_details"):
        row["next_ordinal"] = 0
    load(other, written(file.with_name("wrong"), lines))
    (ann,) = entities.page(theirs, "", 9)
    about = theirs.read(lambda q: observations.of(q, [ann.id]))[ann.id]
    assert [one.content for one in about] == ["0", "there", "2", "3", "1"]


def test_a_relation_that_was_deleted_since_the_export_comes_back(engine: Engine, file: Path) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name="Ann", type="person")])
    relations.create(graph, [Edge("Ann", "Ann", "is")])
    first = of(values(export(engine, file)), "relations")
    relations.delete(graph, [Edge("Ann", "Ann", "is")])
    load(engine, file)
    assert of(values(export(engine, file.with_name("after"))), "relations") == first != []


def test_perspectives_are_replaced_too(engine: Engine, other: Engine, file: Path) -> None:
    memories(engine).store("a")
    first = export(engine, file)
    other.embedding.change_perspectives(other.workspaces.ensure("default"), {"own": "{entity}: {text}"})
    load(other, file, "replace")
    assert export(other, file.with_name("after")) == first


def test_an_existing_key_stays_unchanged_and_is_reported(engine: Engine, other: Engine, file: Path) -> None:
    for number, one in enumerate((engine, other)):
        vault = Vault(Scope(one, one.workspaces.ensure("default"), "s"))
        vault.commit("vault", "same", "as it is")
        vault.commit("vault", "key", f"text {number}")
    export(engine, file)
    (outcome,) = load(other, file)
    assert outcome.remarks == ["The key 'key' already exists and stays unchanged."]
    assert outcome.new["memories"] == 0
    kept, _ = Vault(Scope(other, other.workspaces.find("default"), "s")).search("text")
    assert [match.record.body for match in kept.best] == ["text 1"]


def test_a_memory_with_the_same_text_already_exists(engine: Engine, other: Engine, file: Path) -> None:
    memories(engine).store("The ship sails north.")
    memories(engine).store("Bread needs yeast.")
    memories(other).store("the ship sails north")
    export(engine, file)
    (outcome,) = load(other, file)
    assert (outcome.read["memories"], outcome.new["memories"]) == (2, 1)
    assert memories(other).stats()["total"] == 2


def test_what_was_forgotten_since_the_export_comes_back(engine: Engine, file: Path, tmp_path: Path) -> None:
    memories(engine).store("Bread needs yeast.", tags=("a",))
    graph = Graph(Scope(engine, engine.workspaces.find("default")))
    entities.create(graph, [NewEntity(name="Ann", type="x", observations=("a", "b"))])
    relations.create(graph, [Edge("Ann", "Ann", "is")])
    first = values(export(engine, file))
    memories(engine).forget(Criteria(query="bread"), confirm=True)
    entities.delete(graph, ["Ann"])
    load(engine, file)
    now = values(export(engine, tmp_path / "again"))
    for table in ("records", "relations", "observation_details"):
        assert of(now, table) == of(first, table)
    assert sound(engine)
    assert len(found(engine, "yeast")) == 1


def test_the_parts_of_an_entity_that_comes_back_can_still_be_restored(
    engine: Engine, other: Engine, file: Path
) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name=name, type="x", observations=("old",)) for name in ("Ann", "Bob")])
    export(engine, file)
    observations.add(graph, [("Ann", ["newer"])])
    relations.create(graph, [Edge("Ann", "Bob", "knows"), Edge("Bob", "Ann", "likes")])
    entities.delete(graph, ["Ann"])
    load(engine, file)
    deleted = {entry.text: entry.id for entry in history.entries(graph, 9) if entry.what == "deleted"}
    assert deleted.keys() == {"Ann: newer", "Ann knows Bob", "Bob likes Ann"}
    history.restore(graph, list(deleted.values()))
    observations.add(graph, [("Ann", ["newest"])])
    (ann,) = [one for one in entities.page(graph, "", 9) if one.name == "Ann"]
    about = graph.read(lambda q: observations.of(q, [ann.id]))[ann.id]
    assert [(one.ordinal, one.content) for one in about] == [(0, "old"), (1, "newer"), (2, "newest")]
    assert len(graph.read(lambda q: relations.of(q, [ann.id]))) == 2
    export(engine, file.with_name("later"))
    assert load(other, file.with_name("later"))[0].new["observations"] == 4


def test_the_last_text_of_a_forgotten_memory_can_still_be_restored(engine: Engine, file: Path) -> None:
    kept = memories(engine).store("Deployments are on Monday.")
    export(engine, file)
    graph = Graph(Scope(engine, engine.workspaces.find("default")))
    correct(graph.scope, Correction(id=kept.id, content="Deployments are on Tuesday."))
    correct(graph.scope, Correction(id=kept.id, content="Deployments are on Friday."))
    memories(engine).forget(Criteria(ids=(kept.id,)))
    load(engine, file)
    assert "Monday" in memories(engine).recall("deployments", 500).text
    entries = history.entries(graph, 9)
    assert {entry.text for entry in entries if entry.what == "changed"} == {
        "Deployments are on Friday.",
        "Deployments are on Tuesday.",
    }
    (restored,) = history.restore(graph, [kept.id])
    assert restored.text == "Deployments are on Friday."
    assert not load(engine, file)[0].new.total()


def test_the_history_shows_what_an_import_has_restored(engine: Engine, file: Path) -> None:
    kept = memories(engine).store("Bread needs yeast.")
    export(engine, file)
    memories(engine).forget(Criteria(ids=(kept.id,)))
    with written_by("", "memoryd import"):
        load(engine, file)
    graph = Graph(Scope(engine, engine.workspaces.find("default")))
    (entry,) = history.entries(graph, 9, history.HistoryFilter(with_done=True))
    assert (entry.what, entry.id, entry.tool) == ("restored", kept.id, "memoryd import")
    lines = of(values(export(engine, file.with_name("after"))), "events")
    assert [one["operation"] for one in lines] == ["create_memory", "delete_memory", "restore_memory"]


def test_turns_of_two_machines_in_the_same_millisecond_are_both_kept(engine: Engine, other: Engine, file: Path) -> None:
    for text, one in (("here", engine), ("there", other)):
        turn = Journal(Scope(one, one.workspaces.ensure("default"), "s")).add("p", text, "r", "s")
        one.store.write(one.workspaces.find("default"), lambda q: _rename(q, turn.id))  # noqa: B023
    export(engine, file)
    assert load(other, file)[0].new["turns"] == 1
    assert load(other, file)[0].new["turns"] == 0
    kept = Journal(Scope(other, other.workspaces.find("default"), "s")).kept.every_turn()
    assert [(turn.id, turn.thought) for turn in kept] == [("mem_1", "there"), ("mem_1-2", "here")]


def _rename(queries: Queries, turn: str) -> None:
    """Return the same turn with an id that another machine may assign."""
    (record,) = [row for row in queries.all("moved.records_first", limit=9) if row["id"] == turn]
    (detail,) = queries.all("moved.interaction_details_first", limit=9)
    queries.run("records.erase", ids=json.dumps([turn]))
    rows.put(queries, "records", [record | {"id": "mem_1"}])
    rows.put(queries, "interaction_details", [detail | {"id": "mem_1"}])


def test_a_session_keeps_the_summary_that_it_has(engine: Engine, other: Engine, file: Path) -> None:
    for one in (engine, other):
        journal = Journal(Scope(one, one.workspaces.ensure("default"), "s"))
        journal.add(f"prompt of {one.store.place}", "t", "r", "s")
        journal.summarize("s")
    first = list(Journal(Scope(other, other.workspaces.find("default"), "s")).kept.every_summary())
    export(engine, file)
    load(other, file)
    assert list(Journal(Scope(other, other.workspaces.find("default"), "s")).kept.every_summary()) == first


def test_a_workspace_keeps_its_own_perspectives(engine: Engine, other: Engine, file: Path) -> None:
    engine.embedding.change_perspectives(engine.workspaces.ensure("default"), {"own": "{entity}: {text}"})
    export(engine, file)
    memories(other).store("so it is not empty")
    (outcome,) = load(other, file)
    assert outcome.remarks == ["The workspace keeps its perspectives, which differ from those of the file."]
    workspace = other.workspaces.find("default")
    assert other.store.read(workspace, lambda q: q.all("perspectives.all")) == []


def test_vectors_of_texts_that_differ_here_are_skipped(engine: Engine, other: Engine, file: Path) -> None:
    """A perspective names the workspace, which has another name here."""
    place = engine.workspaces.ensure("default")
    key = put(engine.store, place, "text", axis(0))
    row = {"id": key, "chunk": 0, "model": "m", "dim": 8, "vector": np.float16(axis(1))}
    both = [row | {"perspective": name} for name in ("project", "temporal")]
    engine.store.write(place, lambda q: q.many("embeddings.add", both))
    export(engine, file)
    for mode in ("merge", "replace"):
        load(other, file, mode, name="elsewhere")
        lines = values(export(other, file.with_name(mode), "elsewhere"))
        assert {row["perspective"] for row in of(lines, "embeddings")} == {"general", "temporal"}


# replacing -----------------------------------------------------------------------------------------------------------


def test_what_is_replaced_is_permanently_deleted(engine: Engine, other: Engine, file: Path, tmp_path: Path) -> None:
    everything(engine)
    first = export(engine, file)
    everything(other)
    memories(other).store("mine alone, about zebras")
    load(other, file, "replace")
    assert export(other, tmp_path / "again") == first
    workspace = other.workspaces.find("default")
    ids = {row["id"] for page in other.store.read(workspace, lambda q: list(rows.pages(q, "records"))) for row in page}
    assert ids == {record["id"] for record in of(values(first), "records")}
    assert found(other, "zebras") == set()
    assert sound(other)


def test_other_workspaces_are_left_alone(engine: Engine, file: Path, tmp_path: Path) -> None:
    everything(engine)
    everything(engine, "second")
    second = export(engine, tmp_path / "second", "second")
    memories(engine, name="empty").store("to be replaced")
    export(engine, file, "empty")
    load(engine, file, "replace", name="default")
    assert export(engine, tmp_path / "again", "second") == second
    assert memories(engine).stats()["total"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_file_of_one_workspace_may_get_another_name(engine: Engine, file: Path, mode: ImportMode) -> None:
    everything(engine)
    everything(engine, "second")
    first = values(export(engine, file))
    load(engine, file, mode, name="copy")
    copy = values(export(engine, file.with_name("copy"), "copy"))
    assert copy[0]["workspace"] == first[0]["workspace"] | {"name": "copy"}
    assert of(copy, "records") == of(first, "records")
    export(engine, file.with_name("both"), "default", "second")
    with pytest.raises(InvalidInputError, match="contains 2 workspaces: default, second"):
        load(engine, file.with_name("both"), mode, name="copy")


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_an_archived_workspace_is_not_imported_into(engine: Engine, file: Path, mode: ImportMode) -> None:
    engine.workspaces.create("old")
    memories(engine, name="old").store("put away")
    memories(engine).store("not to be imported alone")
    export(engine, file, "default", "old")
    engine.workspaces.archive("old")
    with pytest.raises(InvalidInputError, match="is archived"):
        load(engine, file, mode)
    assert engine.workspaces.find("old").status == "archived"


# processes that are killed -------------------------------------------------------------------------------------------

KILLED = """
import json, os, signal, sys
from pathlib import Path
from memoryd.core.transfer import jsonl as lines, reader, restore as imports
from memoryd.core.engine import Engine
from memoryd.settings import Settings
reader.BATCH = 5
environ, file, mode = sys.argv[1:]
def report(what, done):
    if what.startswith("importing") and done > 0.4:
        os.kill(os.getpid(), signal.SIGKILL)
with Engine(Settings.read(json.loads(environ)), fetch=False) as engine, lines.opened(Path(file)) as source:
    imports.load(engine, source, None, mode, report)
"""


def killed(home: Path, file: Path, mode: ImportMode) -> None:
    process = python(KILLED, json.dumps(environment(home)), file, mode)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors


@pytest.mark.process
def test_a_killed_merge_can_be_repeated(engine: Engine, tmp_path: Path, file: Path) -> None:
    everything(engine)
    first = export(engine, file, vectors=False)
    killed(tmp_path / "there", file, "merge")
    with opened(tmp_path / "there") as there:
        half = export(there, tmp_path / "half", vectors=False)
        assert 5 < len(half.splitlines()) < len(first.splitlines())
        assert sound(there)
        (outcome,) = load(there, file)
        assert 0 < outcome.new.total() < outcome.read.total()
        assert export(there, tmp_path / "again", vectors=False) == first
        assert sound(there)


@pytest.mark.process
def test_a_killed_replacement_has_changed_nothing(engine: Engine, tmp_path: Path, file: Path) -> None:
    everything(engine)
    first = export(engine, file)
    with opened(tmp_path / "there") as there:
        everything(there)
    with opened(tmp_path / "there") as there:  # a session has ended in the meantime, which is an event
        before = export(there, tmp_path / "before")
    killed(tmp_path / "there", file, "replace")
    with opened(tmp_path / "there") as there:
        assert export(there, tmp_path / "after") == before
        assert sound(there)
        load(there, file, "replace")
        assert export(there, tmp_path / "again") == first
