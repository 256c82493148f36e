"""Write a folder of files for git and other programs: a new one, or an update of an earlier export.

A hidden list says what was written. Files edited since then are not overwritten, and files not on the list are not
touched. The list may have come from elsewhere, with the folder: what it names counts only if an export could have
written it.
"""

import hashlib
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from memoryd import disk
from memoryd.core.base.progress import Progress, StepProgress
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import Numbers
from memoryd.core.transfer.export_formats import WrittenFolder
from memoryd.core.transfer.file_names import readable
from memoryd.core.workspaces.registry import check_name, composed
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.sync import documents, items
from memoryd.features.sync.documents import group_of, mark, mark_of, trusted
from memoryd.model import Workspace
from memoryd.store.base import Queries

ABOUT = "workspace.json"
"""The file in the folder of a workspace that names it."""
TICK = 100  # files between progress reports
_NAME = r"[^/\\:\ud800-\udfff]+"
_WRITTEN = re.compile(
    rf"memoryd\.json|{_NAME}/(?:workspace\.json"
    rf"|(?:memories/\d{{4}}-\d\d|vault|replaced|entities|sessions)/{_NAME}/{_NAME}\.(?:md|jsonl))"
)
"""The paths of the files that exports write."""
_DIGEST = re.compile("[0-9a-f]{64}")
_SHARED = re.compile(r"commit:(?:[0-9a-f]{40}|[0-9a-f]{64})|file:.{1,200}")
"""The keys of projects that are the same on every machine: the first commit, and the name in a file `.memoryd`."""
LIST = ".memoryd-export.json"
NAMED = 50  # characters of a folder's name that begin the name of the temporary folder which is filled for it
Digests = dict[str, list[str]]
"""The SHA-256 of each file's contents, by its path below the folder."""


def files(queries: Queries, workspace: Workspace, numbers: Numbers, report: Progress) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a workspace, from one snapshot, and count its records."""
    place, every = folder_of(workspace.name), items.all_groups(queries)
    yield f"{place}/{ABOUT}", about(workspace.name)
    for number, (_, path, data) in enumerate(items.documents(queries, every, numbers)):
        yield f"{place}/{path}", data
        if number % TICK == 0:
            report(number / len(every))


def export(engine: Engine, workspaces: Sequence[Workspace], folder: Path, report: StepProgress) -> WrittenFolder:
    """Write workspaces as a folder of Markdown; return what was written and removed.

    Raise InvalidInputError, before anything is changed, if the folder has other or edited files.
    """
    numbers = {workspace.name: Numbers() for workspace in workspaces}

    def every() -> Iterator[tuple[str, bytes]]:
        yield from documents.ROOT.items()
        for workspace in workspaces:
            step = partial(report, f"exporting {workspace.name}")
            yield from engine.store.read(
                workspace,
                lambda queries, of=workspace, step=step: list(files(queries, of, numbers[of.name], step)),  # type: ignore[misc]
            )

    size, removed = write(folder, every(), tuple(f"{folder_of(one.name)}/" for one in workspaces))
    return WrittenFolder(numbers, size, removed)


def archive(engine: Engine, workspace: Workspace, path: Path, report: Progress) -> Numbers:
    """Write the same to a ZIP file, from one snapshot; return what was written. Raise StoreError.

    Equal contents give equal archives: each file in it has the earliest date of the ZIP format.
    """

    def work(queries: Queries) -> Numbers:
        numbers = Numbers()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
            for name, data in (*documents.ROOT.items(), *files(queries, workspace, numbers, report)):
                target.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        return numbers

    try:
        return engine.store.read(workspace, work)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {disk.cause(error)}") from error


def about(name: str, keys: Sequence[str] = ()) -> bytes:
    """Return the file that says which workspace a folder is, and which keys of projects lead to it."""
    found = {"name": name} | ({"keys": keys} if keys else {})
    return (json.dumps(found, ensure_ascii=False) + "\n").encode()


def shared_keys(keys: Iterable[object]) -> list[str]:
    """Return those of a project's keys that are the same on every machine, sorted."""
    return sorted({key for key in keys if isinstance(key, str) and key.isprintable() and _SHARED.fullmatch(key)})


