"""The third role of a store: the placement of workspaces, and their archiving and deletion.

An engine with one database for all workspaces has little to do here: `db_path` is '', and archiving only sets the mark
that makes every later write fail.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from memoryd.model import Workspace
from memoryd.store.base.rows import Queries


class Placement(Protocol):
    """The files, or whatever else an engine keeps workspaces in. `workspace` None is the registry.

    Methods with a parameter `registry` run inside one of its write transactions, so no two processes archive, restore
    or delete at the same time. Each can be repeated after a crash. Every method raises StoreError, as in `Rows`.
    """

    home: str
    """The `db_path` of a workspace that is created on first use."""

    def own_path(self, workspace_id: str) -> str:
        """Return the `db_path` of a new workspace with a separate file; '' if all share one database."""

    def path(self, workspace: Workspace | None) -> Path | None:
        """Return the file of a workspace, which need not exist yet; None if the workspace is on a server."""

    def strays(self, workspaces: Sequence[Workspace]) -> list[Path]:
        """Return the files of workspaces that are not among `workspaces`, the rows of the registry."""

    def exists(self) -> bool:
        """Return whether anything was ever stored; raise StoreError if the registry is lost but workspaces exist."""

    def create(self, workspace: Workspace | None) -> None:
        """Create the database of a workspace or the registry if it does not exist. No other method creates one.

        Call it only for new workspaces: for any other, a missing file is a loss and must be an error.
        """

    def archive(self, registry: Queries, workspace: Workspace) -> str:
        """Mark a workspace, so that later writes to it fail, and move its file to the archive unless it is in use.

        Return the new `db_path`. A workspace whose file is lost stays unchanged.
        """

    def is_archived(self, workspace: Workspace) -> bool:
        """Return whether `archive` has nothing left to do."""

    def restore(self, registry: Queries, workspace: Workspace) -> str:
        """Undo `archive`; return the `db_path`. Raise StoreBusyError while the archived file is being read."""

    def empty(self, workspace: Workspace) -> None:
        """Delete the rows of a workspace that shares its database, in small transactions, so that others can write.

        Call it between `archive` and `erase`, outside of any transaction.
        """

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Permanently delete the rest of an archived workspace; its mark stays, so that writes keep failing."""
