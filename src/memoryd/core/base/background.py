"""A background thread of a process: what need not be done while a caller waits."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

from memoryd.errors import MemorydError

log = logging.getLogger(__name__)

START = 2.0  # seconds that a new server belongs to its client alone
SELDOM = 300.0  # seconds between looks for what other processes left undone
AGAIN = 20.0  # seconds between looks for what could not be done, such as the work of another process, if that one died
Chore = Callable[[Callable[[], bool]], None]
"""Gets a function that tells whether to stop early."""


class Worker:
    """Runs its chores in turn, soon after it is woken and every AGAIN; the seldom ones at its start and every SELDOM.

    An error that nobody foresaw ends its thread, by way of the log; the next wake() begins another.
    """

    def __init__(self, chores: Sequence[Chore], seldom: Sequence[Chore] = ()) -> None:
        self._chores = chores
        self._seldom = seldom
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = self._another()

    def start(self) -> None:
        """Begin; returns at once."""
        with self._lock:
            self._thread.start()

    def wake(self) -> None:
        """There is something to do."""
        self._woken.set()
        with self._lock:
            died = self._thread.ident is not None and not self._thread.is_alive()
            if died and not self._stopping.is_set():
                self._thread = self._another()
                self._thread.start()

    def stop(self, wait: float) -> None:
        """End, in the middle of a chore if it takes more than `wait` seconds to come to a stop."""
        with self._lock:
            self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(wait)

    def _another(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="memoryd-worker", daemon=True)

    def _run(self) -> None:
        self._woken.wait(START)
        due = -math.inf
        while not self._stopping.is_set():
            self._woken.clear()
            if time.monotonic() >= due:  # however busy it is kept
                self._try_each(self._seldom)
                due = time.monotonic() + SELDOM
            self._try_each(self._chores)
            self._woken.wait(min(AGAIN, max(0.0, due - time.monotonic())))

    def _try_each(self, chores: Sequence[Chore]) -> None:
        for chore in chores:
            self._try(chore)

    def _try(self, chore: Chore) -> None:
        try:
            chore(self._stopping.is_set)
        except MemorydError as error:
            log.warning("%s", error)
