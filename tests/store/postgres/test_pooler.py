"""A pooler in between: memoryd relies on no session, and returns idle connections."""

import shutil
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from memoryd.store.base import Queries
from memoryd.store.postgres.queries import PostgresQueries
from memoryd.store.postgres.store import PostgresStore
from tests.clients import database, until
from tests.store.clusters import ask
from tests.store.kit import put, together, words, workspace

pytestmark = pytest.mark.process

KEY = b"K\x00\x00\x00\x0c"
"""How the server's message with the id of the session's process begins."""
OURS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class _Relay(socketserver.BaseRequestHandler):
    """Relay between client and server; like a pooler, it names another process id than the server's."""

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.server.behind)  # type: ignore[attr-defined]
            back = threading.Thread(target=self._pass, args=(server, self.request, True), daemon=True)
            back.start()
            self._pass(self.request, server, False)
            back.join()

    def _pass(self, one: socket.socket, other: socket.socket, renamed: bool) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                at = data.find(KEY) + len(KEY)
                other.sendall(data[:at] + b"\x7f" + data[at + 1 :] if renamed and at >= len(KEY) else data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


class _Relays(socketserver.ThreadingTCPServer):
    daemon_threads = True
    behind: str


@pytest.fixture
def direct(postgres: str, tmp_path: Path) -> str:
    return database(postgres, tmp_path)


@pytest.fixture
def pooled(direct: str) -> Iterator[str]:
    """The URL of a database through a relay."""
    with _Relays(("127.0.0.1", 0), _Relay) as relay:
        relay.behind = f"{_socket(direct)}/.s.PGSQL.5432"
        threading.Thread(target=relay.serve_forever, args=(0.02,), daemon=True).start()
        yield f"postgresql://postgres@127.0.0.1:{relay.server_address[1]}{urlsplit(direct).path}"
        relay.shutdown()


def _socket(url: str) -> str:
    return parse_qs(urlsplit(url).query)["host"][0]


def settings(queries: Queries) -> list[object]:
    assert isinstance(queries, PostgresQueries)
    names = ("lock_timeout", "statement_timeout", "plan_cache_mode")
    return [next(iter(queries.connection.execute(f"SHOW {name}").fetchall()))[name] for name in names]


def test_a_pooler_gets_its_connection_back_after_each_transaction(direct: str, pooled: str) -> None:
    here = workspace()
    with closing(PostgresStore(pooled)) as store:
        put(store, here, "kept")
        assert words(store, here, "kept") == ["kept"]
        assert store.read(here, settings) == ["30s", "2min", "force_custom_plan"]
        until(lambda: ask(direct, OURS) == [0], "the end of the connections")
        assert store.changes(0.01) is store.changes(0.01) is None
        until(lambda: ask(direct, OURS) == [0], "the end of the connections, since there is no listener")


@pytest.mark.skipif(sys.platform != "linux", reason="these options of sockets are Linux's")
def test_a_machine_that_vanishes_is_noticed_by_the_socket(pooled: str) -> None:
    with (
        closing(PostgresStore(pooled)) as store,
        store.separate_connection() as connection,
        socket.socket(fileno=connection.fileno()) as open_socket,
    ):
        try:
            assert open_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
            assert open_socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert open_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 5
        finally:
            open_socket.detach()


# a real one ----------------------------------------------------------------------------------------------------------

PROGRAM = shutil.which("pgbouncer")
CONFIGURATION = """
[databases]
* = host={server} port=5432 user=postgres
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {home}
logfile = {home}/log
auth_type = any
pool_mode = {mode}
default_pool_size = 3
"""


@contextmanager
def pgbouncer(url: str, mode: str) -> Iterator[str]:
    """The URL of a database through pgbouncer, which does not run as root."""
    assert PROGRAM
    home = Path(tempfile.mkdtemp(prefix="memoryd-"))
    (home / "ini").write_text(CONFIGURATION.format(server=_socket(url), home=home, mode=mode))
    owner = Path(_socket(url)).stat().st_uid
    Path(_socket(url)).parent.chmod(0o711)  # its account may traverse it
    for path in (home, home / "ini"):
        shutil.chown(path, owner)
    with subprocess.Popen([PROGRAM, "-q", str(home / "ini")], user=owner, extra_groups=[]) as process:
        until((home / ".s.PGSQL.6432").exists, "pgbouncer")
        yield f"postgresql://postgres@{urlsplit(url).path}?host={home}&port=6432"
        process.terminate()
    shutil.rmtree(home)


@pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_two_processes_with_more_callers_than_connections(direct: str, mode: str) -> None:
    with pgbouncer(direct, mode) as url:
        with closing(PostgresStore(url)) as one, closing(PostgresStore(url)) as other:
            here = [workspace() for _ in range(8)]
            put(one, workspace(), "first")
            assert bool(one._pool._idle) is (mode == "transaction"), "only then can others use idle connections"

            def work(number: int) -> None:
                stores = (one, other) if number % 2 else (other, one)
                for text in range(10):
                    put(stores[0], here[number], f"text {text}")
                    assert len(words(stores[1], here[number], "text")) == text + 1

            assert together(work, 8) == []
        assert set(ask(url, "SELECT setting FROM pg_settings WHERE name = 'lock_timeout'")) == {"0"}
    assert ask(direct, "SELECT count(*) FROM records") == [81]
