"""Two machines that share a repository."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.sync.kit import Machine, repository


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return repository(tmp_path / "shared.git")


@pytest.fixture
def pair(tmp_path: Path, shared: Path) -> Iterator[tuple[Machine, Machine]]:
    one, two = (Machine(tmp_path / name, shared) for name in ("one", "two"))
    yield one, two
    for machine in (one, two):
        machine.engine.close()
