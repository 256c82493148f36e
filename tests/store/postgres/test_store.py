"""The storage suite on Postgres."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module  # the quick tests have no managed server
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.errors import UncertainError
from memoryd.store.base import Queries, Store
from memoryd.store.postgres import pool, rows
from memoryd.store.postgres.failures import Commit
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.postgres.store import PostgresStore
from memoryd.text import LETTERS, MARKS, RESPELLED, indexed, segmented
from tests.clients import database, until
from tests.store.clusters import ask
from tests.store.kit import add, put, words, workspace
from tests.store.test_storage import Storage


class TestPostgres(Storage):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def open(self, place: Path) -> Store:
        return PostgresStore(database(self.server, place))


@pytest.mark.process
def test_a_dump_that_postgres_made_is_restored_whole(
    store: PostgresStore, url: str, postgres: str, tmp_path: Path
) -> None:
    here = workspace()
    put(store, here, "red plain")
    put(store, here, "数据库端口是5433")
    restored = database(postgres, tmp_path / "restored", like=postgres.replace("/postgres?", "/template1?"))
    dump = tmp_path / "memory.dump"
    programs = import_module("memoryd.store.postgres.managed_server").PROGRAMS
    subprocess.run([programs / "pg_dump", "-Fc", "-f", dump, "-d", url], check=True)
    subprocess.run([programs / "pg_restore", "--exit-on-error", "-d", restored, dump], check=True)
    with closing(PostgresStore(restored)) as again:
        assert words(again, here, "red") == ["red plain"]
        put(again, here, "red again")
        assert sorted(words(again, here, "red")) == ["red again", "red plain"]
        assert words(again, here, "端口") == ["数据库端口是5433"]


@given(st.lists(st.sampled_from([*re.findall(r"\w", LETTERS), *MARKS, *"a 1。-é\U000e0100"])).map("".join))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts_are_segmented_as_on_sqlite(segmenting: psycopg.Connection[tuple[str]], text: str) -> None:
    assert segmenting.execute("SELECT segmented(%s)", (text,)).fetchone() == (segmented(text),)


@given(st.lists(st.sampled_from([*RESPELLED, *"aB1 .é東-لम\u0308\u0301\u064e\u093c\u0958ａＺ９？ﬁ"])).map("".join))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words_are_respelt_as_on_sqlite(segmenting: psycopg.Connection[tuple[str]], text: str) -> None:
    assert segmenting.execute("SELECT indexed(%s)", (text,)).fetchone() == (indexed(text),)


@given(st.lists(st.sampled_from([*"aabcABC1_ .é東", "https", "Server", "x" * 30])).map("".join))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_identifiers_are_split_as_on_sqlite(segmenting: psycopg.Connection[tuple[str]], text: str) -> None:
    assert segmenting.execute("SELECT indexed(%s)", (text,)).fetchone() == (indexed(text),)


@pytest.fixture
def segmenting(store: PostgresStore, url: str) -> Iterator[psycopg.Connection[tuple[str]]]:
    store.placement.create(None)
    with psycopg.connect(url) as connection:
        yield connection


LISTENERS = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%LISTEN memoryd%'"""


def asked(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement).fetchone()
        assert row
        return row[0]


def test_an_acknowledged_write_is_in_the_log_on_disk(store: PostgresStore, url: str) -> None:
    # a commit that releases the workspace before it is flushed is followed by one that waits
    def work(queries: Queries) -> str:
        add(queries, "text")
        assert isinstance(queries, PostgresQueries)
        row = queries.connection.execute("SELECT pg_current_wal_insert_lsn()::text AS place").fetchone()
        assert row
        return str(row["place"])

    for _ in range(5):
        place = store.write(workspace(), work)
        assert asked(url, f"SELECT pg_current_wal_flush_lsn() >= '{place}'")


def test_idle_connections_after_a_burst_are_closed(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connections() -> int:
        ours = "datname = current_database() AND application_name = 'memoryd'"
        return int(ask(url, f"SELECT count(*) FROM pg_stat_activity WHERE {ours}")[0])

    monkeypatch.setattr(pool, "IDLE", 0.5)
    with store.connection(), store.connection(), store.connection():
        assert connections() == 3

    def one_is_left() -> bool:
        with store.connection():  # steady use of one, which the others are not needed for
            return connections() == 1

    until(one_is_left, "the end of the others")


def test_a_listener_hears_each_commit_and_nothing_else(store: PostgresStore, url: str) -> None:
    one, two = workspace("one"), workspace("two")
    store.placement.create(None)
    with closing(PostgresStore(url)) as other:
        assert other.changes(0.1) is None, "what happened before it listened is unknown"
        assert other.changes(0.1) == set()

        def fails(queries: Queries) -> None:
            add(queries, "never")
            raise LookupError

        with pytest.raises(LookupError):
            store.write(one, fails)
        assert other.changes(0.1) == set()
        put(store, one, "text")
        put(store, two, "text")
        heard: set[str] = set()
        while len(heard) < 2:
            heard |= other.changes(5) or set()
        assert heard == {one.id, two.id}


def test_a_listener_that_lost_its_connection_reports_it_and_listens_again(store: PostgresStore, url: str) -> None:
    here = workspace()
    store.placement.create(None)
    with closing(PostgresStore(url)) as other:
        other.changes(0)
        assert asked(url, LISTENERS) == 1
        put(store, here, "unheard")
        assert other.changes(0.1) is None
        assert other.changes(0.1) is None, "it has a connection again, and does not know what it missed"
        put(store, here, "heard")
        assert other.changes(5) == {here.id}


def test_a_connection_that_broke_while_it_waited_for_the_disk_is_not_used_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = workspace()

    class Broken(Commit):
        def send(self) -> None:
            self._committed.execute("COMMIT")
            raise psycopg.OperationalError("the server went away")

    monkeypatch.setattr(rows, "Commit", Broken)
    with pytest.raises(UncertainError, match="unknown whether this was stored"):
        put(store, here, "text")
    monkeypatch.undo()
    assert put(store, here, "another")
