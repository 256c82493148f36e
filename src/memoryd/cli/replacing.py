"""A file of another program's is changed: whole or not at all, with a backup, and never over what somebody else wrote.

The new file takes the old one's place at once. Right before, the old one is read again: if it has changed since, all
is done anew on what it is now.
"""

import difflib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memoryd.cli.configs import RefusedError

TRIES = 5
"""How often a file may change under our hands before we give up: clients write now and then, not always."""

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
WRITABLE = 0o222


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, or would be: to which file, which lines, and where the file is as it was before."""

    file: Path
    diff: str
    backup: Path | None = None


def change(file: Path, edit: Callable[[str], str], *, dry_run: bool) -> Change | None:
    """Change a file by what `edit` makes of its text, '' where there is none; None: there was nothing to change.

    Raises RefusedError, with the file as it was.
    """
    file = file.resolve()  # a link stays a link: what it leads to is changed
    for _ in range(TRIES):
        before = _read(file)
        old = _decoded(before or b"")
        new = _edited(old, edit)
        if new == old:
            return None
        if file.exists() and not (os.access(file, os.W_OK) and file.stat().st_mode & WRITABLE):
            raise RefusedError("it is write-protected.")
        made = Change(file, _diff(file, old, new))
        if dry_run:
            return made
        try:
            replaced, backup = _replace(file, before, new.encode())
        except OSError as error:
            raise RefusedError(f"it cannot be written: {error.strerror}.") from error
        if replaced:
            return Change(file, made.diff, backup)
    raise RefusedError("it changes all the time: close the client first.")


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RefusedError(f"it cannot be read: {error.strerror}.") from error


def _decoded(held: bytes) -> str:
    try:
        return held.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(f"it is not UTF-8: {error.reason} at byte {error.start}.") from None


def _edited(text: str, edit: Callable[[str], str]) -> str:
    """What `edit` makes of a text; a byte order mark and the line ends of Windows stay what they were."""
    mark = BOM if text.startswith(BOM) else ""
    bare = text.removeprefix(mark)
    windows = "\n" in bare and bare.count("\n") == bare.count("\r\n")
    new = edit(bare.replace("\r\n", "\n") if windows else bare)
    return mark + (new.replace("\n", "\r\n") if windows else new)


def _diff(file: Path, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), str(file), str(file), lineterm="")
    return "\n".join(lines)


def _replace(file: Path, before: bytes | None, after: bytes) -> tuple[bool, Path | None]:
    """Whether the file was still what it was `before`, and is `after` now; and where the backup is."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as ends:
        fresh = _written(file, after, ends)
        saved = None if before is None else _written(file, before, ends)
        if _read(file) != before:
            return False, None
        backup = saved and saved.rename(_backup_name(file))
        fresh.replace(file)
    return True, backup


def _written(like: Path, held: bytes, ends: ExitStack) -> Path:
    """A temporary file beside another, with its mode and, as far as we may, its owner; it is on the disk."""
    handle, name = tempfile.mkstemp(prefix=f".{like.name}.", suffix=".tmp", dir=like.parent)
    path = Path(name)
    ends.callback(path.unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        file.write(held)
        file.flush()
        os.fsync(handle)
    if like.exists():
        status = like.stat()
        if sys.platform != "win32":
            with suppress(PermissionError):
                os.chown(path, status.st_uid, status.st_gid)
        path.chmod(stat.S_IMODE(status.st_mode))
    return path


def _backup_name(file: Path) -> Path:
    """A name with the time that no file has."""
    stem = f"{file.name}.{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    names = (file.with_name(f"{stem}{part}.backup") for part in ("", *(f"-{number}" for number in range(1, 1_000))))
    return next(name for name in names if not name.exists())
