"""Machines that share a repository."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.features.sync.kit import Clone, Machine, repository

Opened = Callable[..., Machine]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return repository(tmp_path / "shared.git")


@pytest.fixture
def open_machine(tmp_path: Path, shared: Path) -> Iterator[Opened]:
    """Return what opens a machine by its name, on a repository and with a branch of its own if given."""
    machines = list[Machine]()

    def opened(name: str, url: Path | str = shared, branch: str = "") -> Machine:
        machines.append(Machine(tmp_path / name, url, branch))
        return machines[-1]

    yield opened
    for machine in machines:
        machine.engine.close()


@pytest.fixture
def pair(open_machine: Opened) -> tuple[Machine, Machine]:
    return open_machine("one"), open_machine("two")


@pytest.fixture
def clone(tmp_path: Path, shared: Path) -> Clone:
    """A person's clone of the repository."""
    return Clone(tmp_path / "clone", shared)
