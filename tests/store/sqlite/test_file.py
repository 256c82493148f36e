"""The specifics of the store on SQLite: files, schema, durability, permissions, words that never drift."""

import random
import re
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from memoryd.core.records import records
from memoryd.errors import StoreError
from memoryd.model import Filter, Kind, Workspace
from memoryd.query_syntax import WordQuery, parse_query
from memoryd.store import sql
from memoryd.store.base import Queries
from memoryd.store.sqlite import connection as sqlite_connection
from memoryd.store.sqlite import file as sqlite_file
from memoryd.store.sqlite import open_files
from memoryd.store.sqlite.connection import SqliteQueries
from memoryd.store.sqlite.file import APPLICATION_ID
from memoryd.store.sqlite.layout import DataDirectory, SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import (
    LATER,
    add,
    axis,
    by_words,
    change,
    forget,
    made,
    near,
    output,
    purge,
    put,
    python,
    schema,
    together,
    value,
    words,
    workspace,
)

VERSION = max(sql.migrations("sqlite"))


# schema --------------------------------------------------------------------------------------------------------------


def test_opening_again_changes_nothing(file: Path, here: Workspace) -> None:
    with closing(made(SingleFile(file))) as store:
        put(store, here, "kept")
    before = schema(file)
    assert value(file, "PRAGMA user_version") == VERSION
    assert value(file, "PRAGMA application_id") == APPLICATION_ID
    with closing(SqliteStore(SingleFile(file))) as store:
        assert words(store, here, "kept") == ["kept"]
    assert schema(file) == before


