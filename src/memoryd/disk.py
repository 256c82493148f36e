"""What memoryd puts on the disk: there whole or not at all, also where the power fails, and for its user alone.

A name is durable once the directory that holds it is synced: SQLite does so for its files, and this for all others.
"""

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DIRECTORY, FILE = 0o700, 0o600
SUFFIX = ".partial"
"""How the name of an unfinished file ends; one whose process was killed stays and can be deleted."""
CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EACCES}
"""What a system answers that cannot sync this directory at all, or lets its user write it but not open it."""


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing; one that is there stays as it is. Raises OSError."""
    if not path.parent.exists():
        make_directory(path.parent)
    if not path.is_dir():
        path.mkdir(DIRECTORY, exist_ok=True)
        sync_directory(path.parent)


def make_file(path: Path) -> None:
    """Make an empty file where there is none; a link stays a link. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE))


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """Give a `temporary` file to fill, which becomes `target` where the block ends well, in place of what was there.

    Durable when the block is left. A link stays a link: what it leads to is replaced. Raises OSError.
    """
    real = Path(os.path.realpath(target))
    with temporary(real) as path:
        yield path
        sync(path)
        rename(path, real)


@contextmanager
def temporary(beside: Path) -> Iterator[Path]:
    """Give an empty file in the directory of another, which is made if need be; removed at the end unless renamed."""
    make_directory(beside.parent)
    handle, name = tempfile.mkstemp(prefix=f"{beside.name}.", suffix=SUFFIX, dir=beside.parent)
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make the contents of a file durable. Never of an open database: closing a file drops its process's locks."""
    with path.open("r+b") as file:
        os.fsync(file)


def rename(source: Path, target: Path) -> None:
    """Give a file or directory another name, durably; a file replaces what is there."""
    source.replace(target)
    for directory in {target.parent, source.parent}:
        sync_directory(directory)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable, as far as the system can; Windows opens no directories."""
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
