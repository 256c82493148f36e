"""Lock files that are released when their process ends, and that can be removed safely."""

import os
import sys
from contextlib import suppress
from io import BufferedReader

if sys.platform != "win32":  # there is no service on Windows, but the server reads what a conversation is
    import fcntl

FILE = 0o600


def taken(path: str) -> BufferedReader | None:
    """Lock the file at a path and return it, to be closed; None if another process holds it. Raise OSError."""
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, FILE), "rb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(file.fileno())):  # noqa: PTH116 - pathlib is slow to import
                return file
        file.close()  # its last holder has just removed it


def remove(path: str) -> None:
    """Remove a lock file, unless another process holds it."""
    with suppress(OSError):
        if file := taken(path):
            with file:
                os.unlink(path)  # noqa: PTH108
