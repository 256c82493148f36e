"""File permissions: what memoryd stores is restricted to its user, and each restriction is logged.

Only memoryd's own files are changed, and a directory only if it contains nothing else. Does nothing on Windows.
"""

import logging
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from memoryd import disk

log = logging.getLogger(__name__)

OURS = ("_meta.db*", "memory.db*", "projects", "archive", "exports", "hooks", "spool", "postgres*", "chroma*")
"""The private contents of a data directory."""
BESIDE = ("models", "*.db", "*.db-*", "*.jsonl", f"*{disk.SUFFIX}")
"""Other contents that belong to memoryd: models, which are public; backups and exports."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO
READ = OTHERS & ~(stat.S_IXGRP | stat.S_IXOTH)
"""Permissions to list or change a directory. Traversal stays allowed: a Postgres started by root needs it."""


def close(directory: Path) -> None:
    """Restrict a data directory to its user; if it also holds other files, restrict memoryd's own contents only."""
    _close(exposed(directory), stat.S_IRWXU)


def close_file(paths: Iterable[Path]) -> None:
    """Restrict a database at a path chosen by the user; a group that may write it keeps its access."""
    for path in exposed_file(paths):
        shared = _mode(path) & stat.S_IWGRP
        _close([path], stat.S_IRWXU | (stat.S_IRWXG if shared else 0))


def exposed(directory: Path) -> list[Path]:
    """Return the paths of a data directory that other users can read, inner paths first.

    Return none if another user owns it and shares it with a group only, as for a container's volume (fsGroup).
    """
    directory = Path(os.path.realpath(directory))
    mode = _mode(directory)
    if not mode & OTHERS or (not mode & stat.S_IRWXO and directory.stat().st_uid != os.geteuid()):
        return []
    entries, for_all = _entries(directory), _mode(directory) & stat.S_ISVTX  # shared, like /tmp
    alone = not for_all and all(_is_one_of(entry, OURS + BESIDE) for entry in entries)
    found = [path for entry in entries if _is_one_of(entry, OURS) for path in _open_within(entry)]
    return [*found, directory] if alone and _mode(directory) & READ else found


def exposed_file(paths: Iterable[Path]) -> list[Path]:
    """Return the files that all users can read, except read-only ones, which are published on purpose."""
    return [path for path in paths if _mode(path) & stat.S_IRWXO and _mode(path) & stat.S_IWUSR]


def _open_within(path: Path) -> Iterator[Path]:
    """Yield the paths at and below `path` that others can read; a directory they cannot enter protects its contents."""
    mode = _mode(path)
    if not mode & OTHERS:
        return
    if stat.S_ISDIR(mode):
        for entry in _entries(path):
            yield from _open_within(entry)
    if not stat.S_ISDIR(mode) or mode & READ:
        yield path


def _mode(path: Path) -> int:
    """Return the mode of a file or directory; 0 for a link and for a path that has just been removed."""
    if sys.platform == "win32":
        return 0
    with suppress(OSError):
        mode = path.lstat().st_mode
        return 0 if stat.S_ISLNK(mode) else mode
    return 0


def _entries(directory: Path) -> list[Path]:
    """Return the contents of a directory; an empty list if this user cannot list it."""
    with suppress(OSError):
        return list(directory.iterdir())
    return []


def _is_one_of(path: Path, names: Iterable[str]) -> bool:
    return any(fnmatch(path.name, name) for name in names)


def _close(paths: list[Path], keep: int) -> None:
    """Remove all permissions except `keep` from those paths that this user owns, and log it."""
    closed = []
    for path in paths:
        with suppress(OSError):  # a file system without permissions; doctor reports it
            status = path.stat()
            if status.st_uid == os.geteuid():
                path.chmod(stat.S_IMODE(status.st_mode) & keep)
                closed.append(path)
    if any(path.is_file() for path in closed):
        more = f" and {len(closed) - 1} more paths" if len(closed) > 1 else ""
        log.warning("other users of this machine could read %s%s; now only this user can", closed[-1], more)
