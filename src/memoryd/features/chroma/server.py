"""memoryd's own ChromaDB in the data directory, shared by all processes that use that directory.

`chroma run` takes any free port. No file records its process or port, so none can be stale: both are asked of the
system.
"""

import fcntl
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import IO

import psutil  # type: ignore[import-untyped]

from memoryd import disk
from memoryd.environment import current
from memoryd.errors import StoreError
from memoryd.store.shared_server import POLL, STOP, SharedServer, locked, works_in

distribution("chromadb")  # raises immediately if it is not installed

PROGRAM = "chromadb_rust_bindings"
RUN = (
    f"import os, sys; os.fork() and os._exit(0); os.setsid(); from {PROGRAM} import cli; cli(['chroma', *sys.argv[1:]])"
)
"""`chroma run` without its Python wrapper: a third of the memory, a tenth of the time. It is not a child process."""
ATTEMPTS = 3  # to start: a running server that is found may be about to end
FOREIGN = ("CHROMA", "OTEL", "CONFIG_PATH", "IS_PERSISTENT", "PERSIST_DIRECTORY")
"""The prefixes of variables that would affect the server."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A running server and its port, which is 0 until it listens."""

    pid: int
    port: int
    process: psutil.Process

    @property
    def obstacle(self) -> str:
        return "" if self.port else "does not listen"


class ChromaServer(SharedServer[_Running]):
    """memoryd's own server. The first call of `url` starts it."""

    product = "ChromaDB"
    ending = signal.SIGTERM
    patience = 5.0

    def __init__(self, directory: Path) -> None:
        super().__init__(directory / "chroma")
        self._process: psutil.Process | None = None

    def serves(self) -> bool:
        """Return whether the process with the last returned URL still runs."""
        try:
            if self._process is None or not self._process.is_running():
                return False
            return bool(self._process.status() != psutil.STATUS_ZOMBIE)  # no parent reaps it, as in many containers
        except psutil.Error:
            return False

    def _up(self) -> str:
        for _ in range(ATTEMPTS):
            if self._running() is None:
                self._start()
            if running := self._ready():
                self._process = running.process
                return f"http://127.0.0.1:{running.port}"
        raise self._not_started(self._last_words())

    def _running(self) -> _Running | None:
        directory = self._data.resolve()
        for process in psutil.process_iter():
            if works_in(directory, process):
                with suppress(psutil.Error):  # it has ended in the meantime
                    if any(PROGRAM in part for part in process.cmdline()):
                        return _Running(process.pid, _port(process), process)
        return None

    def _start(self) -> None:
        disk.make_directory(self._data)
        disk.make_file(self._log)
        self._shorten_log()
        with self._opened(".running") as held, self._log.open("ab") as log:
            if not _locked_soon(held):  # two servers on the same files would corrupt them
                raise StoreError(
                    f"A ChromaDB of another user or container uses {self.place}. "
                    "Nothing was stored by this call; stop it, or set MEMORY_CHROMA_URL to its address."
                )
            ours = {key: value for key, value in current().items() if not key.startswith(FOREIGN)}
            place = self._data.resolve()
            subprocess.run(  # noqa: S603 - fixed arguments
                [sys.executable, "-P", "-c", RUN, "run", "--path", place, "--host", "127.0.0.1", "--port", "0"],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=place,
                env=ours | {"ANONYMIZED_TELEMETRY": "False"},
                umask=0o077,
                pass_fds=[held.fileno()],  # held while it lives
            )

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "it logged nothing")


def _locked_soon(file: IO[bytes]) -> bool:
    """Take the lock; wait for an ending server, which disappears a moment before it releases the lock."""
    deadline = time.monotonic() + STOP
    while not locked(file, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True


def _port(process: psutil.Process) -> int:
    listening = (one for one in process.net_connections("tcp") if one.status == psutil.CONN_LISTEN)
    return next((one.laddr.port for one in listening), 0)
