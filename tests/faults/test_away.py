"""Calls while Postgres is down, starts, takes no writes for a while, or loses their connections."""

import signal
import threading
from contextlib import closing, suppress

import psycopg
import pytest

from memoryd.deadline import time_limit
from memoryd.errors import StoreError, UncertainError
from memoryd.model import Workspace
from memoryd.store.base import Queries, Store
from memoryd.store.postgres import pool, rows
from memoryd.store.postgres.connection import Connection
from memoryd.store.postgres.failures import Commit, TransientError, explained
from memoryd.store.postgres.server import ServerAddress
from memoryd.store.postgres.store import PostgresStore
from tests.clients import until
from tests.store.clusters import Cluster, ask, bodies, connection_of, observed
from tests.store.kit import add, put, workspace

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_a_server_that_is_down_is_reported_and_found_again(
    server: Cluster, url: str, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.stop()
    with monkeypatch.context() as patch, closing(PostgresStore(url)) as store:
        patch.setattr(pool, "FAILOVER", 0)
        with pytest.raises(StoreError, match=r"cannot be reached.*Nothing was stored by this call\. Start the server"):
            put(store, here, "lost")
        server.start()
        put(store, here, "kept")
    assert bodies(url) == ["kept"]


def test_acknowledged_writes_survive_a_killed_server(server: Cluster, url: str, store: Store) -> None:
    here, acknowledged, end = workspace(), list[str](), threading.Event()

    def write() -> None:
        number = 0
        while not end.is_set():
            number += 1
            with suppress(StoreError):  # killed during the commit: the outcome is unknown
                put(store, here, f"text {number}")
                acknowledged.append(f"text {number}")

    writer = threading.Thread(target=write)
    writer.start()
    until(lambda: len(acknowledged) > 20, "writes")
    server.stop(signal.SIGKILL)
    server.start()
    end.set()
    writer.join(30)
    assert set(acknowledged) <= set(bodies(url))


def test_a_call_waits_for_a_server_that_restarts(
    server: Cluster, url: str, store: Store, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, here, "before")
    server.stop()
    monkeypatch.setattr(pool, "PAUSES", ())
    monkeypatch.setattr(pool, "AGAIN", 0.05)
    caller = threading.Thread(target=put, args=(store, here, "during"))
    caller.start()
    server.start()
    caller.join(30)
    assert bodies(url) == ["before", "during"]


def test_a_call_waits_no_longer_than_its_own_limit(url: str, server: Cluster, store: Store, here: Workspace) -> None:
    put(store, here, "before")
    server.stop()
    try:
        with time_limit(0.5), pytest.raises(StoreError, match="cannot be reached"):
            put(store, here, "lost")
    finally:
        server.start()


def test_what_has_been_away_for_long_is_waited_for_only_briefly(
    server: Cluster, url: str, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PAUSES", ())
    monkeypatch.setattr(pool, "AGAIN", 0.01)
    monkeypatch.setattr(pool, "FAILOVER", 0.5)
    monkeypatch.setattr(pool, "STILL_AWAY", 0.1)
    attempts: list[str] = []
    with closing(PostgresStore(url)) as store:
        put(store, here, "before")
        server.stop()
        real = store._pool._attempt

        def attempt(host: ServerAddress) -> Connection:
            attempts.append(host.place)
            return real(host)

        monkeypatch.setattr(store._pool, "_attempt", attempt)
        numbers = []
        for _ in range(2):
            with pytest.raises(StoreError, match="cannot be reached"):
                put(store, here, "lost")
            numbers.append(len(attempts))
            attempts.clear()
        assert numbers[1] < numbers[0]
        server.start()
        put(store, here, "after")
    assert bodies(url) == ["after", "before"]


def test_a_call_waits_for_a_server_that_is_read_only_for_a_while(
    server: Cluster, url: str, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = observed(monkeypatch)
    with closing(PostgresStore(url)) as store:
        put(store, here, "before")
        name = url.partition("@/")[2].partition("?")[0]
        ask(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        store._pool.let_go()
        caller = threading.Thread(target=put, args=(store, here, "during"))
        caller.start()
        until(lambda: len(refused) > rows.TRIES, "refused writes")
        ask(server.url, f"ALTER DATABASE {name} RESET default_transaction_read_only")
        caller.join(30)
    assert bodies(url) == ["before", "during"]
    assert "restore a backup" not in "".join(map(str, refused))


RECEIVED = psycopg.InternalError("received 2 results from command 'BEGIN ISOLATION LEVEL READ COMMITTED'")


def test_an_error_of_libpq_itself_is_a_lost_connection_and_repeated(url: str, store: Store, here: Workspace) -> None:
    tries: list[int] = []

    def work(queries: Queries) -> None:
        tries.append(connection_of(queries).info.backend_pid)
        if len(tries) == 1:
            raise RECEIVED
        add(queries, "kept")

    store.write(here, work)
    assert len(set(tries)) == 2, "on another connection"
    assert bodies(url) == ["kept"]


def test_an_error_of_libpq_itself_during_the_commit_is_reported_as_unknown(
    store: Store, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(_pipeline: psycopg.Pipeline, *_: object) -> None:
        raise RECEIVED

    put(store, here, "before")
    monkeypatch.setattr(psycopg.Pipeline, "__exit__", end)
    with pytest.raises(UncertainError, match="unknown whether"):
        put(store, here, "perhaps")


def test_an_error_of_libpq_itself_is_no_reason_to_restore_a_backup() -> None:
    lost = pytest.raises(TransientError, match=r"connection to place was lost \(received 2.*try again")
    with lost as caught, explained("place"):
        raise RECEIVED
    assert "backup" not in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [psycopg.ProgrammingError("the query has 2 placeholders but 1 parameter"), psycopg.errors.DataCorrupted("page")],
)
def test_other_errors_without_a_server_are_not_repeated(error: psycopg.Error) -> None:
    with pytest.raises((StoreError, psycopg.Error)) as caught, explained("place"):
        raise error
    assert not isinstance(caught.value, TransientError)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_broken_connections_are_replaced_silently(
    server: Cluster, url: str, store: Store, here: Workspace, how: signal.Signals
) -> None:
    put(store, here, "before")
    server.stop(how)
    server.start()
    put(store, here, "after")
    assert bodies(url) == ["after", "before"]


def test_work_lost_before_the_commit_is_repeated(
    url: str, store: Store, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def work(queries: Queries) -> None:
        add(queries, f"try {len(tries)}")
        tries.append(1)
        if len(tries) == 1:
            ask(url, f"SELECT pg_terminate_backend({connection_of(queries).info.backend_pid}, 5000)")
        queries.one("placement.marked")

    store.write(here, work)
    assert bodies(url) == ["try 1"]


def test_a_commit_without_an_answer_is_reported_as_unknown_and_not_repeated(
    url: str, store: Store, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    class Killed(Commit):
        def send(self) -> None:
            super().send()
            ask(url, f"SELECT pg_terminate_backend({self._connection.info.backend_pid}, 5000)")

    def work(queries: Queries) -> None:
        add(queries, "perhaps")
        tries.append(1)

    monkeypatch.setattr(rows, "Commit", Killed)
    with pytest.raises(UncertainError, match=r"lost during a commit .* unknown whether .* stored; check before you"):
        store.write(here, work)
    assert len(tries) == 1


def test_an_ignored_failure_of_a_statement_is_not_a_success(url: str, store: Store, here: Workspace) -> None:
    def work(queries: Queries) -> None:
        add(queries, "half")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection_of(queries).execute("SELECT 1 / 0").fetchone()

    with pytest.raises(StoreError, match="Nothing was stored"):
        store.write(here, work)
    assert bodies(url) == []
