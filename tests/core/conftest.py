"""Fixtures of the core's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from tests.core.exports_kit import opened
from tests.core.kit import Ollama, ollama


@pytest.fixture
def server() -> Iterator[Ollama]:
    with ollama() as server:
        yield server


# files of whole workspaces -------------------------------------------------------------------------------------------


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with opened(home) as made:
        yield made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Engine]:
    with opened(tmp_path / "other") as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "all.jsonl"
