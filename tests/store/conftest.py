"""Fixtures for the tests of SQLite: a store in one file, and a workspace in it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoryd.model import Workspace
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import made, workspace


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def here() -> Workspace:
    return workspace()


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    with closing(made(SingleFile(file), "normal")) as store:
        yield store
