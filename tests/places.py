"""Where the tests' files lie: in memory where there is room, since they wait for a disk otherwise."""

import os
import shutil
import tempfile
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")
_FOR_FILES, _FOR_DATABASES = 4 << 30, 16 << 30  # bytes free; containers often have 64 MB, and tests leave 10 GB


def for_files() -> Path:
    return _roomy(_FOR_FILES)


def for_databases() -> Path:
    """Where servers of Postgres keep theirs, hundreds of thousands of files.

    Not below pytest's directory: another run of pytest closes that to the account of the server.
    """
    return _roomy(_FOR_DATABASES)


def _roomy(space: int) -> Path:
    """Memory where files may lie, programs among them, if so many bytes of it are free."""
    if (
        _IN_MEMORY.is_dir()
        and min(shutil.disk_usage(_IN_MEMORY).free, _available()) > space
        and not os.statvfs(_IN_MEMORY).f_flag & os.ST_NOEXEC
    ):
        return _IN_MEMORY
    return Path(tempfile.gettempdir())


def _available() -> int:
    """The bytes of memory that Linux could give."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
