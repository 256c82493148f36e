"""Helpers for tests of the journal: turns and summaries in one line, and engines that keep them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.model import Interaction, SessionSummary
from memoryd.settings import Settings
from memoryd.store.journal import JournalStore

BREAD = ("How do I bake bread?", "They want bread.", "Mix flour, water and yeast.")
CAR = ("The car does not start.", "It may be the battery.", "Charge the battery or replace it.")


def turn(number: int, session: str = "s", text: tuple[str, str, str] = BREAD, **fields: Any) -> Interaction:
    """Return a turn at the minute `number`."""
    now = f"2026-01-02T03:{number:02}:00.000Z"
    prompt, thought, response = text
    given = {"id": f"mem_{now}", "session_id": session, "created_at": now} | fields
    return Interaction(prompt=prompt, thought=thought, response=response, **given)


def summary(number: int, session: str, **fields: Any) -> SessionSummary:
    """Return a summary at the minute `number`."""
    given: dict[str, Any] = {
        "id": f"summary_{session}",
        "title": "Bread",
        "summary": "How bread is baked.",
        "category": "other",
        "memory_count": 1,
        "technologies": ("flour", "yeast"),
        "created_at": f"2026-01-02T03:{number:02}:00.000Z",
    } | fields
    return SessionSummary(session_id=session, **given)


def texts(kept: JournalStore, session: str = "s") -> list[str]:
    """Return the prompts of a session."""
    return [one.prompt for one in kept.of_session(session, 1_000, 0).page]


@contextmanager
def engine(home: Path, models: Path | None, **settings: str) -> Iterator[Engine]:
    """Return an engine with the loaded models of a directory, or without models."""
    around = {"MEMORY_MODEL_DIR": str(models)} if models else {"MEMORY_EMBEDDER": "none"}
    around |= {"MEMORY_DATA_DIR": str(home), "MEMORY_RERANKER": "none"} | settings
    with Engine(Settings.read(around), fetch=False) as made:
        made.helpers.embedder.start()
        made.helpers.embedder.get(60)
        yield made


def journal(made: Engine, workspace: str = "default") -> JournalStore:
    """Return the journal of a workspace."""
    return Journal(Scope(made, made.workspaces.ensure(workspace))).kept
