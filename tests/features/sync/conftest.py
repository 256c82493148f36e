"""Machines that share a repository."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.features.sync.kit import Clone, Machine, repository

Opened = Callable[..., Machine]


@pytest.fixture(autouse=True)
def _no_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have git not look after each command whether there is something to collect: that takes a tenth of all time."""
    off = {"gc.auto": "0", "maintenance.auto": "false", "receive.autogc": "false"}
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(off)))
    for number, (name, value) in enumerate(off.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)


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