def test_a_failing_script_undoes_all_scripts(file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(made(SingleFile(file))) as store:
        put(store, here, "kept")
    before = schema(file)
    good, bad = "CREATE TABLE good (a);", "CREATE TABLE better (a); CREATE TABLE bad (a, a);"
    with monkeypatch.context() as patch:
        broken = {**sql.migrations("sqlite"), VERSION + 1: good, VERSION + 2: bad}
        patch.setattr(sqlite_file, "migrations", lambda _dialect: broken)
        with closing(SqliteStore(SingleFile(file))) as store, pytest.raises(apsw.SQLError, match="duplicate column"):
            words(store, here, "kept")
    assert schema(file) == before
    assert value(file, "PRAGMA user_version") == VERSION
    with closing(SqliteStore(SingleFile(file))) as store:
        assert words(store, here, "kept") == ["kept"]


def test_a_later_script_upgrades_what_was_there(file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(made(SingleFile(file))) as store:
        put(store, here, "kept")
    later = {**sql.migrations("sqlite"), VERSION + 1: "ALTER TABLE records ADD COLUMN more TEXT;"}
    monkeypatch.setattr(sqlite_file, "migrations", lambda _dialect: later)
    with closing(SqliteStore(SingleFile(file))) as store:
        assert words(store, here, "kept") == ["kept"]
    assert value(file, "PRAGMA user_version") == VERSION + 1
    assert value(file, "SELECT more FROM records") is None


def refused(store: SqliteStore, file: Path, here: Workspace) -> None:
    for access in (lambda: words(store, here, "kept"), lambda: put(store, here, "more")):
        with pytest.raises(StoreError, match=f"{file} has schema version {VERSION + 1}.*restart this process"):
            access()


def test_a_newer_version_is_refused_and_not_touched(file: Path, here: Workspace) -> None:
    with closing(made(SingleFile(file))) as store:
        put(store, here, "kept")
    value(file, f"PRAGMA user_version = {VERSION + 1}")
    before = file.read_bytes()
    with closing(SqliteStore(SingleFile(file))) as store:
        refused(store, file, here)
    assert file.read_bytes() == before


def test_a_failure_after_another_process_has_migrated_it_is_explained(file: Path, here: Workspace) -> None:
    with closing(made(SingleFile(file))) as store:
        put(store, here, "kept")
        value(file, f"DROP TABLE records; PRAGMA user_version = {VERSION + 1}")
        refused(store, file, here)


@pytest.mark.parametrize("content", [b"this is no database, but it is longer than a header of SQLite" * 20, b"short"])
def test_a_file_that_is_not_a_database_is_refused_and_not_touched(file: Path, here: Workspace, content: bytes) -> None:
    file.write_bytes(content)
    with closing(SqliteStore(SingleFile(file))) as store, pytest.raises(StoreError, match="not a SQLite database"):
        put(store, here, "text")
    assert file.read_bytes() == content


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_another_programs_database_is_refused_and_not_touched(file: Path, here: Workspace, mode: str) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        connection.pragma("journal_mode", mode)
        connection.execute("CREATE TABLE records (theirs); INSERT INTO records VALUES (1)")
    before = file.read_bytes()
    with closing(SqliteStore(SingleFile(file))) as store, pytest.raises(StoreError, match="another program"):
        put(store, here, "text")
    assert file.read_bytes() == before


def test_an_empty_file_is_a_new_database(file: Path, here: Workspace) -> None:
    file.touch()
    with closing(made(SingleFile(file))) as store:
        put(store, here, "text")
        assert words(store, here, "text") == ["text"]


OPEN_TOGETHER = """
import sys, time
from pathlib import Path
from memoryd.model import Workspace
from memoryd.store.base import Queries
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore

place = Workspace(id="w", name="w")
print("ready", flush=True)
for line in sys.stdin:
    name, at = line.split()
    while time.time() < float(at):
        pass
    store = SqliteStore(SingleFile(Path(name)), "normal")
    store.placement.create(None)
    store.write(place, lambda q: q.run("events.add", operation="opened", subject=None, now="now"))
    store.close()
    print("written", flush=True)
"""


@pytest.mark.process
def test_processes_that_open_a_new_file_at_once(tmp_path: Path) -> None:
    processes = [python(OPEN_TOGETHER) for _ in range(3)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for turn in range(40):
        at = f"{tmp_path / str(turn)} {time.time() + 0.01}\n"
        for process in processes:
            assert process.stdin
            process.stdin.write(at)
            process.stdin.flush()
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "written\n", output(process)
        assert value(tmp_path / str(turn), "SELECT count(*) FROM events") == len(processes)
    for process in processes:
        output(process)


def test_the_specifications_own_names_are_views(store: SqliteStore, file: Path, here: Workspace) -> None:
    put(store, here, "about it", kind=Kind.ENTITY, name="thing", type="tool", tags=("t",))
    put(store, here, "noted", kind=Kind.OBSERVATION, id="o")
    put(store, here, "volatile", scope="s", name="k")
    put(store, here, "durable", name="k")
    gone = put(store, here, "gone", name="g")
    forget(store, here, gone)
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(
            "INSERT INTO observation_details SELECT workspace_id, id, 0, 'o' FROM records WHERE kind = 'entity'"
        )
        rows = {
            name: connection.execute(f"SELECT {columns} FROM {name}").fetchall()
            for name, columns in {
                "entities": "name, entity_type, summary, tags",
                "observations": "ordinal, content",
                "session_memories": "session_id, key, content",
                "vault_memories": "key, content, embedding",
            }.items()
        }
    assert rows == {
        "entities": [("thing", "tool", "about it", '["t"]')],
        "observations": [(0, "noted")],
        "session_memories": [("s", "k", "volatile")],
        "vault_memories": [("k", "durable", None)],
    }


def test_nothing_replaces_rows() -> None:
    texts = [*sql.load("sqlite").values(), *sql.migrations("sqlite").values()]
    assert not [text for text in texts if re.search(r"(?i)\bor\s+replace\b|\breplace\s+into\b", text)]


def test_a_replace_by_hand_does_not_corrupt_the_words(store: SqliteStore, here: Workspace) -> None:
    record_id = put(store, here, "before")

    def replace_it(queries: Queries) -> None:
        assert isinstance(queries, SqliteQueries)
        queries.connection.execute(
            "INSERT OR REPLACE INTO records (workspace_id, id, kind, body, created_at, updated_at) "
            "VALUES (?, ?, 'memory', 'after', '', '')", (here.id, record_id),
        )  # fmt: skip

    store.write(here, replace_it)
    assert words(store, here, "before") == []
    assert words(store, here, "after") == ["after"]
    assert store.upkeep.problems(here) == []


def test_foreign_keys_hold(store: SqliteStore, here: Workspace) -> None:
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.write(here, lambda q: q.run("memories.add", id="none", fingerprint="", importance=0.5, consolidated=0))
    record_id = put(store, here, "text", axis(0))
    forget(store, here, record_id)
    purge(store, here)
    for table in ("memory_details", "embeddings", "records", "record_tags"):
        assert value(store.layout.path(here), f"SELECT count(*) FROM {table}") == 0


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("normal", 1)])
def test_pragmas(file: Path, here: Workspace, durability: str, synchronous: int) -> None:
    found: dict[str, object] = {}

    def look(queries: Queries) -> None:
        assert isinstance(queries, SqliteQueries)
        names = ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "busy_timeout", "query_only")
        found.update({name: queries.connection.pragma(name) for name in names})

    with closing(made(SingleFile(file), durability)) as store:  # type: ignore[arg-type]
        store.write(here, look)
        expected = {"journal_mode": "wal", "synchronous": synchronous, "foreign_keys": 1, "recursive_triggers": 1}
        assert found == expected | {"busy_timeout": sqlite_connection.BUSY_MS, "query_only": 0}
        store.read(here, look)
        assert found == expected | {"busy_timeout": sqlite_connection.BUSY_MS, "query_only": 1}


