"""Servers of Postgres that a test may stop, kill and start again, and databases on them."""

import itertools
import os
import shutil
import signal
import tempfile
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib import import_module  # the quick tests have no managed server
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from memoryd.errors import StoreError
from memoryd.store.base import Queries
from memoryd.store.postgres import failures, pool
from memoryd.store.postgres.queries import PostgresQueries
from tests import places
from tests.clients import until

_numbers = itertools.count()


class Cluster:
    """A test server, reached by its socket or by TCP at an address of this machine."""

    def __init__(self, directory: Path, address: str = "") -> None:
        managed = import_module("memoryd.store.postgres.managed_server")
        self.server = managed.ManagedServer(directory)
        self.data = directory / "postgres"
        with patch.dict(managed.OPTIONS, listen_addresses=address):
            self.start()
        self.host = address or str(self.server._socket_directory())

    def start(self) -> None:
        self.url: str = self.server.url()

    def pid(self) -> int:
        running = self.server._running()
        return running.pid if running else 0

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop the server, cleanly or not, and wait until it is gone."""
        if pid := self.pid():
            os.kill(pid, number)
        until(lambda: not self.pid(), "the end of Postgres")

    def freeze(self) -> None:
        """Suspend the processes: the machine still accepts connections, but does not answer."""
        server = psutil.Process(self.pid())
        server.suspend()  # first, so that it starts no process that would be missed
        until(lambda: server.status() == psutil.STATUS_STOPPED, "the server to stop")
        for process in server.children():
            with suppress(psutil.NoSuchProcess):  # a worker of Postgres ended on its own
                process.suspend()

    def thaw(self) -> None:
        server = psutil.Process(self.pid())
        for process in (server, *server.children()):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def standby(self, directory: Path) -> "Cluster":
        """Return a standby of this server."""
        data = directory / "postgres"
        data.mkdir(mode=0o700)
        owner = self.data.stat().st_uid
        os.chown(data, owner, -1)
        source = f"{self.url.replace('@/postgres?', '@/?')}&application_name=standby"
        command = ("pg_basebackup", "-d", source, "-D", str(data), "--write-recovery-conf", "--checkpoint=fast")
        done = self.server._run(*command, owner=owner, data=data)
        assert done.returncode == 0, done.stdout
        return Cluster(directory)

    def promote(self) -> None:
        self.ask("SELECT pg_promote(wait => false)")  # a waiting call has a snapshot, for which the replay may wait
        until(lambda: self.ask("SELECT pg_is_in_recovery()") == [False], "the promotion")

    def database(self, **options: str) -> str:
        """Return the URL of a new database, with run-time options of its connections."""
        name = f"fault_{os.getpid()}_{next(_numbers)}"
        self.ask(f"CREATE DATABASE {name}")
        return self.to(name, **options)

    def to(self, name: str, **options: str) -> str:
        given = urllib.parse.quote(" ".join(f"-c {key}={value}" for key, value in options.items()))
        return self.url.replace("@/postgres?", f"@/{name}?") + (f"&options={given}" if given else "")

    def ask(self, statement: str, url: str = "") -> list[Any]:
        return ask(url or self.url, statement)


def ask(url: str, statement: str) -> list[Any]:
    """Return the first column of a statement's result, through a separate connection."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return [row[0] for row in cursor.fetchall()] if cursor.description else []


def bodies(url: str) -> list[str]:
    return sorted(ask(url, "SELECT body FROM records"))


def connection_of(queries: Queries) -> psycopg.Connection[dict[str, object]]:
    assert isinstance(queries, PostgresQueries)
    return queries.connection


def of_several(*clusters: Cluster, name: str = "postgres", **parameters: str) -> str:
    """Return the URL of a database on several servers that replace each other."""
    every = ",".join(one.host for one in clusters)
    return f"postgresql://postgres@/{name}?{urllib.parse.urlencode({'host': every, **parameters})}"


def observed(monkeypatch: pytest.MonkeyPatch) -> list[StoreError]:
    """Return the list of refusals of writes by servers that are read-only, which grows; they are repeated fast."""
    refused: list[StoreError] = []

    def init(error: failures.StandbyError, message: str) -> None:
        super(failures.StandbyError, error).__init__(message)
        refused.append(error)

    monkeypatch.setattr(failures.StandbyError, "__init__", init, raising=False)
    monkeypatch.setattr(pool, "PAUSES", ())
    monkeypatch.setattr(pool, "AGAIN", 0.02)
    return refused


@contextmanager
def replicated(address: str = "") -> Iterator[tuple[Cluster, Cluster]]:
    """A primary, which may be reached by TCP, and a standby, for which commits wait."""
    with cluster(address) as primary:
        directory = Path(tempfile.mkdtemp(prefix="memoryd-", dir=places.for_databases()))
        standby = primary.standby(directory)
        with closing(standby.server):
            primary.ask("ALTER SYSTEM SET synchronous_standby_names = standby")
            primary.ask("SELECT pg_reload_conf()")
            following = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
            until(lambda: primary.ask(following), "the standby")
            yield primary, standby
            standby.stop(signal.SIGQUIT)
        shutil.rmtree(directory)


@contextmanager
def cluster(address: str = "") -> Iterator[Cluster]:
    directory = Path(tempfile.mkdtemp(prefix="memoryd-", dir=places.for_databases()))
    made = Cluster(directory, address)
    made.ask("ALTER SYSTEM SET fsync = off")  # processes are killed here, not machines
    made.ask("SELECT pg_reload_conf()")
    with closing(made.server):
        yield made
        made.stop(signal.SIGQUIT)
    shutil.rmtree(directory)
