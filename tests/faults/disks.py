"""Failing disks: a file layer below SQLite that fails when the test says so, and a small real disk."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

Fails = Callable[[str, Path], bool]
"""Returns whether an operation on a file fails: `open` (for writing), `write` or `sync`."""
REAL = apsw.vfs_names()[0]
CODES = {"write": apsw.SQLITE_IOERR_WRITE, "sync": apsw.SQLITE_IOERR_FSYNC}


@contextmanager
def failing(fails: Fails) -> Iterator[None]:
    """Put all databases that are opened in the block on this disk."""
    disk = _Disk(fails)
    try:
        yield
    finally:
        disk.unregister()


class _Disk(apsw.VFS):
    def __init__(self, fails: Fails) -> None:
        self.fails = fails
        super().__init__("failing", REAL, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "")
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB and flags[0] & apsw.SQLITE_OPEN_READWRITE and self.fails("open", path):
            flags[0] = flags[0] & ~apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_READONLY  # as SQLite does
        return _File(name, flags, self.fails, path)


class _File(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], fails: Fails, path: Path) -> None:
        super().__init__(REAL, name, flags)
        self._fails, self._path = fails, path

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._check("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._check("sync")
        super().xSync(flags)

    def _check(self, act: str) -> None:
        if self._fails(act, self._path):
            error = apsw.IOError(f"the disk fails to {act}")
            error.extendedresult = CODES[act]  # type: ignore[attr-defined]
            raise error


@contextmanager
def small(place: Path) -> Iterator[Path]:
    """Mount and yield a disk of 1.5 MB; skip the test if that is not possible."""
    place.mkdir()
    mounted = (
        sys.platform == "linux"
        and os.getuid() == 0
        and shutil.which("mount")
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(place)], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        pytest.skip("needs the right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
