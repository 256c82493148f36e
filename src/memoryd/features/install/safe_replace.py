"""Change another program's file: as a whole or not at all, with a backup, and never over what others wrote meanwhile.

The new file replaces the old one atomically. Right before that the old one is read again: if it has changed, the edit
is repeated on its current content.
"""

import difflib
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from memoryd import disk
from memoryd.features.install.editing import RefusedError

TRIES = 5
"""How often to retry if the file changes during the edit: clients write only now and then."""

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
WRITABLE = 0o222
_BACKUP = re.compile(r"\.\d{8}-\d{6}(-\d+)?\.backup")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change, made or planned: the file, its text before and after, and the backup."""

    file: Path
    before: str
    after: str
    backup: Path | None = None

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = self.before.splitlines(), self.after.splitlines()
        return "\n".join(difflib.unified_diff(*lines, str(self.file), str(self.file), lineterm=""))


class FileEdit(NamedTuple):
    """A change that is wanted."""

    file: Path
    edit: Callable[[str], str]
    """From the text of the file, '' if there is none, to the new text."""
    otherwise: str = ""
    """What to do if it cannot be made."""


class FileChanges:
    """The changes of one command; those of one file follow each other, and are one change to the user."""

    def __init__(self, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self._made: dict[Path, FileChange] = {}

    def __iter__(self) -> Iterator[FileChange]:
        return iter(self._made.values())

    def make(self, wanted: FileEdit) -> None:
        """Make a change; of a dry run, plan it. Raise RefusedError, with the file unchanged."""
        file = Path(os.path.realpath(wanted.file))  # a link stays one, and its target is changed
        try:
            if made := self._changed(file, wanted.edit):
                self._made[file] = made
        except RefusedError as error:
            raise RefusedError(f"{wanted.file} was not changed: {error} {wanted.otherwise}".rstrip()) from error

    def _changed(self, file: Path, edit: Callable[[str], str]) -> FileChange | None:
        """Return a change of a file that is no link, after those made before; None if nothing is to be changed."""
        known = self._made.get(file)
        for _ in range(TRIES):
            before = _read(file)
            old = known.after if known and self.dry_run else _decoded(before or b"")
            new = _edited(old, edit)
            if new == old:
                return None
            if file.exists() and not (os.access(file, os.W_OK) and file.stat().st_mode & WRITABLE):
                raise RefusedError("it is write-protected.")
            made = replace(known, after=new) if known else FileChange(file, old, new)
            if self.dry_run:
                return made
            try:
                replaced, backup = _replace(file, before, new.encode(), keep=known is None)
            except OSError as error:
                raise RefusedError(f"it cannot be written: {error.strerror}.") from error
            if replaced:
                return made if known else replace(made, backup=backup)
        raise RefusedError("it keeps changing: close the client first.")


def clear_away(file: Path, empty: Sequence[str]) -> None:
    """Remove the backups of a file, and the file itself if it is as good as empty and was not so before.

    `empty` are the texts, without blanks, of files without content.
    """
    file = Path(os.path.realpath(file))
    backups = [path for path in file.parent.glob("*.backup") if _BACKUP.fullmatch(path.name.removeprefix(file.name))]
    if _bare(file) in empty and not any(_bare(backup) in empty for backup in backups):
        file.unlink()
    for backup in backups:
        backup.unlink()


def _bare(file: Path) -> str:
    return "".join((_read(file) or b"").decode(errors="replace").split())


def text_of(file: Path) -> str:
    """Return the text of a file, '' if there is none. Raise RefusedError."""
    return _decoded(_read(file) or b"").removeprefix(BOM)


def _read(file: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # reading a pipe waits, and a device would be replaced by a file
            raise RefusedError("it is not a regular file.")
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
    """Return the edited text; a byte order mark and Windows line ends are preserved."""
    mark = BOM if text.startswith(BOM) else ""
    bare = text.removeprefix(mark)
    windows = "\n" in bare and bare.count("\n") == bare.count("\r\n")
    new = edit(bare.replace("\r\n", "\n") if windows else bare)
    return mark + (new.replace("\n", "\r\n") if windows else new)


def _replace(file: Path, before: bytes | None, after: bytes, *, keep: bool) -> tuple[bool, Path | None]:
    """Replace `before` with `after` unless the file has changed; return whether that was done, and the backup if any.

    `keep` says whether there is to be a backup.
    """
    backup = _backup_name(file) if before is not None and keep else None
    with disk.temporary(file) as fresh, ExitStack() as stack:
        _fill(fresh, after, file)
        if backup and before is not None:
            saved = stack.enter_context(disk.temporary(file))
            _fill(saved, before, file)
        if _read(file) != before:
            return False, None
        if backup:
            disk.rename(saved, backup)
        disk.rename(fresh, file)
    return True, backup


def _fill(path: Path, held: bytes, like: Path) -> None:
    """Write a file durably, with the mode of another file and, if permitted, its owner."""
    path.write_bytes(held)
    disk.sync(path)
    if like.exists():
        status = like.stat()
        if sys.platform != "win32":
            with suppress(PermissionError):
                os.chown(path, status.st_uid, status.st_gid)
        path.chmod(stat.S_IMODE(status.st_mode))


def _backup_name(file: Path) -> Path:
    """Return an unused name that contains the time."""
    stem = f"{file.name}.{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    names = (file.with_name(f"{stem}{part}.backup") for part in ("", *(f"-{number}" for number in range(1, 1_000))))
    return next(name for name in names if not name.exists())
