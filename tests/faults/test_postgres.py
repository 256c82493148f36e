"""Calls when Postgres is unavailable, busy, misconfigured or killed, with real servers and real processes."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from memoryd.core.engine import Engine
from memoryd.deadline import time_limit
from memoryd.errors import InvalidInputError, NotFoundError, StoreBusyError, StoreError, UncertainError
from memoryd.model import Interaction, Workspace
from memoryd.settings import Settings
from memoryd.store.base import Queries, Store
from memoryd.store.postgres import pool, rows
from memoryd.store.postgres.connection import Connection
from memoryd.store.postgres.failures import TransientError, explained, is_refusal, refused_connection
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.postgres.server import ServerAddress
from memoryd.store.postgres.store import PostgresStore
from tests.clients import NO_MODELS, until
from tests.store.clusters import Cluster, ask, cluster, observed
from tests.store.journals import engine, journal, turn
from tests.store.kit import add, output, put, python, together, workspace

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture
def url(server: Cluster) -> str:
    return server.database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url)) as store:
        yield store


@pytest.fixture
def here() -> Workspace:
    return workspace()


def bodies(url: str) -> list[str]:
    return sorted(ask(url, "SELECT body FROM records"))


def connection_of(queries: Queries) -> psycopg.Connection[dict[str, object]]:
    assert isinstance(queries, PostgresQueries)
    return queries.connection


# unavailable ---------------------------------------------------------------------------------------------------------


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
        store.disconnect()
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
    def commit(_connection: object) -> None:
        raise RECEIVED

    def work(queries: Queries) -> None:
        add(queries, "perhaps")
        monkeypatch.setattr(psycopg.Connection, "commit", commit)

    with pytest.raises(UncertainError, match="unknown whether"):
        store.write(here, work)


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
    real, tries = psycopg.Connection.commit, list[int]()

    def commit(connection: psycopg.Connection[object]) -> None:
        if tries:
            monkeypatch.undo()
            ask(url, f"SELECT pg_terminate_backend({connection.info.backend_pid}, 5000)")
        real(connection)

    def work(queries: Queries) -> None:
        add(queries, "perhaps")
        tries.append(1)

    monkeypatch.setattr(psycopg.Connection, "commit", commit)
    with pytest.raises(UncertainError, match=r"lost during a commit .* unknown whether .* stored; check before you"):
        store.write(here, work)
    assert len(tries) == 1


def test_an_ignored_failure_of_a_statement_is_not_a_success(url: str, store: Store, here: Workspace) -> None:
    def work(queries: Queries) -> None:
        add(queries, "half")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection_of(queries).execute("SELECT 1 / 0")

    with pytest.raises(StoreError, match="Nothing was stored"):
        store.write(here, work)
    assert bodies(url) == []


# busy ----------------------------------------------------------------------------------------------------------------


def test_all_connections_are_in_use(url: str, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(PostgresStore(url, 1)) as store:
        store.placement.create(here)
        monkeypatch.setattr(pool, "WAIT", 0.05)
        with pytest.raises(StoreBusyError, match=r"were in use .* Nothing was stored by this call; try again"):
            store.read(here, lambda _: put(store, here, "more"))
        put(store, here, "now")
    assert bodies(url) == ["now"]


def test_a_statement_that_takes_too_long(server: Cluster, here: Workspace) -> None:
    with closing(PostgresStore(server.database(statement_timeout="300"))) as store:
        with pytest.raises(StoreBusyError, match=r"took too long .*statement timeout"):
            store.read(here, lambda q: connection_of(q).execute("SELECT pg_sleep(30)"))
        put(store, here, "kept")


def test_a_workspace_locked_by_another_process(server: Cluster, here: Workspace) -> None:
    url = server.database(lock_timeout="50")
    with closing(PostgresStore(url)) as store, closing(PostgresStore(url)) as other:
        put(store, here, "kept")

        def work(queries: Queries) -> None:
            with pytest.raises(StoreBusyError, match=r"kept .* locked too long"):
                put(other, here, "lost")
            add(queries, "kept too")

        store.write(here, work)
    assert bodies(url) == ["kept", "kept too"]


def test_statements_locks_and_idle_transactions_are_limited(store: Store, here: Workspace) -> None:
    def limits(queries: Queries) -> list[object]:
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        return [next(iter(connection_of(queries).execute(f"SHOW {name}")))[name] for name in names]

    assert store.read(here, limits) == ["2min", "30s", "5min"]


def test_a_deadlock_is_resolved_silently(server: Cluster) -> None:
    url = server.database(deadlock_timeout="50")
    places, barrier = [workspace("a"), workspace("b")], threading.Barrier(2)
    with closing(PostgresStore(url)) as store:
        store.placement.create(None)

        def work(number: int) -> None:
            first: list[int] = []

            def cross(queries: Queries) -> None:
                for key in (number, 1 - number):
                    connection_of(queries).execute("SELECT pg_advisory_xact_lock(%s)", (key,))
                    if not first:
                        first.append(1)
                        barrier.wait(30)
                add(queries, f"by {number}")

            store.write(places[number], cross)

        assert together(work, 2) == []
    assert bodies(url) == ["by 0", "by 1"]


# misconfigured -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda url: url.replace("@/", "@/no"), r'database "no.*" does not exist\).*Create it on the server'),
        (lambda url: url.replace("postgres@", "missing@"), r'role "missing" does not exist\).*Create it on the server'),
        (lambda url: url.replace("postgres@", "secretive:geheim@"), r"authentication failed.*Correct user.*PGPASSWORD"),
        (lambda url: url.replace("postgres@", "secretive@"), r"no password supplied\).*Put a password.*PGPASSWORD"),
        (lambda _: "postgresql://u:geheim@nowhere.invalid/x", r"nowhere.invalid.*Correct the host"),
        (lambda _: "postgresql://u:geheim@/?service=none", r"service none cannot .*pg_service.conf"),
        (lambda _: "postgresql://u:geheim@127.0.0.1:1/x", r"127.0.0.1:1/x.*refused.*Start the server"),
    ],
)
def test_a_failed_connection_is_explained_without_the_password(
    server: Cluster, url: str, change: Callable[[str], str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FAILOVER", 0)
    access, lines = server.data / "pg_hba.conf", "local all secretive scram-sha-256\n"
    if lines not in access.read_text():
        server.ask("CREATE ROLE secretive LOGIN PASSWORD 'other'")
        access.write_text(lines + access.read_text())
        server.ask("SELECT pg_reload_conf()")
    with closing(PostgresStore(change(url))) as store, pytest.raises(StoreError, match=expected) as caught:
        store.placement.exists()
    assert "geheim" not in str(caught.value) + store.place
    assert "Nothing was stored" in str(caught.value)


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        ('root certificate file "/root.crt" does not exist', "sslrootcert"),
        ('server certificate for "a" does not match host name "b"', "as its certificate does"),
        ("SSL error: certificate verify failed", "certificate of the server's authority"),
        ('service file "/services" not found', "PGSERVICEFILE"),
        ("server does not support SSL, but SSL was required", "change sslmode"),
        ("transaction blocks not allowed in statement pooling mode", "pool_mode = transaction"),
        ("unsupported startup parameter: options", "Remove it"),
        ('FATAL:  database "x" is not currently accepting connections', "ALLOW_CONNECTIONS true"),
        (
            'FATAL:  pg_hba.conf rejects connection for host "b", user "u", database "x"',
            "Allow this user from this machine",
        ),
    ],
)
def test_an_error_that_waiting_does_not_resolve_is_reported_at_once(reason: str, step: str) -> None:
    error = psycopg.OperationalError(f'connection to server at "a", port 5432 failed: {reason}\n')
    assert is_refusal(error)
    assert step in str(refused_connection({"a": error}, "a", ""))


def test_a_refusal_by_the_server_is_not_mistaken_for_a_lost_connection(server: Cluster, here: Workspace) -> None:
    url = server.database(temp_file_limit="0", work_mem="64kB")
    with closing(PostgresStore(url)) as store:
        store.placement.create(None)
        rows = "SELECT count(*) FROM (SELECT * FROM generate_series(1, 100000) ORDER BY random())"
        with pytest.raises(StoreError, match=r"has reached a limit .*temp_file_limit") as caught:
            store.read(here, lambda q: connection_of(q).execute(rows))
        assert not isinstance(caught.value, TransientError)
        ask(url, "CREATE FUNCTION frozen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'frozen'; END $$")
        ask(url, "CREATE TRIGGER frozen BEFORE INSERT ON records EXECUTE FUNCTION frozen()")
        with pytest.raises(StoreError, match=r"forbids this at .*\(frozen\).*Nothing was stored"):
            put(store, here, "text")


def test_an_invalid_url_is_not_repeated() -> None:
    with pytest.raises(InvalidInputError, match="MEMORY_DATABASE_URL is not a valid URL") as caught:
        PostgresStore("postgresql://user:ge heim@host/x")
    assert "heim" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_role_without_the_right_to_create_tables_gets_commands_for_an_operator(server: Cluster, url: str) -> None:
    server.ask("CREATE ROLE guest LOGIN")
    with closing(PostgresStore(url.replace("postgres@", "guest@"))) as store:
        with pytest.raises(StoreError, match=r"role guest may not create .*Nothing was changed") as caught:
            store.placement.create(None)
        commands = str(caught.value).partition("run there: ")[2]
        assert ask(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [0]
        ask(url, commands)
        put(store, workspace(), "kept")
    assert bodies(url) == ["kept"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("", "vector is not installed on the server"), ("0.7.4", "vector is available only as version 0.7.4")],
)
def test_a_server_without_a_recent_pgvector_is_refused(server: Cluster, url: str, version: str, expected: str) -> None:
    folder = (
        server.data.parent / f"share{version}"
    )  # readable for the server's account, whose data is in the same directory
    (folder / "extension").mkdir(parents=True)
    for name in ("btree_gin", "unaccent", *(["vector"] if version else [])):
        (folder / "extension" / f"{name}.control").write_text(f"default_version = '{version or '1.1'}'\n")
    ask(url, f"ALTER DATABASE {url.partition('@/')[2].partition('?')[0]} SET extension_control_path = '{folder}'")
    with closing(PostgresStore(url)) as store, pytest.raises(StoreError, match=f"{expected}.*Install pgvector 0.8 or"):
        store.placement.create(None)
    assert ask(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [0]


def test_a_schema_from_the_future_is_refused_untouched(url: str) -> None:
    ask(url, "CREATE TABLE schema_version (version INTEGER PRIMARY KEY)")
    ask(url, "INSERT INTO schema_version VALUES (99)")
    ask(url, "CREATE EXTENSION vector; CREATE EXTENSION btree_gin; CREATE EXTENSION unaccent")
    message = r"database at .*:\d+/.* has schema version 99.*not touched"
    with closing(PostgresStore(url)) as store, pytest.raises(StoreError, match=message):
        put(store, workspace(), "lost")
    assert ask(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == ["schema_version"]


def test_a_server_that_refuses_writes_can_be_read(
    server: Cluster, url: str, store: Store, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FAILOVER", 0)
    put(store, here, "kept")
    name = url.partition("@/")[2].partition("?")[0]
    with closing(PostgresStore(server.to(name, default_transaction_read_only="on"))) as replica:
        assert [row["number"] for row in replica.read(here, lambda q: q.all("doctor.owners"))] == [1]
        with pytest.raises(StoreError, match=r"is read-only.*Nothing was stored"):
            put(replica, here, "lost")
        assert any("does not accept writes" in problem for problem in replica.upkeep.problems(None))
    assert bodies(url) == ["kept"]


def test_read_only_creates_no_schema_and_writes_nothing(url: str, tmp_path: Path) -> None:
    environ = {"MEMORY_DATABASE_URL": url, "MEMORY_DATA_DIR": str(tmp_path), "MEMORY_READ_ONLY": "1", **NO_MODELS}
    with Engine(Settings.read(environ), fetch=False) as engine:
        with pytest.raises(NotFoundError, match="no database yet"):
            engine.workspace(make=False)
        with pytest.raises(StoreError, match="read-only"):
            put(engine.store, workspace(), "lost")
        assert ask(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [0]
        with closing(PostgresStore(url)) as other:
            put(other, workspace(), "kept")
        assert engine.workspaces.all() == []
        with pytest.raises(StoreError, match="is read-only"):
            put(engine.store, workspace(), "lost")
    assert bodies(url) == ["kept"]


# several processes ---------------------------------------------------------------------------------------------------

STORE = """
import sys
from contextlib import closing, suppress
from memoryd.core.records import records
from memoryd.model import Kind, Record, Workspace
from memoryd.store.postgres.store import PostgresStore
here = Workspace(id="0" * 36, name="here")
def put(store, text):
    record = Record(id=records.new_id(), body=text, kind=Kind.MEMORY)
    store.write(here, lambda q: records.add(q, record, None, "2026-03-04T05:06:07.000Z"))