def workspace_in(text: str | bytes, path: str) -> tuple[str, list[str]]:
    """Return the workspace in such a file, and the keys that are the same on every machine. Raise InvalidInputError."""
    try:
        found = json.loads(text)
        name, keys = found["name"], found.get("keys")
        check_name(composed(name))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InvalidInputError):
        raise InvalidInputError(f"{path} does not name a workspace: restore it if it is memoryd's.") from None
    return name, shared_keys(keys) if isinstance(keys, list) else []


def folder_of(name: str) -> str:
    """Return the folder of a workspace: its name, if every system accepts that and no other one has it."""
    plain = readable(name)
    is_plain = plain == name == name.casefold() and len(name) <= documents.TITLE
    return name if is_plain else f"{plain[:30].rstrip(' .')} {documents.mark(('', name))}"


def write(folder: Path, files: Iterable[tuple[str, bytes]], places: tuple[str, ...]) -> tuple[int, list[Path]]:
    """Write files into a folder; return their size in bytes, and the files of an earlier export that were removed.

    What an earlier export has written is left alone if it does not begin with one of the `places`.

    Raise InvalidInputError before anything is changed, or StoreError.
    """
    try:
        written = _listed(folder)
        disk.make_directory(folder.parent)
        name, parent = f".{folder.name[:NAMED]}.", folder.parent
        with tempfile.TemporaryDirectory(disk.SUFFIX, name, parent, ignore_cleanup_errors=True) as waiting:
            others = {name: digests for name, digests in written.items() if not name.startswith(places)}
            new, size = _fill(Path(waiting), files, others)
            gone = _superfluous(folder, {name: written[name] for name in written.keys() - others.keys()}, new)
            _replace(folder, Path(waiting), written, new)
            _remove(gone)
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
        return listed_in((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError, InvalidInputError):
        raise InvalidInputError(
            f"{folder} contains files that no export has written. Nothing was written; choose a new folder."
        ) from None


def listed_in(text: str) -> Digests:
    """Return the files that a list has and an export may have written. Raise InvalidInputError."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInputError(f"{LIST} is no list of an export's files. Restore or delete it.") from None
    return {
        name: digests
        for name, digests in (listed.items() if isinstance(listed, dict) else ())
        if isinstance(digests, list) and all(map(_DIGEST.fullmatch, map(str, digests))) and _WRITTEN.fullmatch(name)
    }


def _fill(folder: Path, files: Iterable[tuple[str, bytes]], others: Digests) -> tuple[Digests, int]:
    new, size = Digests(), 0
    for name, data in files:
        path = folder / name
        disk.make_directory(path.parent)
        disk.make_file(path)
        path.write_bytes(data)
        new[name] = [hashlib.sha256(data).hexdigest()]
        size += len(data)
    _list(folder, others | new)
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
        data = path.read_bytes() if path.is_file() else b""
        digest = hashlib.sha256(data).hexdigest() if path.is_file() else None
        if digest is None or digest in new.get(name, ()):
            continue
        is_ours = digest in written.get(name, ()) and _is_ours(name, data)
        if is_ours and name not in new:
            gone.append(path)
        elif not is_ours and (name in new or digest not in written[name]):
            raise InvalidInputError(
                f"{path} was edited since it was exported. Nothing was written; import it, or move it away first."
            )
    return gone


def _is_ours(name: str, data: bytes) -> bool:
    """Return whether a file says what one with this path says; nothing of a person has the same hash."""
    place, _, path = name.partition("/")
    if path in ("", ABOUT):
        return data == documents.ROOT.get(place, b"") or (path == ABOUT and data.startswith(b'{"name": '))
    return any(mark(group_of(item)) == mark_of(path) for item in trusted(path, data))


def _replace(folder: Path, waiting: Path, written: Digests, new: Digests) -> None:
    """Move files into place; the list has both states until then, so that an interrupted export can be repeated."""
    _list(folder, {name: [*written.get(name, ()), *new.get(name, ())] for name in written.keys() | new.keys()})
    for name in (*new, LIST):
        disk.make_directory((folder / name).parent)
        (waiting / name).replace(folder / name)


def _remove(files: Iterable[Path]) -> None:
    """Remove files, and the folders that this empties."""
    for path in files:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty, as the folder itself, which has the list
            os.removedirs(path.parent)
