"""The interface of a store: four roles. A store knows nothing of MCP, ranking or models."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryd.errors import StoreError, UncertainError
from memoryd.model import Filter, VectorSet, Workspace
from memoryd.query_syntax import Phrase, WordQuery
from memoryd.store.journal import Database

T = TypeVar("T")
Vector = NDArray[np.float32]

# transactions in which named statements read and write rows -----------------------------------------------------------

Row = dict[str, Any]


def of_row(made: type[T], row: Row, **others: Any) -> T:
    """Return a value of a dataclass from the columns that have the names of its fields, and its `others`."""
    fields: Any = made
    return made(**{name: value for name, value in row.items() if name in fields.__dataclass_fields__} | others)


AFTER_EVERY_ID = "\U0010ffff"
"""A string that sorts after every id, and after every string that begins with an id."""


class Queries(Protocol):
    """The named statements of store/sql/ in one transaction. Each gets the id of its workspace as `:workspace`."""

    workspace_id: str
    """'' in the registry."""
    _bound: dict[str, str]
    _marks: Row | None

    def __init__(self, workspace: Workspace | None) -> None:
        self.workspace_id = workspace.id if workspace else ""
        self._bound, self._marks = {"workspace": self.workspace_id}, None

    @property
    def writing(self) -> bool:
        """Whether the transaction has written, or may write, what may yet be undone."""
        return False

    def marks(self) -> Row:
        """Return the latest changes of the workspace or its file; a transaction that does not write asks only once."""
        if self._marks is None or self.writing:
            self._marks = self.one("search.marks")
        assert self._marks is not None
        return self._marks

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        """Return every row."""

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        """Return the first row, or None."""

    def run(self, name: str, /, **parameters: Any) -> None:
        """Change rows. An error may come with a later statement of the transaction, or at its end."""

    def changed(self, name: str, /, **parameters: Any) -> int:
        """Change rows; return how many."""

    def many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        """Run a statement once for each row of parameters."""


def number_of(queries: Queries, name: str, /, **parameters: Any) -> int:
    """Return the column `number` of the only row of a statement that counts."""
    row = queries.one(name, **parameters)
    return int(row["number"]) if row else 0


class Rows(Protocol):
    """Transactions. `workspace` None is the registry: the rows that belong to no workspace.

    Every method raises StoreError, or StoreBusyError if another process held the database for too long; the message
    names the cause and the next step.
    """

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` on one consistent snapshot and return its result."""

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction and return its result once it is durable. If `work` raises, nothing changes.

        Raise the error of `archived` if `Placement.archive` has marked the workspace, UncertainError if it is unknown
        whether the commit succeeded. `work` may run again after a conflict with another transaction.
        """

    def changes(self, wait: float) -> set[str] | None:
        """Wait up to `wait` seconds for a write of any process; return the ids of the workspaces, '' for the registry.

        None means that writes cannot be observed: the caller has to poll. Only one thread may call this.
        """

    def wake(self) -> None:
        """End a wait for changes early, if the store can."""


def closed() -> StoreError:
    """Return the error for every call after close()."""
    return StoreError("The store is closed.")


def uncertain(cause: str) -> UncertainError:
    """Return the error for a commit that failed after everything was written: a crash may still restore it."""
    return UncertainError(f"{cause}. It is unknown whether this was stored; check before you repeat it.")


def archived(workspace: Workspace) -> StoreError:
    """Return the error for a write to a workspace that was archived after the caller had looked it up."""
    return StoreError(
        f'project "{workspace.name}" was archived or deleted meanwhile. Nothing was stored by this call; '
        "restore it first, or switch to another project."
    )


# searches by words and by vectors -------------------------------------------------------------------------------------

NUMBERS = 1_000  # maximum cached counts of memories
UNIT = 0.01  # maximum difference of a stored vector's length from 1; float16 keeps it within .001
Scored = list[tuple[str, float]]
"""(record id, score), best first."""


def visible(allowed: Filter) -> Row:
    """Return a filter as parameters of a statement."""
    tags = list(dict.fromkeys(allowed.tags))
    return {
        "kinds": json.dumps(allowed.kinds),
        "session": allowed.session,
        "shelf": allowed.shelf,
        "entity": allowed.entity,
        "tags": json.dumps(tags, ensure_ascii=False),
        "tag_count": len(tags),
        "among": json.dumps(allowed.among) if allowed.among is not None else "",
        "after": allowed.after,
        "before": allowed.before,
    }


class Index(Protocol):
    """Searches inside an open transaction: they see the snapshot of `queries` and nothing later."""

    _numbers: dict[tuple[str, ...], tuple[tuple[int | None, int], int]]

    def __init__(self) -> None:
        self._numbers = {}

    def number(self, queries: Queries, allowed: Filter) -> int:
        """Return how many memories with a key are on the shelf of a filter; counting takes longer than a search."""
        come, key = queries.marks(), (queries.workspace_id, allowed.session, allowed.shelf)
        now = come.get("records"), come["changes"]
        then, number = self._numbers.get(key, (None, 0))
        if then != now or queries.writing:
            number = number_of(queries, "vault.number", session=allowed.session, shelf=allowed.shelf)
            if not queries.writing:
                self._numbers = {**self._numbers, key: (now, number)} if len(self._numbers) < NUMBERS else {}
        return number

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match by words, scored by BM25 over title, type, body and tags."""

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        """Return the ids that match by words."""

    def coverage(self, queries: Queries, terms: Sequence[Phrase], ids: Sequence[str]) -> dict[str, int]:
        """Return how many of the terms each record has."""

    def kept(self) -> dict[str, int]:
        """Return the bytes of the caches for searches in this process, by kind."""

    def nearest(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, allowed: Filter, limit: int
    ) -> list[Scored]:
        """Return for each set the records whose vectors are nearest to the unit `vector`, scored by cosine."""

    def cosines(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return for each set the cosine of `vector` with each of the given records that has a vector in it."""

    def vectors(self, queries: Queries, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of some records: (chunks, dim), unit length, in the order of the record's text."""

    def means(self, queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
        """Return the entities with vectors of observations in a set, and their means: (entities, dim), unit length."""


# the placement of workspaces, their archiving and deletion ------------------------------------------------------------


class Placement(Protocol):
    """The files, or whatever else an engine keeps workspaces in. `workspace` None is the registry.

    An engine with one database for all workspaces has little to do here: `db_path` is '', there are no files, and
    archiving only sets the mark that makes every later write fail.

    Methods with a parameter `registry` run inside one of its write transactions, so no two processes archive, restore
    or delete at the same time. Each can be repeated after a crash. Every method raises StoreError, as in `Rows`.
    """

    home: str = ""
    """The `db_path` of a workspace that is created on first use."""

    def own_path(self, _workspace_id: str, /) -> str:
        """Return the `db_path` of a new workspace with a separate file; '' if all share one database."""
        return ""

    def path(self, _workspace: Workspace | None, /) -> Path | None:
        """Return the file of a workspace, which need not exist yet; None if the workspace is on a server."""
        return None

    def strays(self, _workspaces: Sequence[Workspace], /) -> list[Path]:
        """Return the files of workspaces that are not among these, the rows of the registry."""
        return []

    def exists(self) -> bool:
        """Return whether anything was ever stored; raise StoreError if the registry is lost but workspaces exist."""

    def create(self, workspace: Workspace | None) -> None:
        """Create the database of a workspace or the registry if it does not exist. No other method creates one.

        Call it only for new workspaces: for any other, a missing file is a loss and must be an error.
        """

    def archive(self, registry: Queries, workspace: Workspace) -> str:
        """Mark a workspace, so that later writes to it fail, and move its file to the archive unless it is in use.

        Return the new `db_path`. A workspace whose file is lost stays unchanged.
        """

    def is_archived(self, workspace: Workspace) -> bool:
        """Return whether `archive` has nothing left to do."""

    def restore(self, registry: Queries, workspace: Workspace) -> str:
        """Undo `archive`; return the `db_path`. Raise StoreBusyError while the archived file is being read."""

    def empty(self, workspace: Workspace) -> None:
        """Delete the rows of a workspace that shares its database, in small transactions, so that others can write.

        Call it between `archive` and `erase`, outside of any transaction.
        """

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Permanently delete the rest of an archived workspace; its mark stays, so that writes keep failing."""


# checks and repairs for `memoryd doctor`, and maintenance in the background -------------------------------------------


class StoredFile(NamedTuple):
    """A file, or the database of a server, that is checked separately."""

    name: str
    size: int
    """Bytes."""
    inside: Workspace | None
    """One of the workspaces in it, or None for the registry."""


class Upkeep(Protocol):
    """Checks and repairs. `workspace` None is the registry. Every method raises StoreError, as in `Rows`."""

    def describe(self) -> str:
        """Return the product, its version and its place, for people; never a password."""

    def files(self, workspaces: Iterable[Workspace | None]) -> list[StoredFile]:
        """Return the files or databases that contain some workspaces, each once."""

    def problems(self, workspace: Workspace | None) -> list[str]:
        """Check the file of a workspace; return what is wrong or could not be checked, each with a remedy."""

    def reindex(self, workspace: Workspace | None) -> None:
        """Rebuild what is derived from the rows of a file: words, or broken indexes."""

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        """Return how many stored vectors are unusable; `dims` has the dimension of each model's vectors.

        With `drop`, delete them, so that their records are embedded again; if one chunk of a record is bad, all are
        deleted.
        """

    def scrub(self, workspace: Workspace) -> list[Path]:
        """Remove what deletions have left outside the rows of a workspace, such as in a log.

        Return the files that could still contain any of it; none if a server keeps them.
        """

    def tend(self, workspace: Workspace) -> None:
        """Maintain the search indexes of a workspace. This may take minutes; others can write in the meantime."""


# all of it ------------------------------------------------------------------------------------------------------------


class Store(Rows, Database, Protocol):
    """A store: its rows, and its other three roles as attributes."""

    @property
    def index(self) -> Index:
        """Searches by words and by vectors."""

    @property
    def placement(self) -> Placement:
        """Where workspaces are kept."""

    @property
    def upkeep(self) -> Upkeep:
        """Checks and repairs."""

    def close(self) -> None:
        """Finish accepted work, and close files and connections. Every later call raises StoreError."""
