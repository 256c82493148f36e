"""A memory moves from SQLite to Postgres and back: every row, once; whatever is missing is reported."""

import json
import shutil
import signal
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import psycopg
import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.memories.memories import Criteria
from memoryd.core.scope import Scope
from memoryd.core.transfer import migration
from memoryd.core.transfer.migration import MigrationOutcome
from memoryd.errors import InvalidInputError, NotFoundError, StoreError
from memoryd.model import Kind
from memoryd.query_syntax import parse_query
from memoryd.settings import Settings
from memoryd.store import rows
from memoryd.store.base import Queries
from memoryd.store.columns import MOVED, OF_WORKSPACE
from memoryd.store.sql import load, moving
from tests.clients import database
from tests.core.kit import NONE, memories
from tests.store.kit import EVERY, SET, add, axis, by_words, nearest, put, python

SETTINGS = Settings.read(NONE)
UNICODE = "Größe \N{SNOWMAN} \U0001f600 العربية\r\n\t 'quoted' \"twice\" %s :workspace \\N"
LONG = "a long text about lighthouses. " * 10_000  # more than a block of a file that is read


def quiet(_what: str, _done: float) -> None:
    """Report nothing."""


def moved(source: object, target: object) -> MigrationOutcome:
    outcome = migration.migrate(str(source), str(target), SETTINGS, quiet)
    assert outcome.differences == []
    return outcome


def opened(place: object) -> Engine:
    return Engine(migration.at(str(place), SETTINGS))


def all_kinds(engine: Engine, name: str, long: str = "long enough") -> None:
    """A workspace with every kind of row, some of them deleted, and a text of some length."""
    here, place = memories(engine, "s1", name), engine.workspaces.ensure(name)
    for text in ("Bread needs yeast.", UNICODE, long, "obsolete"):
        here.store(text, tags=("a", "ü"), importance=0.7)
    here.recall("bread", 500)
    here.forget(Criteria(query="obsolete"), confirm=True)
    in_session = {"scope": "s1", "session_id": "s1", "name": "draft"}
    put(engine.store, place, "seen by one session", np.stack([axis(0), axis(1)]), **in_session)
    gone = put(engine.store, place, "gone, with a vector of its own")
    engine.store.write(place, lambda q: client_vector(q, gone))
    engine.store.write(place, lambda q: q.run("records.delete", ids=json.dumps([gone]), now="2026-01-01T00:00:00.000Z"))
    graph = Graph(Scope(engine, place))
    entities.create(graph, [NewEntity(name="Ann", type="person", observations=("a", "b", "c"), tags=("core",))])
    entities.create(graph, [NewEntity(name="Bob", type="person", summary="tall"), NewEntity(name="Gone", type="x")])
    relations.create(graph, [Edge("Ann", "Bob", "knows"), Edge("Ann", "Gone", "knew"), Edge("Bob", "Ann", "knows")])
    observations.delete(graph, [Deletion(entity="Ann", ordinals=(1,))])
    observations.replace(graph, "Ann", 2, "d")
    relations.delete(graph, [Edge("Bob", "Ann", "knows")])
    entities.delete(graph, ["Gone"])
    engine.store.write(place, journal)


def client_vector(queries: Queries, record_id: str) -> None:
    row = {"id": record_id, "chunk": 0, "perspective": "client", "model": "m", "dim": 8, "vector": np.float16(axis(2))}
    queries.many("embeddings.add", [row])


def journal(queries: Queries) -> None:
    """Write what no toolset writes yet, and perspectives."""
    turn = add(queries, "prompt thought response", kind=Kind.INTERACTION, session_id="s1")
    rows.put(queries, "interaction_details", [{"id": turn, "thought_at": 7, "response_at": 15}])
    summary = add(queries, "what was done", axis(3), kind=Kind.SUMMARY, name="title")
    scores: dict[str, Any] = {"quality": 7, "productivity": None, "impact": 3, "complexity": None}
    details = {"id": summary, "memory_count": 3, **scores, "technologies": '["Öl"]'}
    rows.put(queries, "summary_details", [details])
    queries.run("perspectives.add", name="own", template="{entity}: {text}")


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "source"
    with opened(root) as engine:
        all_kinds(engine, "default", LONG)
        engine.workspaces.create("web-site", "what it is about, ünd how")
        all_kinds(engine, "web-site")
        engine.sessions.switch("s1", "web-site")
        engine.workspaces.create("old")
        memories(engine, name="old").store("put away long ago")
        engine.workspaces.archive("old")
        engine.workspaces.create("empty")
        engine.workspaces.lead(["file:empty"], "empty")
        row = {"principal": "p", "id": "s1", "holder": "h", "expires_at": "2026-01-01T00:00:00.000Z"}
        engine.store.write(None, lambda q: rows.put(q, "session_holders", [row]))
        with closing(apsw.Connection(str(engine.store.placement.path(engine.workspaces.find("default"))))) as file:
            counts = {table: file.execute(f"SELECT count(*) FROM {table}").get for table in OF_WORKSPACE}
    assert all(counts.values()), counts
    return root


