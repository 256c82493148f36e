"""The background thread of a process, for work that no caller waits for."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from memoryd.daemon import started
from memoryd.errors import MemorydError, NoThreadError

log = logging.getLogger(__name__)

THREAD = "memoryd-worker"
START = 2.0  # seconds after the start during which a new server serves only its client
SELDOM = 300.0  # seconds between searches for work that other processes left unfinished
AGAIN = 20.0  # seconds before work is retried that failed, e.g. because another process was doing it
Chore = Callable[[Callable[[], bool]], None]
"""A task; its argument is a function that returns whether to stop early."""


class Worker:
    """Runs its chores in turn whenever it is woken and every AGAIN; the `seldom` ones at its start and every SELDOM.

    An unexpected error is logged and ends the thread; the next wake() starts another.
    """

    def __init__(self, chores: Sequence[Chore], seldom: Sequence[Chore] = ()) -> None:
        self._chores = chores
        self._seldom = seldom
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; return immediately."""
        with self._lock:
            self._thread = started(self._run, THREAD)

    def wake(self) -> None:
        """Make the thread run its chores soon, because there is work."""
        self._woken.set()
        with self._lock:
            died = self._thread is not None and not self._thread.is_alive()
            if died and not self._stopping.is_set():
                with suppress(NoThreadError):  # the next wake() tries again
                    self._thread = started(self._run, THREAD)

    def stop(self, wait: float) -> None:
        """Stop the thread; wait at most `wait` seconds for the current chore."""
        with self._lock:
            self._stopping.set()
        self._woken.set()
        if self._thread and self._thread.is_alive():
            self._thread.join(wait)

    def _run(self) -> None:
        self._woken.wait(START)
        due = -math.inf
        while not self._stopping.is_set():
            self._woken.clear()
            if time.monotonic() >= due:  # even if it is woken all the time
                self._try_each(self._seldom)
                due = time.monotonic() + SELDOM
            self._try_each(self._chores)
            self._woken.wait(min(AGAIN, max(0.0, due - time.monotonic())))

    def _try_each(self, chores: Sequence[Chore]) -> None:
        for chore in chores:
            try:
                chore(self._stopping.is_set)
            except MemorydError as error:
                if not self._stopping.is_set():  # otherwise the store was closed meanwhile, as expected
                    log.warning("%s", error)
