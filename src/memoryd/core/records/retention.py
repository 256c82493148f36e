"""What keeps the store tidy in the background."""

from collections.abc import Callable
from datetime import timedelta

from memoryd.core.base.clock import Clock
from memoryd.core.base.leases import Leases
from memoryd.core.workspaces.registry import Workspaces, going_on
from memoryd.model import Workspace
from memoryd.store.base import Queries, Store

PURGEABLE = ("records.purgeable", "relations.purgeable", "versions.purgeable")
FOREVER_DAYS = 365_000  # a longer retention would lead back before the calendar


class Upkeep:
    """Purges what was deleted longer ago than the retention, and finishes what archiving left undone."""

    def __init__(
        self, store: Store, workspaces: Workspaces, clock: Clock, leases: Leases, retention_days: float
    ) -> None:
        self._store = store
        self._leases = leases
        self._clock = clock
        self._workspaces = workspaces
        self._retention = timedelta(days=min(retention_days, FOREVER_DAYS))

    def settle(self, _stopping: Callable[[], bool]) -> None:
        """Put away archived workspaces whose files were in use, or whose process was killed over it."""
        self._workspaces.settle()

    def tend(self, stopping: Callable[[], bool]) -> None:
        """Keep the indexes of every workspace as searches want them."""
        for workspace in self._workspaces.all("active"):
            if not stopping():
                with going_on(workspace):
                    self._store.upkeep.tend(workspace)

    def purge(self, stopping: Callable[[], bool]) -> None:
        """Remove rows, words and vectors for good, in every workspace."""
        for workspace in self._workspaces.all("active"):
            if not stopping():
                with going_on(workspace):
                    self.purge_workspace(workspace)

    def purge_workspace(self, workspace: Workspace) -> None:
        """Remove rows, words and vectors of one workspace for good, unless another process is about it."""
        before = self._clock.ago(self._retention)
        if self._store.read(workspace, lambda q: _purgeable(q, before)):
            with self._leases.alone(f"purge {workspace.id}") as mine:
                if mine:
                    self._store.write(workspace, lambda q: _remove(q, before))


def _purgeable(queries: Queries, before: str) -> bool:
    return any(queries.one(statement, before=before) for statement in PURGEABLE)


def _remove(queries: Queries, before: str) -> None:
    """Rows and words or neither: once the rows are gone, nothing would tell that their words are still in the file."""
    queries.run("relations.purge", before=before)
    queries.run("versions.purge", before=before)
    if queries.run("records.purge", before=before):
        queries.run("words.optimize")