@pytest.fixture
def source(_made: Path, tmp_path: Path) -> Path:
    """A data directory with workspaces in one file, in their own and in the archive; a separate copy for each test."""
    return Path(shutil.copytree(_made, tmp_path / "source"))


@pytest.fixture
def url(postgres: str, tmp_path: Path) -> str:
    return database(postgres, tmp_path)


def dump(place: object) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of SQLite at a place, by table, without what differs from file to file."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    with opened(place) as engine, ExitStack() as ends:
        paths = {engine.store.placement.path(each) for each in (None, *engine.workspaces.all())}
        files = [ends.enter_context(closing(apsw.Connection(str(path)))) for path in paths]
        for table in MOVED:
            every = [name for (name,) in files[0].execute("SELECT name FROM pragma_table_info(?)", (table,))]
            columns = ", ".join(name for name in every if name not in ("rid", "seq", "db_path", "related"))
            found[table] = sorted(
                (row for file in files for row in file.execute(f"SELECT {columns} FROM {table}")), key=repr
            )
    return found


# the round -----------------------------------------------------------------------------------------------------------


def test_there_and_back_again_every_row_is_the_same(source: Path, url: str, tmp_path: Path) -> None:
    before = dump(source)
    assert all(before.values())
    there = moved(source, url)
    assert [each.name for each in there.moved] == ["default", "empty", "old", "web-site"]
    moved(url, tmp_path / "back.db")
    assert dump(tmp_path / "back.db") == before
    moved(url, tmp_path / "back")
    assert dump(tmp_path / "back") == before
    moved(tmp_path / "back", tmp_path / "again.db")
    assert dump(tmp_path / "again.db") == before
    assert dump(source) == before


def test_what_has_moved_is_found_by_words_and_by_vectors(source: Path, url: str, tmp_path: Path) -> None:
    for start, end in ((source, url), (url, tmp_path / "back"), (url, tmp_path / "back.db")):
        moved(start, end)
        with opened(end) as engine:
            assert [
                each for place in engine.workspaces.all("active") for each in engine.store.upkeep.problems(place)
            ] == []
            here = memories(engine)
            assert "yeast" in here.recall("needs yeast", 500).text
            assert here.tags(10) == {"a": 3, "ü": 3, "core": 1}
            query, place = parse_query("lighthouses"), engine.workspaces.find("default")
            assert query
            assert len(by_words(engine.store, place, query, EVERY, 10)) == 1
            ((_, cosine),) = nearest(engine.store, place, SET, axis(3), EVERY, 1)
            assert cosine == pytest.approx(1.0, abs=1e-3)
            chosen = engine.sessions.active("s1")
            assert chosen
            assert chosen.name == "web-site"


def test_an_archived_workspace_arrives_archived(source: Path, url: str, tmp_path: Path) -> None:
    for start, end in ((source, url), (url, tmp_path / "back"), (source, tmp_path / "back.db")):
        moved(start, end)
        with opened(end) as engine:
            old = engine.workspaces.find("old")
            assert old.status == "archived"
            assert engine.store.placement.is_archived(old)
            with pytest.raises(StoreError, match="was archived"):
                put(engine.store, old, "late")
    for end in (tmp_path / "back", tmp_path / "back.db", url):
        with opened(end) as engine:
            engine.workspaces.restore("old")
            assert "long ago" in memories(engine, name="old").recall("away", 500).text


