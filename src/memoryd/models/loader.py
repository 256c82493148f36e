"""Loads one object once, in the background, and keeps the result or the failure."""

import atexit
import threading
import time
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from memoryd.daemon import started
from memoryd.errors import MemorydError, NoThreadError
from memoryd.models.native import EXIT_PATIENCE

T = TypeVar("T")
LoadState = Literal["idle", "loading", "ready", "failed"]

RETRY_PAUSE = 60.0
"""Seconds between a failure and the next attempt, so that a server without a network does not spin."""

_UNEXPECTED = "It failed unexpectedly; the log has the details."


class Loader(Generic[T]):
    """Calls `load` on a daemon thread and keeps what it returns. Safe to use from several threads.

    After a failure start() does nothing for RETRY_PAUSE seconds. Use fail() if the loaded object fails later.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._changed = threading.Condition()
        self.state: LoadState = "idle"
        """'idle' until start(), 'loading', 'ready' or 'failed'."""
        self.reason = ""
        """Why it failed, with the next step; '' unless the state is 'failed'."""
        self.failed_before = False
        """Whether it has failed at least once, so that callers should not wait for it."""
        self._value: T | None = None
        self._began = 0.0
        self._retry_at = 0.0

    def start(self) -> None:
        """Start loading, unless it is loading, ready or has failed less than the pause ago; return immediately."""
        with self._changed:
            too_early = self.state == "failed" and time.monotonic() < self._retry_at
            if self.state in ("loading", "ready") or too_early:
                return
            self.state, self.reason, self._began = "loading", "", time.monotonic()
        try:
            thread = started(self._run, "memoryd-load")
        except NoThreadError as error:
            self._settle("failed", None, str(error))
            return
        atexit.register(thread.join, EXIT_PATIENCE)  # loading runs native code too: see native.py

    def get(self, wait: float = 0.0) -> T | None:
        """Return the loaded object, or None.

        While it is being loaded, wait until `wait` seconds after the start: two loaders cost one wait, not two.
        """
        with self._changed:
            left = max(self._began + wait - time.monotonic(), 0.0)
            self._changed.wait_for(lambda: self.state != "loading", timeout=left)
            return self._value

    def fail(self, reason: str) -> None:
        """Drop the loaded object because it failed a caller; after the pause start() loads it again."""
        with self._changed:
            if self.state == "ready":
                self._settle("failed", None, reason)

    def _run(self) -> None:
        reason = _UNEXPECTED
        try:
            value = self._load()
            reason = ""
            self._settle("ready", value)
        except MemorydError as error:
            reason = str(error)
        except (OSError, ValueError, RuntimeError, ImportError, MemoryError) as error:
            reason = f"{type(error).__name__}: {error}"
        finally:  # any other error is logged when the thread ends; callers must not wait forever
            if reason:
                self._settle("failed", None, reason)
            atexit.unregister(threading.current_thread().join)

    def _settle(self, state: LoadState, value: T | None, reason: str = "") -> None:
        with self._changed:
            self.state, self._value, self.reason = state, value, reason
            self._retry_at = time.monotonic() + RETRY_PAUSE
            self.failed_before |= state == "failed"
            self._changed.notify_all()
