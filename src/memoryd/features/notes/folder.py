"""Write a folder of files for git and other programs: a new one, or an update of an earlier export.

A hidden list says what was written. Files edited since then are not overwritten, and files not on the list are not
touched.
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
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.notes import markdown_export
from memoryd.model import Workspace
from memoryd.store.base import Queries

LIST = ".memoryd-export.json"
NAMED = 50  # characters of a folder's name that begin the name of the temporary folder which is filled for it
Digests = dict[str, list[str]]
"""The SHA-256 of each file's contents, by its path below the folder."""


def export(engine: Engine, workspace: Workspace, folder: Path, report: StepProgress) -> tuple[Numbers, int]:
    """Write a workspace as a folder of Markdown; return what was written, and its size in bytes.

    Raise InvalidInputError, before anything is changed, if the folder has other or edited files.
    """

    def work(queries: Queries) -> tuple[Numbers, int]:
        numbers = Numbers()
        step = partial(report, f"exporting {workspace.name}")
        size = write(folder, markdown_export.files(queries, workspace, numbers, step))
        return numbers, size

    return engine.store.read(workspace, work)


def write(folder: Path, files: Iterable[tuple[str, str]]) -> int:
    """Write files into a folder; return their size in bytes.

    Raise InvalidInputError before anything is changed, or StoreError.
    """
    try:
        written = _listed(folder)
        disk.make_directory(folder.parent)
        name, parent = f".{folder.name[:NAMED]}.", folder.parent
        with tempfile.TemporaryDirectory(disk.SUFFIX, name, parent, ignore_cleanup_errors=True) as waiting:
            new, size = _fill(Path(waiting), files)
            _check(folder, written, new)
            if folder.exists():
                _replace(folder, Path(waiting), written, new)
            else:
                disk.rename(Path(waiting), folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {disk.cause(error)}") from error
    return size


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
    return {name: digests for name, digests in listed.items() if isinstance(digests, list) and _is_below(name)}


def _is_below(name: str) -> bool:
    """Return whether a path stays in the folder: the list may come from another source."""
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def _fill(folder: Path, files: Iterable[tuple[str, str]]) -> tuple[Digests, int]:
    new, size = Digests(), 0
    for name, text in files:
        path, data = folder / name, text.encode()
        path.parent.mkdir(mode=disk.DIRECTORY, parents=True, exist_ok=True)
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


def _check(folder: Path, written: Digests, new: Digests) -> None:
    """Raise InvalidInputError if something would be lost."""
    for name in sorted(written.keys() | new.keys()):
        path = folder / name
        if any(one.is_symlink() for one in (path, *path.parents) if one.is_relative_to(folder)):
            raise InvalidInputError(f"{path} is behind a symbolic link. Nothing was written; choose a new folder.")
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        if digest is not None and digest not in (*written.get(name, ()), *new.get(name, ())):
            raise InvalidInputError(
                f"{path} was edited since it was exported. Nothing was written; import it, or move it away first."
            )


def _replace(folder: Path, waiting: Path, written: Digests, new: Digests) -> None:
    """Move files into place; the list has both states until then, so that an interrupted export can be repeated."""
    _list(folder, {name: [*written.get(name, ()), *new.get(name, ())] for name in written.keys() | new.keys()})
    for name in (*new, LIST):
        (folder / name).parent.mkdir(mode=disk.DIRECTORY, parents=True, exist_ok=True)
        (waiting / name).replace(folder / name)
    for name in written.keys() - new.keys():
        (folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            (folder / name).parent.rmdir()