@pytest.mark.slow
def test_each_workspace_gets_a_separate_file_in_a_data_directory(source: Path, tmp_path: Path) -> None:
    moved(source, tmp_path / "new")
    with opened(source) as engine:
        ids = {each.name: each.id for each in engine.workspaces.all()}
    found = {path.relative_to(tmp_path / "new").as_posix() for path in (tmp_path / "new").rglob("*.db")}
    active = {f"projects/{ids[name]}.db" for name in ("default", "empty", "web-site")}
    assert found == {"_meta.db", f"archive/{ids['old']}.db", *active}


def test_the_statements_that_move_rows_have_unique_names() -> None:
    assert not moving().keys() & (load("sqlite") | load("postgres")).keys()


# again ---------------------------------------------------------------------------------------------------------------


def test_existing_rows_are_not_written_twice(source: Path, url: str) -> None:
    first, again = moved(source, url), moved(source, url)
    assert all(each.written == sum(each.rows.values()) for each in first.moved)
    assert [each.written for each in again.moved] == [0, 0, 0, 0]
    with opened(source) as engine:
        memories(engine).store("Came later.")
    assert [each.written for each in moved(source, url).moved] == [3, 0, 0, 0]  # record, details, event


KILLED = """
import os, signal, sys
from memoryd.core.transfer import migration as migrate
from memoryd.settings import Settings
from memoryd.store import rows
rows.FIRST = rows.PAGE = 3
source, target, steps = sys.argv[1:]
reported = 0
def report(what, done):
    global reported
    reported += 1
    if reported == int(steps):
        os.kill(os.getpid(), signal.SIGKILL)
migrate.migrate(source, target, Settings.read({"MEMORY_EMBEDDER": "none"}), report)
"""


@pytest.mark.process
@pytest.mark.parametrize("steps", [2, 40])
def test_a_killed_run_can_be_repeated(source: Path, url: str, tmp_path: Path, steps: int) -> None:
    for start, end in ((source, url), (url, tmp_path / "back"), (url, tmp_path / "back.db")):
        killed = python(KILLED, start, end, steps)
        killed.communicate(timeout=60)
        assert killed.returncode == -signal.SIGKILL
        outcome = moved(start, end)
        assert 0 < sum(each.written for each in outcome.moved) < sum(sum(each.rows.values()) for each in outcome.moved)
    assert dump(tmp_path / "back") == dump(tmp_path / "back.db") == dump(source)


@pytest.mark.process
def test_an_incomplete_workspace_is_never_visible(source: Path, url: str) -> None:
    killed = python(KILLED, source, url, 5)
    killed.communicate(timeout=60)
    with opened(url) as engine:
        assert engine.workspaces.all() == []


# what is reported ---------------------------------------------------------------------------------------------------


def test_another_workspace_of_the_same_name_is_refused_before_anything_is_written(source: Path, url: str) -> None:
    with opened(url) as engine:
        memories(engine, name="web-site").store("mine")
    with pytest.raises(InvalidInputError, match=r"same name: web-site\. Nothing was written"):
        moved(source, url)
    with opened(url) as engine:
        assert [each.name for each in engine.workspaces.all()] == ["web-site"]
        engine.workspaces.delete("web-site")
    moved(source, url)


def test_a_target_may_hold_more(source: Path, url: str) -> None:
    with opened(url) as engine:
        memories(engine, name="other").store("mine")
        engine.sessions.switch("s9", "other")
    moved(source, url)
    with opened(url) as engine:
        assert "mine" in memories(engine, name="other").recall("mine", 500).text


def test_a_workspace_deleted_in_the_target_can_be_moved_again(source: Path, url: str, tmp_path: Path) -> None:
    for end in (url, tmp_path / "new.db", tmp_path / "new"):
        moved(source, end)
        with opened(end) as engine:
            engine.workspaces.delete("web-site")
        assert [bool(each.written) for each in moved(source, end).moved] == [False, False, False, True]


