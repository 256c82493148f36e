"""The fourth role of a store: checks and repairs for `memoryd doctor`, and maintenance in the background."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from memoryd.model import Workspace


class StoredFile(NamedTuple):
    """A file, or the database of a server, that is checked separately."""

    name: str
    size: int
    """Bytes."""
    inside: Workspace | None
    """One of the workspaces in it, or None for the registry."""


class Upkeep(Protocol):
    """Checks and repairs. `workspace` None is the registry. Every method raises StoreError, as in `Rows`."""

    def describe(self) -> str:
        """Return the product, its version and its place, for people; never a password."""

    def files(self, workspaces: Iterable[Workspace | None]) -> list[StoredFile]:
        """Return the files or databases that contain some workspaces, each once."""

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Check the file of a workspace; return what is wrong or could not be checked, each with a remedy."""

    def reindex(self, workspace: Workspace | None) -> None:
        """Rebuild what is derived from the rows of a file: words, or broken indexes."""

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        """Return how many stored vectors are unusable; `dims` has the dimension of each model's vectors.

        With `drop`, delete them, so that their records are embedded again; if one chunk of a record is bad, all are
        deleted.
        """

    def scrub(self, workspace: Workspace) -> list[Path]:
        """Remove what deletions have left outside the rows of a workspace, such as in a log.

        Return the files that could still contain any of it; none if a server keeps them.
        """

    def tend(self, workspace: Workspace) -> None:
        """Maintain the search indexes of a workspace. This may take minutes; others can write in the meantime."""
