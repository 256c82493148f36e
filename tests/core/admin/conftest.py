"""A memory to store into, break and examine."""

import pytest

from memoryd.core.admin import doctor
from memoryd.core.admin.doctor import Diagnosis, Doctor, Finding
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.settings import Settings
from tests.clients import NO_MODELS


class Patient:
    """A memory with these settings."""

    def __init__(self, **settings: str) -> None:
        self.settings = Settings.read(NO_MODELS | settings)
        self.steps: list[tuple[str, float]] = []

    def store(self, *texts: str, workspace: str = "default") -> None:
        with Engine(self.settings, fetch=False) as engine:
            memories = Memories(Scope(engine, engine.workspaces.ensure(workspace)))
            engine.helpers.embedder.start()
            engine.helpers.embedder.get(60)
            for text in texts:
                memories.store(text)

    def examine(self) -> Diagnosis:
        with Engine(self.settings, fetch=False) as engine:
            return Doctor(engine, lambda *step: self.steps.append(step)).examine()

    def finding(self) -> Finding:
        """Return the only finding."""
        (finding,) = self.examine().findings
        return finding

    def repair(self) -> list[Finding]:
        """Return the findings that remain after a repair."""
        with Engine(self.settings, fetch=False) as engine:
            examiner = Doctor(engine, lambda *step: self.steps.append(step))
            examiner.examine()
            examiner.repair()
            return examiner.examine().findings


@pytest.fixture(autouse=True)
def _no_slips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "current", dict)
