"""What changes among the memories with a key, whichever process did it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoryd.core.base.clock import FOREVER, Clock
from memoryd.errors import MemorydError
from memoryd.model import Workspace
from memoryd.store.base import Queries, Row, Store

PAUSE = 0.5  # seconds between looks, where the store cannot tell of changes by itself
MANY = 500  # events of one look

Where = Callable[[], Workspace | None]


@dataclass(frozen=True, slots=True)
class Changed:
    """What happened since the last time."""

    listed: bool
    """Whether there are others than before."""
    keys: tuple[tuple[str, str], ...] = ()
    """(scope, key) of what is new, other or gone."""
    unknown: bool = False
    """Whether any other may be as well: nothing is left of it that would tell which it was, or all are others."""


class Changes:
    """Tells those who watch. Begins to look when somebody does."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._watchers: list[Watcher] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, where: Where, heard: Callable[[Changed], None]) -> Callable[[], None]:
        """Call `heard`, from a thread of its own, with what changes from now on in the workspace that `where` names.

        Returns what ends it.
        """
        watcher = Watcher(self._store, where, heard, self._clock.now())
        with self._lock:
            self._watchers.append(watcher)
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="memoryd-changes", daemon=True)
                self._thread.start()

        def end() -> None:
            with self._lock:
                self._watchers.remove(watcher)

        return end

    def _run(self) -> None:
        told: set[str] | None = None
        while not self._stopping.is_set():
            with self._lock:
                watchers = list(self._watchers)
            for watcher in watchers:
                watcher.look(told)
            told = self._store.changes(PAUSE)

    def stop(self, wait: float) -> None:
        """Look no more."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(wait)


class Watcher:
    """How far one who watches has come."""

    def __init__(self, store: Store, where: Where, heard: Callable[[Changed], None], since: str) -> None:
        self._store = store
        self._where = where
        self._heard = heard
        self._since = since
        self._place: str | None = None
        self._seq = 0
        self._looked = False
        self._failed = False

    def look(self, told: set[str] | None) -> None:
        """Tell what is new, if anything may be: `told` are the workspaces that were written to, None is unknown."""
        try:
            workspace = self._where()
            turned = not self._looked or (workspace.id if workspace else None) != self._place
            if turned:
                self._turn_to(workspace)
            if workspace and (turned or self._failed or told is None or workspace.id in told):
                self._tell(workspace)
            self._failed = False
        except MemorydError:  # who asks next hears why; this goes on when it is over
            self._failed = True

    def _turn_to(self, workspace: Workspace | None) -> None:
        """Begin with what happened since the watch began, or, where that was elsewhere, with what happens from now."""
        time = FOREVER if self._place else self._since
        row = self._store.read(workspace, lambda q: q.one("events.before", time=time)) if workspace else None
        self._place, self._seq = workspace.id if workspace else None, row["seq"] if row else 0
        if self._looked:
            self._heard(Changed(listed=True, unknown=True))
        self._looked = True

    def _tell(self, workspace: Workspace) -> None:
        while events := self._store.read(workspace, self._news):
            self._seq = events[-1]["seq"]
            self._heard(_changed(events))
            if len(events) < MANY:
                break

    def _news(self, queries: Queries) -> list[Row]:
        return queries.all("vault.events", after=self._seq, limit=MANY)


def _changed(events: Sequence[Row]) -> Changed:
    keys = dict.fromkeys((event["scope"], event["key"]) for event in events if event["key"] is not None)
    return Changed(
        listed=any(event["operation"] != "update_memory" for event in events), keys=tuple(keys),
        unknown=any(event["key"] is None for event in events),
    )  # fmt: skip
