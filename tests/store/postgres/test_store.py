"""The storage suite on Postgres."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from memoryd.errors import UncertainError
from memoryd.store.base import Queries, Store
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.postgres.store import PostgresStore
from tests.clients import database
from tests.store.kit import add, put, workspace
from tests.store.test_storage import Storage


class TestPostgres(Storage):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def open(self, place: Path) -> Store:
        return PostgresStore(database(self.server, place))


@pytest.fixture
def url(postgres: str, tmp_path: Path) -> str:
    return database(postgres, tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url)) as store:
        yield store


LISTENERS = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%LISTEN memoryd%'"""


def asked(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement).fetchone()
        assert row
        return row[0]


def test_what_is_acknowledged_is_in_the_log_on_disk(store: PostgresStore, url: str) -> None:
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


def test_those_who_listen_hear_each_commit_and_only_those(store: PostgresStore, url: str) -> None:
    one, two = workspace("one"), workspace("two")
    store.placement.create(None)
    with closing(PostgresStore(url)) as other:
        assert other.changes(0.1) is None, "what was before it listened nobody can say"
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


def test_a_listener_that_lost_its_connection_says_so_and_listens_again(store: PostgresStore, url: str) -> None:
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

    def broken(queries: Queries) -> None:
        add(queries, "text")
        assert isinstance(queries, PostgresQueries)
        real = queries.connection.execute

        def execute(statement: object, *arguments: object, **options: object) -> object:
            if "emit_message" in str(statement):
                raise psycopg.OperationalError("the server went away")
            return real(statement, *arguments, **options)  # type: ignore[call-overload]

        monkeypatch.setattr(queries.connection, "execute", execute)

    with pytest.raises(UncertainError, match="unknown whether this was stored"):
        store.write(here, broken)
    assert put(store, here, "another")
