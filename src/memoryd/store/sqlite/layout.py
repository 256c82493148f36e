"""The layout of SQLite files: which file contains a workspace.

A data directory has `_meta.db` (the registry), `memory.db` (workspaces created on first use), and for each workspace
created by name `projects/{id}.db`, which is in `archive/` while the workspace is archived. A single file contains the
registry and all workspaces. The schema is the same everywhere.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from memoryd import private
from memoryd.model import Workspace

REGISTRY, PROJECTS, ARCHIVE = "_meta.db", "projects", "archive"
LOG = "-wal"
"""The suffix of a write-ahead log."""
BESIDE = ("", LOG, "-shm", "-journal")
"""The suffixes of a database's files: its own, and those that SQLite may add."""


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """Several files in one directory."""

    root: Path

    def path(self, workspace: Workspace | None) -> Path:
        """Return the file of a workspace, or of the registry if None. Another process may have just moved it."""
        named = self.root / (workspace.db_path if workspace and workspace.db_path else REGISTRY)
        if workspace and (pair := self.pair(workspace)) and not named.exists():
            return next((place for place in pair if place.exists()), named)
        return named

    def pair(self, workspace: Workspace) -> tuple[Path, Path] | None:
        """Return the paths of a workspace's file, active and archived; None if it shares its file with others."""
        folder, _, name = workspace.db_path.partition("/")
        return (self.root / PROJECTS / name, self.root / ARCHIVE / name) if folder in (PROJECTS, ARCHIVE) else None

    def db_path(self, workspace: Workspace) -> str:
        """Return the `db_path` of a workspace, according to the present place of its file."""
        return self.path(workspace).relative_to(self.root).as_posix()

    def close_to_others(self) -> None:
        """Make the directory unreadable for other users of the machine."""
        private.close(self.root)

    def exposed(self) -> list[Path]:
        """Return the files in the directory that other users can read."""
        return private.exposed(self.root)

    def at_rest(self, path: Path) -> bool:
        """Return whether this is the file of an archived workspace."""
        return path.parent == self.root / ARCHIVE

    def home(self) -> str:
        """Return the `db_path` of a workspace that is created on first use."""
        return "memory.db"

    def own_path(self, workspace_id: str) -> str:
        """Return the `db_path` of a workspace with a separate file."""
        return f"{PROJECTS}/{workspace_id}.db"

    def others(self) -> list[Path]:
        """Return the existing files of workspaces."""
        return [path for path in (self.root / self.home(), *self.own_files()) if path.exists()]

    def own_files(self) -> list[Path]:
        """Return the separate files of workspaces."""
        return sorted(path for folder in (PROJECTS, ARCHIVE) for path in self.root.glob(f"{folder}/*.db"))

    def every_file(self) -> list[Path]:
        """Return every file that may contain texts: exports and backups too, but no models."""
        models = self.root / "models"
        return sorted(path for path in self.root.rglob("*") if path.is_file() and models not in path.parents)


@dataclass(frozen=True, slots=True)
class SingleFile:
    """Everything in one file: each `db_path` is '', which means this file, and no workspace has a separate one."""

    file: Path

    def path(self, _workspace: Workspace | None) -> Path:
        return self.file

    def pair(self, _workspace: Workspace) -> tuple[Path, Path] | None:
        return None

    def db_path(self, _workspace: Workspace) -> str:
        return ""

    def close_to_others(self) -> None:
        """Make the file unreadable for users who cannot write it; leave its directory unchanged."""
        private.close_file(self._parts())

    def exposed(self) -> list[Path]:
        """Return the files that all other users can read."""
        return private.exposed_file(self._parts())

    def _parts(self) -> list[Path]:
        real = Path(os.path.realpath(self.file))
        return [real.with_name(real.name + end) for end in BESIDE]

    def at_rest(self, _path: Path) -> bool:
        return False

    def home(self) -> str:
        return ""

    def own_path(self, _workspace_id: str) -> str:
        return ""

    def others(self) -> list[Path]:
        return []

    def own_files(self) -> list[Path]:
        return []

    def every_file(self) -> list[Path]:
        """Return the file and those that SQLite adds to it: other files in the directory may not be memoryd's."""
        return [path for path in self._parts() if path.is_file()]


Layout = DataDirectory | SingleFile


def remove(database: Path) -> None:
    """Delete a database and the files that SQLite adds to it."""
    for end in BESIDE:  # the database first: without its log it would lose writes
        database.with_name(database.name + end).unlink(missing_ok=True)
