"""Write a folder of files for git and other programs: a new one, or an update of an earlier export.

A hidden list says what was written. Files edited since then are not overwritten, and files not on the list are not
touched. The list may have come from elsewhere, with the folder: what it names counts only if an export could have
written it.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from memoryd import disk
from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import Numbers
from memoryd.core.transfer.export_formats import WrittenFolder
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.imports.formats import notes, own_notes, source
from memoryd.features.notes import markdown_export
from memoryd.model import Workspace
from memoryd.store.base import Queries

LIST = ".memoryd-export.json"
NAMED = 50  # characters of a folder's name that begin the name of the temporary folder which is filled for it
Digests = dict[str, list[str]]
"""The SHA-256 of each file's contents, by its path below the folder."""


def export(engine: Engine, workspace: Workspace, folder: Path, report: StepProgress) -> WrittenFolder:
    """Write a workspace as a folder of Markdown; return what was written and removed.

    Raise InvalidInputError, before anything is changed, if the folder has other or edited files.
    """

    def work(queries: Queries) -> WrittenFolder:
        numbers = Numbers()
        step = partial(report, f"exporting {workspace.name}")
        size, removed = write(folder, markdown_export.files(queries, workspace, numbers, step))
        return WrittenFolder(numbers, size, removed)

    return engine.store.read(workspace, work)


def write(folder: Path, files: Iterable[tuple[str, str]]) -> tuple[int, list[Path]]:
    """Write files into a folder; return their size in bytes, and the files of an earlier export that were removed.

    Raise InvalidInputError before anything is changed, or StoreError.
    """
    try:
        written = _listed(folder)
        disk.make_directory(folder.parent)
        name, parent = f".{folder.name[:NAMED]}.", folder.parent
        with tempfile.TemporaryDirectory(disk.SUFFIX, name, parent, ignore_cleanup_errors=True) as waiting:
            new, size = _fill(Path(waiting), files)
            gone = _superfluous(folder, written, new)
            if folder.exists():
                _replace(folder, Path(waiting), written, new)
                _remove(folder, gone)
            else:
                disk.rename(Path(waiting), folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {disk.cause(error)}") from error
    return size, gone


def _listed(folder: Path) -> Digests:
    """Return what an earlier export has written; raise InvalidInputError if the folder has other files."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InvalidInputError(f"{folder} is not a folder. Choose another path.")
    if not folder.exists() or all(path.name.startswith(".") and path.name != LIST for path in folder.iterdir()):
        return {}
    try:
        listed: dict[str, Any] = dict(json.loads((folder / LIST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise InvalidInputError(
            f"{folder} contains files that no export has written. Nothing was written; choose a new folder."
        ) from None
    return {
        name: digests
        for name, digests in listed.items()
        if isinstance(digests, list) and markdown_export.PATHS.fullmatch(name)
    }


def _fill(folder: Path, files: Iterable[tuple[str, str]]) -> tuple[Digests, int]:
    new, size = Digests(), 0
    for name, text in files:
        path, data = folder / name, text.encode()
        disk.make_directory(path.parent)
        disk.make_file(path)
        path.write_bytes(data)
        new[name] = [hashlib.sha256(data).hexdigest()]
        size += len(data)
    _list(folder, new)
    if hasattr(os, "sync"):  # once for all files: one each would take milliseconds
        os.sync()
    return new, size


def _list(folder: Path, digests: Digests) -> None:
    with disk.appearing(folder / LIST) as path:
        path.write_text(json.dumps(digests, indent=0, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def _superfluous(folder: Path, written: Digests, new: Digests) -> list[Path]:
    """Return the files of an earlier export that are no longer in it; raise InvalidInputError if something is lost."""
    gone = []
    for name in sorted(written.keys() | new.keys()):
        path = folder / name
        if any(one.is_symlink() for one in (path, *path.parents) if one.is_relative_to(folder)):
            raise InvalidInputError(f"{path} is behind a symbolic link. Nothing was written; choose a new folder.")
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        if digest is None or digest in new.get(name, ()):
            continue
        is_ours = digest in written.get(name, ()) and _is_ours(path)
        if is_ours and name not in new:
            gone.append(path)
        elif not is_ours and (name in new or digest not in written[name]):
            raise InvalidInputError(
                f"{path} was edited since it was exported. Nothing was written; import it, or move it away first."
            )
    return gone


def _is_ours(path: Path) -> bool:
    """Return whether a file has memoryd's properties."""
    try:
        with source.opened(path) as found:
            return own_notes.is_own(notes.note(found.files[0]))
    except InvalidInputError:  # not a text
        return False


def _replace(folder: Path, waiting: Path, written: Digests, new: Digests) -> None:
    """Move files into place; the list has both states until then, so that an interrupted export can be repeated."""
    _list(folder, {name: [*written.get(name, ()), *new.get(name, ())] for name in written.keys() | new.keys()})
    for name in (*new, LIST):
        disk.make_directory((folder / name).parent)
        (waiting / name).replace(folder / name)


def _remove(folder: Path, files: Iterable[Path]) -> None:
    """Remove files, and the folders that this empties."""
    for path in files:
        path.unlink(missing_ok=True)
        if path.parent != folder:
            with suppress(OSError):  # not empty
                path.parent.rmdir()
