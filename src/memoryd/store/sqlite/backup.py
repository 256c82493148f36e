"""A backup: all files of a store copied into one."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from memoryd import disk
from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store.columns import MOVED
from memoryd.store.sqlite.checks import problems
from memoryd.store.sqlite.connection import connect, explained
from memoryd.store.sqlite.file import SqliteFile
from memoryd.store.sqlite.layout import remove
from memoryd.store.sqlite.open_files import OpenFiles

COPYING = 0.9  # share of copying in the work of a backup; the rest is checking


def write(
    files: OpenFiles, target: Path, sources: Sequence[Workspace | None], progress: Callable[[float], None]
) -> int:
    """Copy the files of some workspaces into a new file, the registry last; return its number of records."""
    with written(target) as unfinished, closing(SqliteFile(unfinished, "OFF")) as whole:
        whole.open(create=True)
        copied = _copy(files, whole, sources, progress)
        if found := problems(whole) + whole.lacking(copied):
            raise StoreError(
                f"The copy is incomplete: {'; '.join(found)}. It was deleted. Run `memoryd doctor`, then back up again."
            )
    progress(1.0)
    return copied["records"]


def _copy(
    files: OpenFiles, whole: SqliteFile, sources: Sequence[Workspace | None], progress: Callable[[float], None]
) -> Mapping[str, int]:
    """Copy every file into one; return the number of rows by table."""
    copied: Counter[str] = Counter()
    for number, workspace in enumerate(sources):
        with files.lent(workspace) as source:  # opening a file migrates it to the present schema
            for part, (table, count) in enumerate(whole.copy_from(source.path), 1):
                copied[table] += count
                progress(COPYING * (number + part / len(MOVED)) / len(sources))
    whole.write(None, lambda q: q.run("placement.follow"))
    return copied


@contextmanager
def written(target: Path) -> Iterator[Path]:
    """Yield a new database to fill and close; it becomes the single file `target` if the block succeeds.

    Raise StoreError if the file already exists.
    """
    _demand_new(target)
    with explained(target), ExitStack() as undo, disk.appearing(target) as unfinished:
        undo.callback(remove, unfinished)  # a failure leaves its log behind, too
        yield unfinished
        with closing(connect(unfinished, "FULL")) as connection:
            connection.pragma("journal_mode", "delete")  # no write-ahead log
        _demand_new(target)  # another backup may have created it


def _demand_new(target: Path) -> None:
    if target.exists():
        raise StoreError(f"{target} already exists. Nothing was written; choose a new file name.")
