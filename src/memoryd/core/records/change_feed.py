"""Notification of changes to memories with a key, whichever process made them."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoryd.core.base.clock import FOREVER, Clock
from memoryd.daemon import started
from memoryd.errors import MemorydError
from memoryd.model import Workspace
from memoryd.store.base import Row, Store

PAUSE = 0.5  # seconds between polls, if the store cannot report changes itself
MANY = 500  # events that are read at a time

CurrentWorkspace = Callable[[], Workspace | None]
"""Returns the workspace to watch now, or None."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed since the last call."""

    listed: bool
    """Whether the set of keys may differ from before."""
    keys: tuple[tuple[str, str], ...] = ()
    """(scope, key) of each memory that was added, changed or deleted."""
    unknown: bool = False
    """Whether other keys may have changed too: a memory was purged, or the watched workspace is now another one."""


class Changes:
    """The watchers of changes, and the thread that calls them; it starts with the first watcher."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._watchers: list[Watcher] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, where: CurrentWorkspace, call: Callable[[Changed], None], place: str | None) -> Callable[[], None]:
        """Call `call`, from another thread, with each change from now on in the workspace that `where` returns.

        `place` is the id of the workspace that it returns now, which may have changed before the first poll.
        Return a function that ends the watch. Raise NoThreadError.
        """
        watcher = Watcher(self._store, where, call, self._clock.now(), place)
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = started(self._run, "memoryd-changes")
            self._watchers.append(watcher)

        def end() -> None:
            with self._lock:
                self._watchers.remove(watcher)

        return end

    def _run(self) -> None:
        written: set[str] | None = None
        while not self._stopping.is_set():
            with self._lock:
                watchers = list(self._watchers)
            for watcher in watchers:
                watcher.look(written)
            written = self._store.changes(PAUSE)

    def stop(self, wait: float) -> None:
        """Stop polling; wait up to `wait` seconds for the thread to end."""
        self._stopping.set()
        if self._thread is not None:
            self._store.wake()
            self._thread.join(wait)


class Watcher:
    """One watch: the function to call, and the last event that was passed to it."""

    def __init__(
        self, store: Store, where: CurrentWorkspace, notify: Callable[[Changed], None], since: str, place: str | None
    ) -> None:
        self._store = store
        self._where = where
        self._notify = notify
        self._since = since
        self._place = place
        self._seq: int | None = None
        """The last event; None before the first poll."""
        self._failed = False

    def look(self, written: set[str] | None) -> None:
        """Report new changes; `written` are the ids of the workspaces that were written to, None if unknown."""
        try:
            workspace = self._where()
            turned = self._seq is None or (workspace.id if workspace else None) != self._place
            if turned:
                self._turn_to(workspace)
            if workspace and (turned or self._failed or written is None or workspace.id in written):
                self._report(workspace)
            self._failed = False
        except MemorydError:  # the next tool call reports it; the watch resumes when the store works again
            self._failed = True

    def _turn_to(self, workspace: Workspace | None) -> None:
        """Start with the events since the call of `watch`, or after a change of workspace with those from now on."""
        place = workspace.id if workspace else None
        moved = place != self._place
        time = FOREVER if moved and self._place else self._since
        row = self._store.read(workspace, lambda q: q.one("events.before", time=time)) if workspace else None
        self._place, self._seq = place, row["seq"] if row else 0
        if moved:
            self._notify(Changed(listed=True, unknown=True))

    def _report(self, workspace: Workspace) -> None:
        while events := self._store.read(workspace, lambda q: q.all("vault.events", after=self._seq, limit=MANY)):
            self._seq = events[-1]["seq"]
            self._notify(_changed(events))
            if len(events) < MANY:
                break


def _changed(events: Sequence[Row]) -> Changed:
    keys = dict.fromkeys((event["scope"], event["key"]) for event in events if event["key"] is not None)
    return Changed(
        listed=any(event["operation"] != "update_memory" for event in events),
        keys=tuple(keys),
        unknown=any(event["key"] is None for event in events),
    )
