"""Servers of Postgres that a test may stop, kill and start again, and databases on them."""

import itertools
import os
import shutil
import signal
import tempfile
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from memoryd.store.postgres.managed_server import ManagedServer
from tests.clients import until

_numbers = itertools.count()


class Cluster:
    """One server of our own."""

    def __init__(self, directory: Path) -> None:
        self.server = ManagedServer(directory)
        self.data = directory / "postgres"
        self.start()

    def start(self) -> None:
        self.url = self.server.url()

    def pid(self) -> int:
        running = self.server._running()
        return running.pid if running else 0

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it, cleanly or not, and wait until it is gone."""
        if pid := self.pid():
            os.kill(pid, number)
        until(lambda: not self.pid(), "the end of Postgres")

    def database(self, **options: str) -> str:
        """The URL of a new database, with run-time options of its connections."""
        name = f"fault_{os.getpid()}_{next(_numbers)}"
        self.ask(f"CREATE DATABASE {name}")
        return self.to(name, **options)

    def to(self, name: str, **options: str) -> str:
        given = urllib.parse.quote(" ".join(f"-c {key}={value}" for key, value in options.items()))
        return self.url.replace("@/postgres?", f"@/{name}?") + (f"&options={given}" if given else "")

    def ask(self, statement: str, url: str = "") -> list[Any]:
        return ask(url or self.url, statement)


def ask(url: str, statement: str) -> list[Any]:
    """The first column of what a statement gives, by a connection of our own."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return [row[0] for row in cursor.fetchall()] if cursor.description else []


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Not below pytest's directory: another run of pytest closes that to the account of the server."""
    directory = Path(tempfile.mkdtemp(prefix="memoryd-"))
    made = Cluster(directory)
    made.ask("ALTER SYSTEM SET fsync = off")  # processes are killed here, no machines
    made.ask("SELECT pg_reload_conf()")
    with closing(made.server):
        yield made
        made.stop(signal.SIGQUIT)
    shutil.rmtree(directory)
