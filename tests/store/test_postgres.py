"""The storage suite on Postgres."""

from pathlib import Path

import pytest

from memoryd.store.base import Store
from memoryd.store.postgres import PostgresStore
from tests.clients import database
from tests.store.test_storage import Storage


class TestPostgres(Storage):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def open(self, place: Path) -> Store:
        return PostgresStore(database(self.server, place))
