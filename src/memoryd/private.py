"""What memoryd keeps is its user's alone: what has looser rights is closed to all others, and that is logged.

Only what is memoryd's is touched: names that it gave, and a directory only where nothing else lies in it. Windows keeps
its own rights.
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
"""What memoryd keeps in a data directory."""
BESIDE = ("models", "*.db", "*.db-*", "*.jsonl", f"*{disk.SUFFIX}")
"""What else may lie in one that is memoryd's alone: models, which are nobody's secret; backups, exports."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO
READ = OTHERS & ~(stat.S_IXGRP | stat.S_IXOTH)
"""Of a directory: merely to pass through is what the account of a Postgres needs that root runs."""


def close(directory: Path) -> None:
    """Close a data directory to other users, or, where others keep things in it, what is memoryd's there."""
    _close(exposed(directory), stat.S_IRWXU)


def close_file(paths: Iterable[Path]) -> None:
    """Close a database that lies where the user put it: a group keeps it that may write it."""
    for path in exposed_file(paths):
        shared = _mode(path) & stat.S_IWGRP
        _close([path], stat.S_IRWXU | (stat.S_IRWXG if shared else 0))


def exposed(directory: Path) -> list[Path]:
    """Return what others may read of a data directory, the inner paths first."""
    directory = Path(os.path.realpath(directory))
    if not _mode(directory) & OTHERS:
        return []
    entries, for_all = _entries(directory), _mode(directory) & stat.S_ISVTX  # as /tmp is
    alone = not for_all and all(_is_one_of(entry, OURS + BESIDE) for entry in entries)
    found = [path for entry in entries if _is_one_of(entry, OURS) for path in _open_within(entry)]
    return [*found, directory] if alone and _mode(directory) & READ else found


def exposed_file(paths: Iterable[Path]) -> list[Path]:
    """Return those files that all others may read; one that nobody may write is published on purpose."""
    return [path for path in paths if _mode(path) & stat.S_IRWXO and _mode(path) & stat.S_IWUSR]


def _open_within(path: Path) -> Iterator[Path]:
    """What others may read of a path and below it; a directory that nobody else may enter guards all that it holds."""
    mode = _mode(path)
    if not mode & OTHERS:
        return
    if stat.S_ISDIR(mode):
        for entry in _entries(path):
            yield from _open_within(entry)
    if not stat.S_ISDIR(mode) or mode & READ:
        yield path


def _mode(path: Path) -> int:
    """The mode of a file or directory; 0 of a link, and of what another process has just removed."""
    if sys.platform == "win32":
        return 0
    with suppress(OSError):
        mode = path.lstat().st_mode
        return 0 if stat.S_ISLNK(mode) else mode
    return 0


def _entries(directory: Path) -> list[Path]:
    """What lies in a directory; nothing where this user may not look."""
    with suppress(OSError):
        return list(directory.iterdir())
    return []


def _is_one_of(path: Path, names: Iterable[str]) -> bool:
    return any(fnmatch(path.name, name) for name in names)


def _close(paths: list[Path], keep: int) -> None:
    """Take all rights but these away, as far as the paths are this user's, and say so."""
    closed = []
    for path in paths:
        with suppress(OSError):  # a file system without rights; doctor tells
            status = path.stat()
            if status.st_uid == os.geteuid():
                path.chmod(stat.S_IMODE(status.st_mode) & keep)
                closed.append(path)
    if any(path.is_file() for path in closed):
        more = f" and {len(closed) - 1} more paths" if len(closed) > 1 else ""
        log.warning("other users of this machine could read %s%s: closed to them now", closed[-1], more)
