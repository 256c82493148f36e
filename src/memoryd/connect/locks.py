"""Locks that end with their process: files that can be removed, unlike most."""

import fcntl
import os
from contextlib import suppress
from typing import IO

FILE = 0o600


def taken(path: str) -> IO[bytes] | None:
    """Return the locked file at a path, to be closed; None if another process has it. Raise OSError."""
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, FILE), "rb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        if _is_at(path, file):  # otherwise its last holder has just removed it
            return file
        file.close()


def _is_at(path: str, file: IO[bytes]) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))  # noqa: PTH116 - pathlib is slow to import
    return False


def remove(path: str) -> None:
    """Remove the file of a lock, unless another process has it."""
    with suppress(OSError):
        if file := taken(path):
            with file:
                os.unlink(path)  # noqa: PTH108
