"""Engines for each place where SQLite can keep a workspace, and its files; the killed processes import it too."""

from pathlib import Path

from memoryd.core.engine import Engine
from memoryd.model import Workspace
from memoryd.settings import Settings
from tests.core.kit import NONE, memories

PLACES = ["own file", "shared file", "single file"]


def opened(home: Path, place: str) -> Engine:
    single = {"MEMORY_DB_PATH": str(home / "all.db")} if place == "single file" else {}
    return Engine(Settings.read({"MEMORY_DATA_DIR": str(home), **NONE, **single}), fetch=False)


def texts(engine: Engine, name: str) -> list[str]:
    return [hit.record.body for hit in memories(engine, name=name).recent(100_000)]


def leftovers(home: Path, workspace: Workspace) -> list[str]:
    """Return the files of a workspace, as paths below the data directory."""
    return sorted(path.relative_to(home).as_posix() for path in home.rglob(f"{workspace.id}*"))
