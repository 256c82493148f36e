"""Whole workspaces as a file: byte for byte what was imported, without anything forgotten."""

import base64
import json
import os
from pathlib import Path

import numpy as np
import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance.history import restore
from memoryd.core.scope import Scope
from memoryd.core.transfer import export as exports
from memoryd.core.transfer.jsonl import ImportMode
from memoryd.errors import InvalidInputError, StoreError
from memoryd.settings import Settings
from memoryd.store.columns import EXPORTED
from tests.clients import database, environment
from tests.core.exports_kit import (
    everything,
    export,
    found,
    load,
    of,
    sound,
    values,
)
from tests.core.kit import memories
from tests.core.transfer.test_migration import LONG
from tests.store.kit import EVERY, NOW, SET, axis, nearest, put


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_what_was_imported_is_exported_as_the_same_bytes(
    engine: Engine, other: Engine, file: Path, tmp_path: Path, mode: ImportMode
) -> None:
    everything(engine, long=LONG)
    everything(engine, "second")
    first = export(engine, file, "default", "second")
    outcomes = load(other, file, mode)
    assert export(other, tmp_path / "again", "default", "second") == first
    assert [(one.made, one.new) for one in outcomes] == [(True, one.read) for one in outcomes]
    assert all(outcomes[0].read[noun] for noun in exports.NOUNS.values()), outcomes[0].read
    assert sound(other)
    assert found(other, "yeast") == found(engine, "yeast") != set()
    tags = [memories(one).tags(100) for one in (engine, other)]
    assert tags[1] == tags[0] | {"ü": 3}


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_sqlite_and_postgres_export_the_same_bytes(
    engine: Engine, file: Path, tmp_path: Path, postgres: str, mode: ImportMode
) -> None:
    everything(engine, long=LONG)
    first = export(engine, file)
    url = database(postgres, tmp_path / f"there {mode}")
    with Engine(Settings.read(environment(tmp_path / "x") | {"MEMORY_DATABASE_URL": url}), fetch=False) as there:
        load(there, file, mode)
        assert export(there, tmp_path / "there.jsonl") == first
        assert sound(there)
    back = environment(tmp_path / "back") | {"MEMORY_DATABASE_URL": ""}
    with Engine(Settings.read(back), fetch=False) as here:
        load(here, tmp_path / "there.jsonl", mode)
        assert export(here, tmp_path / "back.jsonl") == first
        assert sound(here)


def test_forgotten_and_volatile_records_are_not_exported(engine: Engine, file: Path) -> None:
    everything(engine)
    content = export(engine, file)
    lines = values(content)
    bodies = {record["body"] for record in of(lines, "records")}
    assert bodies & {"obsolete", "seen by one session", "gone, with a vector of its own", "b"} == set()
    assert "for one session's eyes" not in bodies
    assert "Gone" not in {record["name"] for record in of(lines, "records")}
    assert [record["body"] for record in of(lines, "records") if record["deleted_at"]] == ["an original"]
    assert [relation["relation_type"] for relation in of(lines, "relations")] == ["knows"]
    ids = {record["id"] for record in of(lines, "records")}
    hanging = [row["id"] for table in EXPORTED for row in of(lines, table) if table.endswith("details")]
    assert set(hanging) == ids
    workspace = engine.workspaces.find("default")
    for secret in (workspace.id, str(engine.settings.data_dir)):
        assert secret.encode() not in content


def test_without_vectors_only_those_supplied_by_callers_are_exported(
    engine: Engine, other: Engine, file: Path, tmp_path: Path
) -> None:
    everything(engine)
    first = export(engine, file, vectors=False)
    (brought,) = of(values(first), "embeddings")
    vector = np.frombuffer(base64.b64decode(brought["vector"]), "<f2")
    assert (brought["perspective"], np.round(vector.astype(float), 3).tolist()) == ("client", [0.6, 0.8])
    load(other, file)
    assert export(other, tmp_path / "again", vectors=False) == first


def test_vectors_are_found_after_an_import(engine: Engine, other: Engine, file: Path) -> None:
    place = engine.workspaces.ensure("default")
    wanted = put(engine.store, place, "near", axis(3))
    put(engine.store, place, "far", axis(1))
    export(engine, file)
    load(other, file)
    near = nearest(other.store, other.workspaces.find("default"), SET, axis(3), EVERY, 1)
    assert [key for key, _ in near] == [wanted]


def test_what_has_replaced_a_memory_is_not_named_once_it_is_forgotten(engine: Engine, file: Path) -> None:
    place = everything(engine)
    (after,) = {row["superseded_by"] for row in of(values(export(engine, file)), "memory_details")} - {None}
    engine.store.write(place, lambda q: q.run("records.delete", ids=json.dumps([after]), now=NOW))
    engine.store.write(place, lambda q: q.run("memories.touch", id=after, times=1, at=NOW))
    again = export(engine, file.with_name("again"))
    assert after.encode() not in b"\n".join(line for line in again.splitlines() if b'"events"' not in line)
    assert "an original" not in {record["body"] for record in of(values(again), "records")}


def test_a_concurrent_writer_does_not_make_an_export_inconsistent(engine: Engine, other: Engine, file: Path) -> None:
    place = engine.workspaces.ensure("default")
    graph = Graph(Scope(engine, place))

    def write(_what: str, _done: float) -> None:
        """Write between any two pages."""
        name = os.urandom(8).hex()
        entities.create(graph, [NewEntity(name=name, type="x", observations=("a", "b"))])
        relations.create(graph, [Edge(name, name, "is")])

    write("", 0)
    exports.export(engine, file, [place], write)
    (outcome,) = load(other, file)
    assert (outcome.read["entities"], outcome.read["relations"], outcome.read["observations"]) == (1, 1, 2)


def test_a_damaged_vector_is_reported_and_no_file_is_written(engine: Engine, file: Path) -> None:
    place = engine.workspaces.ensure("default")
    put(engine.store, place, "near", 2 * axis(3))
    with pytest.raises(StoreError, match=r"is damaged\. Nothing was written"):
        export(engine, file)
    assert list(file.parent.glob("all*")) == []


def test_an_existing_file_is_not_overwritten(engine: Engine, file: Path) -> None:
    engine.workspaces.ensure("default")
    file.write_text("mine")
    with pytest.raises(InvalidInputError, match="already exists"):
        export(engine, file)
    assert file.read_text() == "mine"


def test_a_whole_succession_is_exported_and_can_be_restored(engine: Engine, other: Engine, file: Path) -> None:
    kept = memories(engine)
    first = kept.store("The database is MySQL.")
    second = kept.store("The database is Postgres.", supersedes=[first.id])
    third = kept.store("The database is CockroachDB.", supersedes=[second.id])
    whole = export(engine, file)
    details = {row["id"]: row["superseded_by"] for row in of(values(whole), "memory_details")}
    assert details == {first.id: third.id, second.id: third.id, third.id: None}
    load(other, file)
    graph = Graph(Scope(other, other.workspaces.find("default")))
    assert [one.text for one in restore(graph, [first.id])] == ["The database is MySQL."]
