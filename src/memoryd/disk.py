"""Files on disk: written atomically, durable across a power failure, and readable by their owner only.

A name is durable once its directory is synced: SQLite does so for its own files, this module for all others.
"""

import errno
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DIRECTORY, FILE = 0o700, 0o600
SUFFIX = ".partial"
"""The suffix of an unfinished file; one left by a killed process can be deleted."""
CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EACCES}
"""The errors where a directory cannot be synced, or where the user may write to it but not open it."""

FULL = {errno.ENOSPC, errno.EDQUOT}
REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents; leave an existing one as it is. Raise OSError."""
    if not path.parent.exists():
        make_directory(path.parent)
    if not path.is_dir():
        path.mkdir(DIRECTORY, exist_ok=True)
        sync_directory(path.parent)


def make_file(path: Path) -> None:
    """Create an empty file unless it exists; follow a symbolic link. Raise OSError."""
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE))


def cause(error: OSError) -> str:
    """Return why something could not be written, and what to do about it."""
    if error.errno in FULL:
        remedy = "Make room, or choose another place."
    elif error.errno in REFUSED:
        remedy = "Choose a place that this user may write."
    else:
        remedy = "Choose another place."
    return f"{error.strerror or error}. {remedy}"


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """Yield a `temporary` file to fill, which replaces `target` if the block succeeds. Raise OSError.

    The file is durable when the block ends. If `target` is a symbolic link, the file it points to is replaced.
    """
    real = Path(os.path.realpath(target))
    with temporary(real) as path:
        yield path
        sync(path)
        rename(path, real)


@contextmanager
def temporary(beside: Path) -> Iterator[Path]:
    """Yield an empty file next to `beside`, creating the directory; remove it at the end unless it was renamed."""
    make_directory(beside.parent)
    handle, name = tempfile.mkstemp(prefix=f"{beside.name}.", suffix=SUFFIX, dir=beside.parent)
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def sweep(files: Iterable[Path], seconds: float) -> None:
    """Remove the files that were not changed for some seconds; another process may be faster."""
    oldest = time.time() - seconds
    for path in files:
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def sync(path: Path) -> None:
    """Make the contents of a file durable. Not for an open database: closing a file drops the process's locks on it."""
    with path.open("r+b") as file:
        os.fsync(file)


def rename(source: Path, target: Path) -> None:
    """Rename a file or directory durably; a file replaces an existing target."""
    source.replace(target)
    for directory in {target.parent, source.parent}:
        sync_directory(directory)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable, if the system can do that (Windows cannot open directories)."""
    if sys.platform == "win32":
        return
    try:
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
