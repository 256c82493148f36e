"""Calls when Postgres is unavailable, busy, misconfigured or killed, with real servers and real processes."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from memoryd.core.engine import Engine
from memoryd.errors import NotFoundError, StoreBusyError, StoreError
from memoryd.model import Interaction, Workspace
from memoryd.settings import Settings
from memoryd.store.base import Queries, Store
from memoryd.store.postgres import pool, rows
from memoryd.store.postgres.failures import TransientError, is_refusal, refused_connection
from memoryd.store.postgres.store import PostgresStore
from tests.clients import NO_MODELS
from tests.store.clusters import Cluster, ask, bodies, connection_of
from tests.store.journals import engine, journal, turn
from tests.store.kit import add, output, put, python, together, workspace

pytestmark = [pytest.mark.process, pytest.mark.slow]


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

        def twice(_rows: object, work: object, attempt: Callable[[object], object]) -> object:
            with suppress(TransientError):
                attempt(work)
            return attempt(work)

        def conflicting() -> Iterator[Interaction]:
            yield turn(2)
            raise TransientError("another transaction came first")

        monkeypatch.setattr(rows.PostgresRows, "_repeated", twice)
        with pytest.raises(StoreBusyError, match="Nothing was changed"):
            kept.replace(conflicting(), None)
        assert [one.id for one in kept.of_session("s", 10, 0).page] == [turn(1).id]
