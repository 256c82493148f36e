"""Protection of databases that were open at a fork: the fork must not use, close or reopen them.

SQLite keeps the locks of a process in a table that is copied by a fork. The fork would believe that it holds its
parent's locks, two processes would write one log, and the file would be damaged (tried). Source: How To Corrupt An
SQLite Database File, "Carrying an open database connection across a fork".
"""

import ctypes
import os
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from memoryd.errors import StoreError

_File = tuple[int, int]
"""The device and inode of a file."""

_opened: WeakKeyDictionary[apsw.Connection, _File] = WeakKeyDictionary()
_inherited: set[_File] = set()
"""The files that were open in the parent at the fork."""


def demand_own(path: Path) -> None:
    """Raise StoreError if the file was open in the parent at the fork."""
    if _inherited and path.exists() and _file(path) in _inherited:
        raise StoreError(
            f"{path} was open in the parent process when this process was forked; reopening it here would damage it. "
            "Nothing was read or written. Close it before the fork, or start this process with `spawn`."
        )


def note_opened(connection: apsw.Connection, path: Path) -> None:
    """Remember which file a connection has open."""
    _opened[connection] = _file(path)


def _file(path: Path) -> _File:
    state = path.stat()
    return state.st_dev, state.st_ino


def _inherit() -> None:
    """Keep the connections of the parent open until this process ends."""
    for connection in apsw.connections():
        if connection in _opened:
            _inherited.add(_opened[connection])
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # otherwise the interpreter would close it at exit


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_inherit)
