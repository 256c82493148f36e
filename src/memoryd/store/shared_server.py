"""A server that memoryd runs in the data directory, shared by all processes that use that directory.

There are two locks, which the system releases however a process ends: every process that uses the server holds
`NAME.users` shared, so that the last one can stop it; a process that starts or stops it holds `NAME.lock`.
"""

import fcntl
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Generic, Protocol, TypeVar

import psutil  # type: ignore[import-untyped]

from memoryd import disk, private
from memoryd.errors import StoreAwayError, StoreBusyError, StoreError
from memoryd.store.journal import STOPPED, State

START = 60.0  # seconds that creating, starting or recovering a server may take
STOP = 1.0  # seconds that an ending process waits for another one that is starting or stopping the server
POLL = 0.02
LARGE_LOG = 2**20  # bytes


class Running(Protocol):
    """A running server."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def obstacle(self) -> str:
        """Why it cannot be used yet, for a sentence that begins with its name; '' if it can."""


R = TypeVar("R", bound=Running)


class SharedServer(ABC, Generic[R]):
    """A server in its own directory. The first call of `url` starts it."""

    product: str
    ending: signal.Signals
    """The signal that stops the server cleanly."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._log = data / "log"
        self.place = str(data)
        self._using: IO[bytes] | None = None
        self._stopped = False

    def url(self) -> str:
        """Return the URL; start the server if it is not running, and wait until it is. Raise StoreError."""
        try:
            disk.make_directory(self._data.parent)
            private.close(self._data.parent)
            with self._alone(START):
                if self._stopped:  # perhaps by another thread, just now
                    raise StoreAwayError(STOPPED)
                self._use()
                return self._up()
        except OSError as error:
            raise StoreError(
                f"{self.product} cannot be run in {self.place} ({error}). Nothing was stored by this call; "
                "make this user the owner of the directory, or choose another MEMORY_DATA_DIR."
            ) from error

    @abstractmethod
    def _up(self) -> str:
        """Return the URL once the server listens."""

    @abstractmethod
    def _running(self) -> R | None:
        """Return the running server, or None. Another program may have the process id of a dead server."""

    def _ready(self) -> R | None:
        """Return the server once it can be used, or None if it ended."""
        deadline = time.monotonic() + START
        while running := self._running():
            if not running.obstacle:
                return running
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"{self.product} in {self.place} {running.obstacle} after {START:.0f} s. "
                    f"Nothing was stored by this call; try again, and see {self._log} if this persists."
                )
            time.sleep(POLL)
        return None

    def _not_started(self, last_words: str) -> StoreError:
        return StoreError(
            f"{self.product} did not start in {self.place} ({last_words}). Nothing was stored by this call; "
            f"see {self._log}."
        )

    def state(self) -> State:
        return "running" if self._running() else "stopped"

    def start(self) -> bool:
        self._stopped = False
        ran = self._running() is not None
        self.url()
        return not ran

    def stop(self) -> bool:
        """Stop the server until `start` is called; return whether it was running."""
        with self._alone(START):
            running = self._running()
            if running:
                self._stop(running)
            self._stopped = True
        return running is not None

    def _stop(self, running: R) -> None:
        using = self._use()
        if not locked(using, fcntl.LOCK_EX):
            fcntl.flock(using, fcntl.LOCK_SH)  # the attempt released it
            raise StoreError(
                f"Another process uses the {self.product} in {self.place}, so it was not stopped. "
                "End that process first."
            )
        with suppress(ProcessLookupError):
            os.kill(running.pid, self.ending)
        using.close()
        self._using = None
        deadline = time.monotonic() + START
        while self._running():
            if time.monotonic() > deadline:
                raise StoreBusyError(f"{self.product} in {self.place} has not stopped after {START:.0f} s. Try again.")
            time.sleep(POLL)

    def close(self) -> None:
        """Stop using the server; the last process to do so stops it."""
        using, self._using = self._using, None
        if using is None:
            return
        with using, suppress(StoreBusyError, OSError), self._alone(STOP):
            if locked(using, fcntl.LOCK_EX) and (running := self._running()):
                os.kill(running.pid, self.ending)  # it continues after this process has ended

    # locks -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _alone(self, wait: float) -> Iterator[None]:
        """Keep other processes from starting or stopping the server."""
        deadline = time.monotonic() + wait
        with self._opened(".lock") as gate:
            while not locked(gate, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise StoreBusyError(
                        f"Another process has been starting {self.product} in {self.place} for {wait:.0f} s. "
                        f"Nothing was stored by this call; try again, and see {self._log} if this persists."
                    )
                time.sleep(POLL)
            yield

    def _opened(self, suffix: str) -> IO[bytes]:
        path = self._data.with_suffix(suffix)
        disk.make_file(path)
        return path.open("ab")

    def _use(self) -> IO[bytes]:
        if self._using is None:
            using = self._opened(".users")
            fcntl.flock(using, fcntl.LOCK_SH)  # immediate: only the last process holds it exclusively
            self._using = using
        return self._using

    # the log ---------------------------------------------------------------------------------------------------------

    def _shorten_log(self) -> None:
        if self._log.exists() and self._log.stat().st_size > LARGE_LOG:
            os.truncate(self._log, 0)


def locked(file: IO[bytes], kind: int) -> bool:
    """Try to take a lock without waiting; return whether that succeeded."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def works_in(directory: Path, process: psutil.Process) -> bool:
    """Return whether a running process has this working directory."""
    try:
        return Path(process.cwd()) == directory
    except (psutil.Error, OSError):  # it has ended, or belongs to another user
        return False