def test_differences_are_reported(source: Path, url: str, tmp_path: Path) -> None:
    moved(source, url)
    with opened(url) as engine:
        place = engine.workspaces.find("default")
        engine.store.write(place, lambda q: q.run("workspaces.silence", limit=1_000))
        memories(engine, name="web-site").store("more")
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE embeddings SET vector = '[0,0,0,0,0,0,0,1]' WHERE perspective = 'client'")
        connection.execute("UPDATE projects SET description = 'another' WHERE name = 'empty'")
        connection.execute("UPDATE sessions SET active_project = 'another'")
    outcome = migration.migrate(str(source), url, SETTINGS, quiet)
    reported = {(each.workspace, each.table): (each.source, each.target) for each in outcome.differences}
    assert set(reported) == {
        ("default", "embeddings"),
        ("web-site", "embeddings"),
        ("web-site", "records"),
        ("web-site", "events"),
        ("web-site", "memory_details"),
        ("empty", "name, description, status, includes or times"),
        ("all workspaces", "sessions"),
    }
    ours, theirs = reported["web-site", "records"]
    assert theirs == ours + 1
    with pytest.raises(StoreError, match="embeddings of default: 4 on both sides, but not the same"):
        outcome.demand_same()


def test_rows_written_meanwhile_are_reported_and_a_second_run_copies_them(source: Path, url: str) -> None:
    with opened(source) as engine:

        def report(what: str, _done: float) -> None:
            if what == "copying web-site" and not came:
                came.append(what)
                memories(engine).store("meanwhile")
                memories(engine, name="web-site").store("meanwhile")

        came: list[str] = []
        outcome = migration.migrate(str(source), url, SETTINGS, report)
    assert came
    with pytest.raises(StoreError, match=r"records of default: (\d+) in the source, (\d+) in the target"):
        outcome.demand_same()
    moved(source, url)


def test_a_damaged_vector_is_reported(source: Path, url: str) -> None:
    with opened(source) as engine:
        file = engine.store.placement.path(engine.workspaces.find("default"))
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(
            "UPDATE embeddings SET vector = cast(x'007e' || substr(vector, 3) AS BLOB) WHERE perspective = 'client'"
        )
        with pytest.raises(StoreError, match=r"A vector of record .* is damaged.*doctor --repair"):
            moved(source, url)
        connection.execute("UPDATE embeddings SET vector = x'00' WHERE perspective = 'client'")
        with pytest.raises(StoreError, match=r"A vector of record .* is damaged.*doctor --repair"):
            moved(source, url)


def test_a_source_without_workspaces_and_odd_targets_are_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="name the directory itself"):
        moved(tmp_path / "none", tmp_path / "other")
    assert not (tmp_path / "none").exists()
    with pytest.raises(NotFoundError, match="name the directory itself"):
        moved(source / "memory.db", tmp_path / "other")
    with pytest.raises(InvalidInputError, match="the same place"):
        moved(source, source)
    with pytest.raises(InvalidInputError, match=r"memory\.db is part of the source"):
        moved(source, source / "memory.db")
    assert not (tmp_path / "other").exists()


def test_progress_reaches_its_end(source: Path, url: str) -> None:
    reported: list[tuple[str, float]] = []
    migration.migrate(str(source), url, SETTINGS, lambda what, done: reported.append((what, done)))
    shares = [done for _, done in reported]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {what.split()[0] for what, _ in reported} == {"copying", "verifying"}


# backup --------------------------------------------------------------------------------------------------------------


def test_a_backup_of_postgres_is_a_usable_file(source: Path, url: str, tmp_path: Path) -> None:
    moved(source, url)
    file = tmp_path / "backups" / "all.db"
    with opened(url) as engine:

        def report(what: str, _done: float) -> None:
            if what == "copying web-site":
                memories(engine, name="web-site").store("meanwhile")

        assert migration.backup(engine, file, report) == len(dump(source)["records"])
        with pytest.raises(StoreError, match="already exists"):
            migration.backup(engine, file, quiet)
    assert [path.name for path in file.parent.iterdir()] == ["all.db"]
    assert file.read_bytes()[18:20] == b"\1\1"  # no write-ahead log
    assert dump(file) == dump(source)


def test_a_backup_that_fails_leaves_nothing(source: Path, url: str, tmp_path: Path) -> None:
    moved(source, url)

    def report(what: str, _done: float) -> None:
        if what == "verifying old":
            raise KeyboardInterrupt

    with opened(url) as engine, pytest.raises(KeyboardInterrupt):
        migration.backup(engine, tmp_path / "all.db", report)
    assert list(tmp_path.glob("all*")) == []
