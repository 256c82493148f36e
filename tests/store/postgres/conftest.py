"""Fixtures for the tests of Postgres: a database, and a store in it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoryd.store.postgres.store import PostgresStore
from tests.clients import database


@pytest.fixture
def url(postgres: str, tmp_path: Path) -> str:
    return database(postgres, tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url)) as store:
        yield store
