"""The first role of a store: transactions in which named statements read and write rows."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from memoryd.errors import StoreError, UncertainError
from memoryd.model import Workspace

T = TypeVar("T")
Row = dict[str, Any]

AFTER_EVERY_ID = "\U0010ffff"
"""A string that sorts after every id, and after every string that begins with an id."""


class Queries(Protocol):
    """The named statements of store/sql/ in one transaction. Each gets the id of its workspace as `:workspace`."""

    workspace_id: str
    """'' in the registry."""

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        """Return every row."""

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        """Return the first row, or None."""

    def run(self, name: str, /, **parameters: Any) -> None:
        """Change rows. An error may come with a later statement of the transaction, or at its end."""

    def changed(self, name: str, /, **parameters: Any) -> int:
        """Change rows; return how many."""

    def many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        """Run a statement once for each row of parameters."""


class Rows(Protocol):
    """Transactions. `workspace` None is the registry: the rows that belong to no workspace.

    Every method raises StoreError, or StoreBusyError if another process held the database for too long; the message
    names the cause and the next step.
    """

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` on one consistent snapshot and return its result."""

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction and return its result once it is durable. If `work` raises, nothing changes.

        Raise the error of `archived` if `Placement.archive` has marked the workspace, UncertainError if it is unknown
        whether the commit succeeded. `work` may run again after a conflict with another transaction.
        """

    def changes(self, wait: float) -> set[str] | None:
        """Wait up to `wait` seconds for a write of any process; return the ids of the workspaces, '' for the registry.

        None means that writes cannot be observed: the caller has to poll. Only one thread may call this.
        """


def closed() -> StoreError:
    """Return the error for every call after close()."""
    return StoreError("The store is closed.")


def uncertain(cause: str) -> UncertainError:
    """Return the error for a commit that failed after everything was written: a crash may still restore it."""
    return UncertainError(f"{cause}. It is unknown whether this was stored; check before you repeat it.")


def archived(workspace: Workspace) -> StoreError:
    """Return the error for a write to a workspace that was archived after the caller had looked it up."""
    return StoreError(
        f'project "{workspace.name}" was archived or deleted meanwhile. Nothing was stored by this call; '
        "restore it first, or switch to another project."
    )
