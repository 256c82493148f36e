"""Placement: which SQLite file holds a workspace.

A data directory has `_meta.db` (the registry), `memory.db` (workspaces made on first use) and `projects/{id}.db`.
With a single file, that file holds the registry and all workspaces. The schema is the same everywhere.
"""

from dataclasses import dataclass
from pathlib import Path

from memoryd.model import Workspace


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """Several files under one directory."""

    root: Path

    def path(self, workspace: Workspace | None) -> Path:
        """The file of a workspace; None is the registry."""
        return self.root / (workspace.db_path if workspace and workspace.db_path else "_meta.db")

    def home(self) -> str:
        """The `db_path` of a workspace that is made on first use."""
        return "memory.db"

    def others(self) -> list[Path]:
        """The files of workspaces that are there."""
        return [path for path in (self.root / self.home(), *self.root.glob("projects/*.db")) if path.exists()]


@dataclass(frozen=True, slots=True)
class SingleFile:
    """Everything in one file."""

    file: Path

    def path(self, _workspace: Workspace | None) -> Path:
        """The one file."""
        return self.file

    def home(self) -> str:
        """The `db_path` of a workspace that is made on first use: '' means this file."""
        return ""

    def others(self) -> list[Path]:
        """No more files than the one."""
        return []


Files = DataDirectory | SingleFile