# placement -----------------------------------------------------------------------------------------------------------


def test_a_single_file_contains_everything(tmp_path: Path, file: Path) -> None:
    one, two = workspace("one"), workspace("two", "projects/two.db")
    with closing(made(SingleFile(file), places=(one, two))) as store:
        for place in (one, two):
            put(store, place, f"in {place.name}")
        store.read(None, lambda q: q.all("workspaces.all"))
        assert store.placement.path(one) == store.placement.path(two) == store.placement.path(None) == file
    assert [path.name for path in tmp_path.iterdir()] == ["memory.db"]


def test_a_data_directory_has_a_file_for_each_workspace(tmp_path: Path) -> None:
    root = tmp_path / "new" / "data"
    one, two = workspace("one", "memory.db"), workspace("two", "projects/two.db")
    with closing(made(DataDirectory(root), places=(one, two))) as store:
        for place in (one, two):
            put(store, place, f"text in {place.name}", axis(0))
        store.read(None, lambda q: q.all("workspaces.all"))
        for place in (one, two):
            assert words(store, place, "text") == near(store, place, axis(0)) == [f"text in {place.name}"]
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    assert files == ["_meta.db", "memory.db", "projects/two.db"]
    assert len({tuple(schema(root / name)) for name in files}) == 1


def test_the_least_recently_used_files_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "OPEN_FILES", 3)
    places = [workspace(str(n), f"{n}.db") for n in range(8)]
    with closing(made(DataDirectory(tmp_path), places=places)) as store:
        for _ in range(2):
            for place in places:
                put(store, place, f"text {place.name}")
                words(store, place, "text")
        assert [path.name for path in store._files._open] == ["5.db", "6.db", "7.db"]
        assert len(list(tmp_path.glob("*.db-wal"))) <= 3  # the last connection removes its log
        words(store, places[5], "text")
        words(store, places[0], "text")
        assert [path.name for path in store._files._open] == ["7.db", "5.db", "0.db"]


@pytest.mark.slow
def test_files_in_use_are_not_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "OPEN_FILES", 2)
    places = [workspace(str(n), f"{n}.db") for n in range(6)]
    with closing(made(DataDirectory(tmp_path), "normal", places)) as store:

        def work(number: int) -> None:
            for turn in range(12):
                place = places[(number + turn) % len(places)]
                put(store, place, f"text {number} {turn}")
                assert f"text {number} {turn}" in words(store, place, f"text {number} {turn}", limit=200)

        assert together(work, 8) == []
        assert sum(len(words(store, place, "text", limit=200)) for place in places) == 8 * 12


# words never drift ---------------------------------------------------------------------------------------------------


@dataclass
class Twin:
    """A plain Python model of one record."""

    kind: Kind
    scope: str
    terms: set[str]
    tags: set[str]
    place: Workspace
    deleted: bool = False


TERMS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "日本", "ünïcode", "emoji🚀x")
TAGS = ("red", "green", "blue", "it's", "ünï")


