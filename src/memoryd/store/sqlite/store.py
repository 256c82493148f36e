"""The Store on SQLite: which file a workspace is in, words by FTS5, vectors by the index in memory."""

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import apsw

from memoryd import disk
from memoryd.errors import StoreBusyError, StoreError
from memoryd.model import Workspace
from memoryd.store.base import Place, Queries, closed
from memoryd.store.columns import MOVED
from memoryd.store.journal import State
from memoryd.store.rows import empty_some
from memoryd.store.sqlite.checks import damaged, file_size, journal, large_log
from memoryd.store.sqlite.connection import SqliteQueries, connect, explained, missing
from memoryd.store.sqlite.file import SqliteFile, move
from memoryd.store.sqlite.placement import BESIDE, Files
from memoryd.store.sqlite.search import SqliteIndex

T = TypeVar("T")

OPEN_FILES = 16
TOMBSTONES = 100_000  # removals that an index in memory may lag behind before it loads anew
LETTING_GO = 1.0  # seconds to wait for reads of this process before a file is left where it is for now
COPYING = 0.9  # of the work of a backup; the rest is checking
DURABILITY = {"full": "FULL", "normal": "NORMAL"}


class SqliteStore:
    """See `store.base.Store`."""

    def __init__(self, files: Files, durability: Literal["full", "normal"] = "full") -> None:
        self.files = files
        self.home = files.home()
        self.product = "SQLite"
        self.place = str(files.path(None))
        self._durability = DURABILITY[durability]
        self._open: OrderedDict[Path, SqliteFile] = OrderedDict()
        self._lock = threading.Condition()
        self._closed = False
        self._private = False
        self._written = threading.Event()
        self.index = SqliteIndex()

    @contextmanager
    def _database(self, workspace: Workspace | None, *, create: bool = False) -> Iterator[SqliteFile]:
        """The open file of a workspace, for a while."""
        database = self._opened(workspace, create=create)
        try:
            yield database
        finally:
            self._give_back(database)

    def _opened(self, workspace: Workspace | None, *, create: bool) -> SqliteFile:
        path = self.files.path(workspace)
        database = self._take(path)
        try:
            database.open(create=create)  # may take long, so not under the lock of all
        except StoreError:
            self._give_back(database)
            if create or self.files.path(workspace) == path:
                raise
            return self._opened(workspace, create=False)  # another process has moved it at this very moment
        if not self._private:  # once, and only what has proved to be ours
            self._private = True
            self.files.close_to_others()
        return database

    def _take(self, path: Path) -> SqliteFile:
        """A file to be opened; the least recently used ones beyond OPEN_FILES are closed."""
        with self._lock:
            if self._closed:
                raise closed()
            database = self._open.get(path) or SqliteFile(path, self._durability, at_rest=self.files.at_rest(path))
            self._open[path] = database
            self._open.move_to_end(path)
            database.users += 1
            idle = [p for p, d in self._open.items() if not d.users][: max(0, len(self._open) - OPEN_FILES)]
            unused = [self._open.pop(p) for p in idle]
        for old in unused:
            old.close()
        return database

    def _give_back(self, database: SqliteFile) -> None:
        with self._lock:
            database.users -= 1
            self._lock.notify_all()
        if database.at_rest:
            self._let_go(database.path)

    def _let_go(self, path: Path, wait: float = 0) -> None:
        """Close a file so that it can be moved; one that is in use here for longer than `wait` seconds stays open."""
        with self._lock:
            self._lock.wait_for(lambda: path not in self._open or not self._open[path].users, wait)
            database = self._open.get(path)
            if database is None or database.users:
                return
            del self._open[path]
        database.close()

    def made(self) -> bool:
        """Whether there is a registry."""
        registry = self.files.path(None)
        if registry.exists():
            return True
        others = self.files.others()  # whoever makes one of these has made the registry before: so look again
        if others and not registry.exists():
            raise missing(registry)
        return bool(others)

    def make(self, workspace: Workspace | None) -> None:
        """Make the file of a workspace, or the registry, where it is not there yet."""
        if workspace is None:
            self.made()
        with self._database(workspace, create=True):
            pass

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` on one consistent snapshot."""
        with self._database(workspace) as database, database.reader() as connection:
            return work(SqliteQueries(connection, workspace))

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction, durable when this returns."""
        with self._database(workspace) as database:
            result = database.write(workspace, work)
        self._written.set()
        return result

    def changes(self, wait: float) -> set[str] | None:
        """Files tell nobody that they were written to: this waits, and less if this process writes."""
        self._written.wait(wait)
        self._written.clear()
        return None

    def tend(self, workspace: Workspace) -> None:
        """Forget removals that an index in memory need not know: vectors also go where a text changes."""
        if self.read(workspace, _trimmable):
            self.write(workspace, lambda q: q.run("vectors.trim", keep=TOMBSTONES))

    # archive and delete ----------------------------------------------------------------------------------------------

    def room(self, workspace_id: str) -> str:
        """The `db_path` of a new workspace that gets a place of its own."""
        return self.files.room(workspace_id)

    def put_away(self, registry: Queries, workspace: Workspace) -> str:
        """Mark the workspace in its own file, where no writer can miss it; then move the file if nobody has it open."""
        path = self.files.path(workspace)
        if not path.exists():
            return workspace.db_path
        self._beside(registry, workspace, lambda q: q.run("placement.mark"))
        if (pair := self.files.pair(workspace)) and path != pair[1]:
            self._let_go(path, LETTING_GO)  # the embedding of what was just stored may be reading it
            move(path, pair[1])
        return self.files.db_path(workspace)

    def is_put_away(self, workspace: Workspace) -> bool:
        """Whether its file is in the archive or lost, or, where it shares a file, it is marked."""
        path = self.files.path(workspace)
        if pair := self.files.pair(workspace):
            return not pair[0].exists() and self.files.db_path(workspace) == workspace.db_path
        return not path.exists() or self.read(workspace, lambda q: q.one("placement.marked")) is not None

    def bring_back(self, registry: Queries, workspace: Workspace) -> str:
        """Move the file back if it was moved; the mark goes last."""
        path, pair = self.files.path(workspace), self.files.pair(workspace)
        if pair and path == pair[1] and path.exists():
            self._let_go(path)
            if not move(path, pair[0]):
                raise StoreBusyError(f"{path} is being read by somebody. Nothing was changed by this call; try again.")
        self._beside(registry, workspace, lambda q: q.run("placement.unmark"))
        return self.files.db_path(workspace)

    def empty(self, workspace: Workspace) -> None:
        """Remove its rows a part at a time where it shares a file, then their words."""
        if self.files.pair(workspace) or not self.files.path(workspace).exists():
            return
        with self._database(workspace) as database:
            while database.write(workspace, empty_some, guarded=False):
                pass
            database.write(workspace, lambda q: q.run("words.optimize"), guarded=False)

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Remove its file, or its rows where it shares one; there the mark stays, for who still knows the workspace."""
        if pair := self.files.pair(workspace):
            for path in pair:
                self._let_go(path)
                with explained(path):
                    _remove(path)
        elif self.files.path(workspace).exists():
            self._beside(registry, workspace, _empty)

    def _beside(self, registry: Queries, workspace: Workspace, work: Callable[[Queries], object]) -> None:
        """Run `work` in the file of a workspace, whatever its mark; where that holds the registry too, right here."""
        if self.files.path(workspace) == self.files.path(None):
            assert isinstance(registry, SqliteQueries)
            work(SqliteQueries(registry.connection, workspace))
            return
        with self._database(workspace) as database:
            database.write(workspace, work, guarded=False)

    # upkeep ----------------------------------------------------------------------------------------------------------

    def places(self, workspaces: Iterable[Workspace | None]) -> list[Place]:
        """The files."""
        found: dict[Path, Workspace | None] = {}
        for workspace in workspaces:
            found.setdefault(self.files.path(workspace), workspace)
        return [Place(str(path), file_size(path), inside) for path, inside in found.items()]

    def problems(self, workspace: Workspace | None) -> list[str]:
        """The log and the journal; integrity of pages, of foreign keys, and, if it can be written, of the words."""
        with self._database(workspace) as database:
            found = large_log(database.path) + _problems(database) + journal(database)
            return [f"{database.path}: {problem}" for problem in found]

    def reindex(self, workspace: Workspace | None) -> None:
        """Index the words anew."""
        self.write(workspace, lambda q: q.run("words.rebuild"))

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        """How many vectors no search could use."""
        bad = list(damaged(lambda work: self.read(workspace, work), dims))
        if bad and drop:
            self.write(workspace, lambda q: q.run("doctor.drop", seqs=json.dumps(bad)))
        return len(bad)

    def backup(self, target: Path, workspaces: Sequence[Workspace], progress: Callable[[float], None]) -> int:
        """Write everything as one consistent SQLite file, which serves as a MEMORY_DB_PATH of its own, and check it."""
        sources = {self.files.path(workspace): workspace for workspace in (*workspaces, None)}
        with written(target) as unfinished, closing(SqliteFile(unfinished, "OFF")) as whole:
            whole.open()
            copied = self._copy(whole, list(reversed(sources.values())), progress)
            if problems := _problems(whole) + whole.lacking(copied):
                raise StoreError(
                    f"The copy is not whole: {'; '.join(problems)}. It was thrown away. "
                    "Run `memoryd doctor`, then back up again."
                )
        progress(1.0)
        return copied["records"]

    def _copy(
        self, whole: SqliteFile, sources: Sequence[Workspace | None], progress: Callable[[float], None]
    ) -> Mapping[str, int]:
        """Copy every file into one; how many rows of each table that is."""
        copied: Counter[str] = Counter()
        for number, workspace in enumerate(sources):
            with self._database(workspace) as source:  # brought to the present schema by opening it
                for part, (table, count) in enumerate(whole.copy_from(source.path), 1):
                    copied[table] += count
                    progress(COPYING * (number + part / len(MOVED)) / len(sources))
        whole.write(None, lambda q: q.run("placement.follow"))
        return copied

    def path(self, workspace: Workspace | None) -> Path | None:
        """The file that holds a workspace."""
        return self.files.path(workspace)

    def strays(self, workspaces: Sequence[Workspace]) -> list[Path]:
        """The files of workspaces of their own that are none of these's."""
        known = {self.files.path(workspace).name for workspace in workspaces}
        return [path for path in self.files.rooms() if path.name not in known]

    def describe(self) -> str:
        """Where the rows are, for people."""
        return f"SQLite {apsw.sqlite_lib_version()}, {self.files.path(None).parent}"

    def state(self) -> State:
        """The files are opened by this process."""
        return "embedded"

    def start(self) -> bool:
        """Nothing to start."""
        return False

    def stop(self) -> bool:
        """Nothing to stop."""
        return False

    def close(self) -> None:
        """Commit what was accepted and close every file."""
        with self._lock:
            self._closed = True
            self._written.set()
            every, self._open = self._open, OrderedDict()
        for database in every.values():
            database.close()


@contextmanager
def written(target: Path) -> Iterator[Path]:
    """Give a new database to fill and to close, which becomes `target`, one plain file, where the block ends well.

    Raise StoreError where there is such a file.
    """
    if target.exists():
        raise StoreError(f"{target} exists already. Nothing was written; choose a new file name.")
    with explained(target), ExitStack() as undo, disk.appearing(target) as unfinished:
        undo.callback(_remove, unfinished)  # a failure leaves its log, too
        yield unfinished
        with closing(connect(unfinished, "FULL")) as connection:
            connection.pragma("journal_mode", "delete")  # no write-ahead log


def _remove(database: Path) -> None:
    """Remove a database, and what SQLite put beside it."""
    for end in BESIDE:  # the database first: without its log it would be another one
        database.with_name(database.name + end).unlink(missing_ok=True)


def _empty(queries: Queries) -> None:
    """What is left, if anything was written since."""
    if sum(iter(lambda: empty_some(queries), 0)):
        queries.run("words.optimize")
    queries.run("perspectives.clear")


def _trimmable(queries: Queries) -> bool:
    marks = queries.one("vectors.marks")
    return marks is not None and marks["removed"] - marks["oldest"] >= TOMBSTONES


def _problems(database: SqliteFile) -> list[str]:
    """What is wrong with a file. The words come last: checking them takes a write, which may fail or be forbidden."""
    found = database.check_rows()
    if database.readonly:
        unable = "the words were not checked, which takes writing: the file is read-only."
        return [*found, f"{unable} Run `memoryd doctor` as a user who can write it."]
    try:
        return found + database.write(None, _check_words)
    except StoreError as error:
        return [*found, f"the words were not checked: {error}"]


def _check_words(queries: Queries) -> list[str]:
    try:
        queries.run("words.check")
    except apsw.CorruptError:
        return ["the words do not match the rows. Repair them with `memoryd doctor --repair`."]
    return []
