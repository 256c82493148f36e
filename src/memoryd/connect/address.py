"""The address of the service of an environment: the name and the directory of its socket."""

import os
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress

try:  # hashlib itself loads OpenSSL, which takes longer than the rest of a hook's imports
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from memoryd import __file__ as package
from memoryd import __version__, environment

LONGEST = 100  # bytes of a socket's path: the limits of systems are 104 to 108
PRIVATE = 0o700
SUFFIX = ".sock"


class Address:
    """The files of one service: its socket, the locks for its start and its lifetime, its log."""

    def __init__(self, directory: str, name: str) -> None:
        self.directory = directory
        self.socket = f"{directory}/{name}{SUFFIX}"
        self.start = f"{directory}/{name}.start"
        self.life = f"{directory}/{name}.life"
        self.log = f"{directory}/{name}.log"


def key(environ: Mapping[str, str]) -> str:
    """Return the name of a service: a hash of all that an engine depends on."""
    installed = os.stat(package).st_mtime_ns  # noqa: PTH116 - pathlib is slow to import
    parts = [__version__, package, str(installed), os.uname().nodename, str(os.geteuid())]
    parts += [f"{name}={value}" for name, value in sorted(environment.of_engine(environ).items())]
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def address(environ: Mapping[str, str], *, make: bool = True) -> Address | None:
    """Return the address of the service of a resolved environment, in a directory that only this user can access.

    It is in the data directory, or in the run-time directory if the data directory takes no sockets or its path is
    too long. Return None if there is no such directory. With `make`, create it.
    """
    name = key(environ)
    here = Address(_room(environ), name)
    if not _is_private(here.directory, make=make):
        return None
    if _fits(here.socket) and (os.path.exists(here.socket) or not make or _takes_sockets(here)):  # noqa: PTH110
        return here
    there = Address(_runtime_directory(), name)
    return there if _fits(there.socket) and _is_private(there.directory, make=make) else None


def services_of(environ: Mapping[str, str]) -> list[str]:
    """Return the sockets of services in a resolved environment's data directory and in the run-time directory."""
    rooms = [room for room in (_room(environ), _runtime_directory()) if _is_private(room, make=False)]
    return [f"{room}/{name}" for room in rooms for name in sorted(os.listdir(room)) if name.endswith(SUFFIX)]  # noqa: PTH208


def _room(environ: Mapping[str, str]) -> str:
    return f"{environ['MEMORY_DATA_DIR']}/service"


def _fits(path: str) -> bool:
    return len(os.fsencode(path)) <= LONGEST


def _runtime_directory() -> str:
    """Return a directory that exists while the machine runs, whatever the client's environment is."""
    user = os.geteuid()
    given = f"/run/user/{user}"
    return f"{given}/memoryd" if os.path.isdir(given) else f"/tmp/memoryd-{user}"  # noqa: PTH112, S108 - checked below


def _is_private(directory: str, *, make: bool) -> bool:
    """Return whether only this user can access a directory; with `make`, create it."""
    try:
        if make:
            _make(directory)
        status = os.lstat(directory)
        if make and not os.access(directory, os.W_OK):
            return False
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _make(directory: str) -> None:
    parent = os.path.dirname(directory)  # noqa: PTH120
    if not os.path.isdir(parent):  # noqa: PTH112
        _make(parent)
    with suppress(FileExistsError):
        os.mkdir(directory, PRIVATE)  # noqa: PTH102


def _takes_sockets(address: Address) -> bool:
    """Return whether a socket can be created there; some file systems do not support sockets."""
    probe = f"{address.socket}{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.bind(probe)
            os.unlink(probe)  # noqa: PTH108
        except OSError:
            return False
    return True
