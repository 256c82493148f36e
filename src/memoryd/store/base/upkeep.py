"""The fourth role of a store: what `memoryd doctor` checks and repairs, and what the background work keeps in shape."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from memoryd.model import Workspace


class StoredFile(NamedTuple):
    """A file, or the database of a server, that is checked by itself."""

    name: str
    size: int
    """Bytes."""
    inside: Workspace | None
    """One of the workspaces in it; None is the registry."""


class Upkeep(Protocol):
    """Checks and repairs. `workspace` None is the registry. Every method raises StoreError, as in `Rows`."""

    def describe(self) -> str:
        """Return the product, its version and where it is, for people; never a password."""

    def files(self, workspaces: Iterable[Workspace | None]) -> list[StoredFile]:
        """Return the files or databases that hold some workspaces, each once."""

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Check the file that holds a workspace; return what is wrong or could not be checked, each with what to do."""

    def reindex(self, workspace: Workspace | None) -> None:
        """Rebuild what a file derives from its rows: words, or broken indexes."""

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        """Return how many stored vectors are unusable; `dims` has the dimension of each model's vectors.

        With `drop` they are deleted, so that their records are embedded again; one bad chunk costs a record all of its.
        """

    def scrub(self, workspace: Workspace) -> list[Path]:
        """Let go of what deletions have left beside the rows of a workspace, such as a log.

        Return the files in which anything of it could be; none where a server keeps them.
        """

    def tend(self, workspace: Workspace) -> None:
        """Keep the indexes fit for the searches of a workspace. May take minutes; others can write meanwhile."""
