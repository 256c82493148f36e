"""Fixtures of the core's tests."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest

from memoryd.core.base import clock
from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from tests.core.exports_kit import opened
from tests.core.kit import Ollama, ollama, with_ollama


@pytest.fixture
def server() -> Iterator[Ollama]:
    with ollama() as server:
        yield server


@pytest.fixture
def embedded(tmp_path: Path, server: Ollama) -> Iterator[Graph]:
    """A graph whose model is loaded, and makes vectors of a text's words; unrelated texts have cosines near 0."""
    with with_ollama(tmp_path, server) as here:
        yield Graph(Scope(here, here.workspaces.ensure("default")))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets the clocks of this process ahead by a number of seconds."""

    class Ahead(datetime):
        passed = timedelta(0)

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + cls.passed

    def pass_by(seconds: float) -> None:
        Ahead.passed += timedelta(seconds=seconds)

    monkeypatch.setattr(clock, "datetime", Ahead)
    return pass_by


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
