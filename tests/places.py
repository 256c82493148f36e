"""Directories for the tests' files: in memory if there is room, because the tests would wait for a disk."""

import os
import shutil
import tempfile
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")
_FOR_FILES, _FOR_DATABASES = 4 << 30, 16 << 30  # bytes free; containers often have 64 MB, and tests leave 10 GB


def for_files() -> Path:
    return _roomy(_FOR_FILES)


def for_databases() -> Path:
    """Return a directory for Postgres servers, which keep hundreds of thousands of files.

    It is not below pytest's directory, because another run of pytest would lock the server's account out of that.
    """
    return _roomy(_FOR_DATABASES)


def _roomy(space: int) -> Path:
    """Return an in-memory directory that may hold programs too, if `space` bytes are free; else one on disk."""
    if (
        _IN_MEMORY.is_dir()
        and min(shutil.disk_usage(_IN_MEMORY).free, _available()) > space
        and not os.statvfs(_IN_MEMORY).f_flag & os.ST_NOEXEC
    ):
        return _IN_MEMORY
    return Path(tempfile.gettempdir())


def _available() -> int:
    """Return the bytes of memory that Linux has available."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