class Workload:
    """Random changes of a store, applied to a model too."""

    def __init__(self, store: SqliteStore, seed: int) -> None:
        self.store = store
        self.dice = random.Random(seed)
        self.places = [workspace("one"), workspace("two")]
        self.twins: dict[str, Twin] = {}
        self.added = 0

    def some(self, of: tuple[str, ...]) -> set[str]:
        return set(self.dice.sample(of, self.dice.randint(0, 3)))

    def pick(self, *, deleted: bool = False) -> str | None:
        keys = sorted(key for key, twin in self.twins.items() if twin.deleted == deleted)
        return self.dice.choice(keys) if keys else None

    def add(self) -> None:
        twin = Twin(self.dice.choice(list(Kind)), self.dice.choice(("", "", "s1", "s2")), self.some(TERMS),
                    self.some(TAGS), self.dice.choice(self.places))  # fmt: skip
        self.added += 1
        key = f"r{self.added:04}"
        put(self.store, twin.place, " ".join(sorted(twin.terms)), id=key, kind=twin.kind, scope=twin.scope,
            tags=tuple(sorted(twin.tags)))  # fmt: skip
        self.twins[key] = twin

    def change(self) -> None:
        if key := self.pick():
            twin = self.twins[key]
            twin.terms, twin.tags = self.some(TERMS), self.some(TAGS)
            change(self.store, twin.place, key, " ".join(sorted(twin.terms)), sorted(twin.tags))

    def delete(self) -> None:
        if key := self.pick():
            self.twins[key].deleted = True
            assert forget(self.store, self.twins[key].place, key) == 1

    def restore(self) -> None:
        if key := self.pick(deleted=True):
            self.twins[key].deleted = False
            self.raw("UPDATE records SET deleted_at = NULL WHERE id = ?", key)

    def purge(self) -> None:
        place = self.dice.choice(self.places)
        purge(self.store, place)
        self.twins = {
            key: twin for key, twin in self.twins.items() if not (twin.deleted and twin.place is place)
        }  # fmt: skip

    def fail(self) -> None:
        place = self.dice.choice(self.places)

        def work(queries: Queries) -> None:
            add(queries, "alpha beta", tags=("red",))
            records.delete(queries, sorted(self.twins), LATER)
            raise LookupError

        with pytest.raises(LookupError):
            self.store.write(place, work)

    def raw(self, statement: str, *parameters: object) -> None:
        def work(queries: Queries) -> None:
            assert isinstance(queries, SqliteQueries)
            queries.connection.execute(statement, parameters)

        self.store.write(self.places[0], work)

    def step(self) -> None:
        actions: list[Callable[[], None]] = [self.add, self.change, self.delete, self.restore, self.purge, self.fail]
        self.dice.choices(actions, weights=[50, 20, 15, 8, 2, 3])[0]()

    def compare(self) -> None:
        """Check that a random query gives the answer of the model."""
        place, term = self.dice.choice(self.places), self.dice.choice(TERMS)
        allowed = Filter(
            kinds=tuple(self.dice.sample(list(Kind), self.dice.randint(0, 2))),
            tags=tuple(sorted(self.some(TAGS))[:2]), session=self.dice.choice(("", "s1", "s2", "s3")),
        )  # fmt: skip
        expected = {
            key for key, twin in self.twins.items()
            if twin.place is place and not twin.deleted and term in twin.terms
            and (not allowed.kinds or twin.kind in allowed.kinds) and twin.tags.issuperset(allowed.tags)
            and twin.scope in ("", allowed.session)
        }  # fmt: skip
        query = sqlite_query(term)
        assert {key for key, _ in by_words(self.store, place, query, allowed, 10_000)} == expected, (term, allowed)


def sqlite_query(term: str) -> WordQuery:
    found = parse_query(f'"{term}"')
    assert found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_random_workload_agrees_with_a_model(store: SqliteStore, seed: int) -> None:
    work = Workload(store, seed)
    for step in range(400):
        work.step()
        if step % 5 == 0:
            work.compare()
        if step % 100 == 99:
            assert store.upkeep.problems(work.places[0]) == []
    living = [twin for twin in work.twins.values() if not twin.deleted]
    file = store.layout.path(None)
    assert value(file, "SELECT count(*) FROM records WHERE deleted_at IS NULL") == len(living)
    assert value(file, "SELECT count(*) FROM record_tags") == sum(len(twin.tags) for twin in living)
