"""Background work on the store: purging after the retention, unfinished archiving, indexes."""

import logging
from collections.abc import Callable
from datetime import timedelta

from memoryd.core.base.clock import Clock, moment, timestamp
from memoryd.core.base.leases import Leases
from memoryd.core.workspaces.registry import Workspaces, going_on
from memoryd.model import Workspace
from memoryd.store.base import Queries, Store

log = logging.getLogger(__name__)
PURGEABLE = ("records.purgeable", "relations.purgeable", "versions.purgeable")
WITNESSED = timedelta(days=1)  # how long a clock must have shown such a time before deleted records are purged by it
FOREVER_DAYS = 365_000  # a longer retention would reach back before the year 1


class Retention:
    """The work that purges what was deleted longer ago than the retention, and finishes interrupted archiving."""

    def __init__(
        self, store: Store, workspaces: Workspaces, clock: Clock, leases: Leases, retention_days: float
    ) -> None:
        self._store = store
        self._leases = leases
        self._clock = clock
        self._workspaces = workspaces
        self._retention = timedelta(days=min(retention_days, FOREVER_DAYS))

    def settle(self, _stopping: Callable[[], bool]) -> None:
        """Move the files of archived workspaces that were in use at that time, or whose process was killed."""
        self._workspaces.settle()

    def tend(self, stopping: Callable[[], bool]) -> None:
        """Maintain the search indexes of every workspace."""
        for workspace in self._workspaces.all("active"):
            if not stopping():
                with going_on(workspace):
                    self._store.upkeep.tend(workspace)

    def purge(self, stopping: Callable[[], bool]) -> None:
        """Purge every workspace, as `purge_workspace` does."""
        for workspace in self._workspaces.all("active"):
            if not stopping():
                with going_on(workspace):
                    self.purge_workspace(workspace)

    def purge_workspace(self, workspace: Workspace) -> None:
        """Delete expired rows, words and vectors of one workspace permanently, unless another process is doing so."""
        expired = self._clock.ago(self._retention)
        some = self._store.read(workspace, lambda q: any(q.one(statement, before=expired) for statement in PURGEABLE))
        if some and (before := self._before(workspace)):
            with self._leases.alone(f"purge {workspace.id}") as mine:
                purged = self._store.write(workspace, lambda q: _remove(q, before)) if mine else 0
            if purged:
                log.info("purged %d record(s) of %s that were deleted until %s", purged, workspace.name, before)

    def _before(self, workspace: Workspace) -> str | None:
        """Return the time before which deleted records are purged, or None if nothing is to be purged now.

        The retention counts back from an earlier call, at least WITNESSED ago: if a clock that has jumped years ahead
        is corrected within that time, nothing is lost. A retention shorter than that counts back from now.
        """
        if self._retention < WITNESSED:
            return self._clock.ago(self._retention)
        seen = self._leases.seen_before(f"purge of {workspace.id}", WITNESSED)
        return timestamp(moment(seen) - self._retention) if seen else None


def _remove(queries: Queries, before: str) -> int:
    """Delete rows and words in one transaction, and return the number of records.

    Without the rows, leftover words could not be found.
    """
    queries.run("relations.purge", before=before)
    queries.run("versions.purge", before=before)
    purged = queries.changed("records.purge", before=before)
    if purged:
        queries.run("words.optimize")
    return purged
