"""The folder in which one process at a time prepares model files before they are put in place.

Imported only for a download or an import of models, because SQLite takes a megabyte of memory.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memoryd.disk import make_directory
from memoryd.errors import InvalidInputError, ModelError
from memoryd.settings import user_data

_TEMPORARY = ".pull-"

_PATIENCE = 1_800.0
"""Seconds to wait for another process that is downloading: 69 MB at 40 kB/s."""


@contextmanager
def workplace(directory: Path) -> Iterator[Path]:
    """Create `directory` and yield a temporary folder inside it; other processes wait for their turn.

    The folder is removed at the end, or by the next process. Raise ModelError if a file cannot be written.
    """
    try:
        with suppress(InvalidInputError):  # without a home the directory was given explicitly
            if directory.parent == user_data():
                make_directory(directory.parent)  # memories will be stored here too
        directory.mkdir(parents=True, exist_ok=True)  # permissions follow the umask: an image may run as another user
        with _alone(directory) as alone:
            for left in directory.glob(f"{_TEMPORARY}*") if alone else ():  # left by killed processes
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=directory) as temporary:
                yield Path(temporary)
    except OSError as error:
        raise ModelError(
            f"The models could not be written to {directory}: {error}. "
            "Make room there, or choose another directory with MEMORY_MODEL_DIR."
        ) from error


@contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Hold a lock of SQLite, which ends with the process on every platform; yield whether it was acquired.

    It only prevents duplicate work: if the file system has no locks, two downloads at once do no harm.
    """
    with ExitStack() as stack:
        alone = False
        with suppress(sqlite3.Error):
            lock = sqlite3.connect(directory / ".pull.lock", timeout=_PATIENCE, isolation_level=None)
            stack.callback(lock.close)
            lock.execute("BEGIN EXCLUSIVE")
            alone = True
        yield alone