def more(queries):
    body = queries.connection.execute("SELECT body FROM records WHERE id = 'counter'").fetchone()["body"]
    queries.connection.execute("UPDATE records SET body = %s WHERE id = 'counter'", (str(int(body) + 1),))
print("ready", flush=True)
sys.stdin.readline()
with closing(PostgresStore(sys.argv[1])) as store:
"""
ONCE = f"""{STORE}
    put(store, "one")
"""
COUNT = f"""{STORE}
    for _ in range(25):
        store.write(here, more)
"""
WRITE = f"""{STORE}
    for number in range(100_000):
        put(store, "text " + str(number))
        print("text " + str(number), flush=True)
"""


def begin(process: "subprocess.Popen[str]") -> None:
    """Wait until a process is loaded, and let it run."""
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


def test_ten_processes_that_start_at_once_create_one_schema(url: str) -> None:
    processes = [python(ONCE, url) for _ in range(10)]
    for process in processes:
        begin(process)
    for process in processes:
        output(process)
    assert bodies(url) == ["one"] * 10


def test_eight_processes_lose_no_update(url: str, store: Store) -> None:
    put(store, Workspace(id="0" * 36, name="here"), "0", id="counter")
    processes = [python(COUNT, url) for _ in range(8)]
    assert together(lambda number: begin(processes[number]), 8) == []
    for process in processes:
        output(process)
    assert bodies(url) == ["200"]


def test_acknowledged_writes_of_a_killed_writer_exist(url: str) -> None:
    process = python(WRITE, url)
    begin(process)
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(30)]
    process.kill()
    lines += process.communicate()[0].splitlines(keepends=True)
    acknowledged = {line.strip() for line in lines if line.endswith("\n")}
    assert len(acknowledged) >= 30
    assert acknowledged <= set(bodies(url))


def test_a_retry_does_not_replace_a_journal_from_a_used_iterator(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine(tmp_path, None, MEMORY_DATABASE_URL=url) as made:
        kept = journal(made)
        kept.put([turn(1)])

        def twice(_rows: object, _work: object, attempt: Callable[[], object]) -> object:
            with suppress(TransientError):
                attempt()
            return attempt()

        def conflicting() -> Iterator[Interaction]:
            yield turn(2)
            raise TransientError("another transaction came first")

        monkeypatch.setattr(rows.PostgresRows, "_repeated", twice)
        with pytest.raises(StoreBusyError, match="Nothing was changed"):
            kept.replace(conflicting(), None)
        assert [one.id for one in kept.of_session("s", 10, 0).page] == [turn(1).id]
