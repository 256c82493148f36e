"""What keeps the store tidy in the background."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memoryd.core.clock import timestamp
from memoryd.core.workspaces import Workspaces
from memoryd.model import Workspace
from memoryd.store.base import Store

TOMBSTONES = 100_000  # removals that an index in memory may lag behind before it loads anew


class Maintenance:
    """Purges what was deleted longer ago than the retention."""

    def __init__(self, store: Store, workspaces: Workspaces, retention_days: float) -> None:
        self._store = store
        self._workspaces = workspaces
        self._retention = timedelta(days=retention_days)

    def purge(self, stopping: Callable[[], bool]) -> None:
        """Remove rows, words and vectors for good, in every workspace."""
        before = timestamp(max(datetime.now(UTC) - self._retention, datetime(1970, 1, 1, tzinfo=UTC)))
        for workspace in self._workspaces.all():
            if workspace.status == "active" and not stopping():
                self._purge(workspace, before)

    def _purge(self, workspace: Workspace, before: str) -> None:
        if self._store.read(workspace, lambda q: q.one("records.purgeable", before=before)):
            self._store.write(workspace, lambda q: q.run("records.purge", before=before))
            self._store.write(workspace, lambda q: q.run("vectors.trim", keep=TOMBSTONES))
