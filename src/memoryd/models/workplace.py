"""The folder in which model files are prepared before they are put in place, by one process at a time.

Imported only by what fetches models: SQLite takes a megabyte that a server does without.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memoryd.errors import ModelError

_TEMPORARY = ".pull-"

_PATIENCE = 1_800.0
"""Seconds to wait for another process that fetches them: 69 MB at 40 kB/s."""


@contextmanager
def workplace(directory: Path) -> Iterator[Path]:
    """Give a temporary folder inside `directory`, which is created if need be, to one process at a time.

    It is removed at the end; folders of processes that were killed go too. Raise ModelError for any error of the disk.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)  # as open as the umask has it: an image serves another user
        with _alone(directory) as alone:
            for left in directory.glob(f"{_TEMPORARY}*") if alone else ():  # of processes that were killed
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=directory) as temporary:
                yield Path(temporary)
    except OSError as error:
        raise ModelError(
            f"The models could not be put into {directory}: {error}. "
            "Make room there, or choose another directory with MEMORY_MODEL_DIR."
        ) from error


@contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Lock a directory with SQLite, whose locks end with their process on every platform.

    This only saves work: on a file system without locks it gives False, and two processes at once do no harm.
    """
    with ExitStack() as stack:
        alone = False
        with suppress(sqlite3.Error):
            lock = sqlite3.connect(directory / ".pull.lock", timeout=_PATIENCE, isolation_level=None)
            stack.callback(lock.close)
            lock.execute("BEGIN EXCLUSIVE")
            alone = True
        yield alone
