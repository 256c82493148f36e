"""What core asks of a store. A store knows rows, words and vectors; it knows nothing of MCP, ranking or models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryd.errors import StoreError, UncertainError
from memoryd.model import Filter, VectorSet, Workspace
from memoryd.query_syntax import WordQuery
from memoryd.store.journal import Database

T = TypeVar("T")
Row = dict[str, Any]
Vector = NDArray[np.float32]
UNIT = 0.01  # how far from 1 the length of a stored vector may be; float16 leaves it within .001
Scored = list[tuple[str, float]]
"""(record id, score), best first."""

AFTER_EVERY_ID = "\U0010ffff"
"""Sorts behind every id, and behind whatever an id that begins so goes on with."""


class Queries(Protocol):
    """The named statements, inside one transaction of one workspace: each may use `:workspace`, which is filled in."""

    workspace_id: str
    """'' in the registry."""

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        """Every row."""

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        """The first row, if any."""

    def run(self, name: str, /, **parameters: Any) -> int:
        """Change rows; returns how many."""

    def many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        """Run once for each row of parameters."""


class Index(Protocol):
    """Searches by words and by vectors, each inside an open transaction: it sees what that one's snapshot has."""

    def words(self, queries: Queries, query: WordQuery, allowed: Filter, limit: int) -> Scored:
        """Return the records that match by words, scored by BM25 (higher is better)."""

    def matching(self, queries: Queries, query: WordQuery, ids: Sequence[str]) -> set[str]:
        """Return those of some records that match by words."""

    def nearest(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, allowed: Filter, limit: int
    ) -> list[Scored]:
        """Return for each set the records whose vectors are nearest to the unit `vector`, scored by cosine."""

    def cosines(
        self, queries: Queries, sets: Sequence[VectorSet], vector: Vector, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return for each set the cosine of `vector` with each of some records that have a vector in it."""

    def vectors(self, queries: Queries, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of some records: (chunks, dim), unit length, in the order of the record's text."""

    def means(self, queries: Queries, among: VectorSet) -> tuple[list[str], Vector]:
        """Return the entities with vectors of observations in a set, and their means: (entities, dim), unit length."""


class Place(NamedTuple):
    """A file, or a database, that can be looked into by itself."""

    name: str
    size: int
    """Bytes."""
    inside: Workspace | None
    """One of those who live in it; None: the registry."""


class Store(Database, Protocol):
    """Rows, words and vectors of every workspace.

    `workspace` None is the registry: what belongs to no workspace. Every method raises StoreError (StoreBusyError
    where another process held the database for too long) with cause and next step.
    """

    home: str
    """The `db_path` of a workspace that is made on first use."""

    place: str
    """Where the registry is, for people; never a password."""

    @property
    def index(self) -> Index:
        """Searches by words and by vectors."""

    def made(self) -> bool:
        """Whether anything was ever stored. Raises StoreError where the registry is lost and workspaces are not."""

    def make(self, workspace: Workspace | None) -> None:
        """Make the place of a workspace, or the registry, where it is not there yet: nothing else does.

        For one that never had a place: a file that is missing is a loss to be told, not to be covered up.
        """

    def read(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` on one consistent snapshot."""

    def write(self, workspace: Workspace | None, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction; when this returns, it is durable. If `work` raises, nothing was written."""

    def changes(self, wait: float) -> set[str] | None:
        """Wait until some process has written, so many seconds at most; the ids of the workspaces, '' is the registry.

        None where nobody can say: look yourself. For one thread at a time.
        """

    def tend(self, workspace: Workspace) -> None:
        """Keep the indexes as searches of a workspace want them. May take minutes, and holds nobody up."""

    # b: archive and delete. Those that take `registry` run inside one of its transactions, which keeps all others from
    # doing the same, and each of them can be said again after a crash. A database server keeps no files to move: there
    # the status in the registry, checked by every write, is all that putting away takes.

    def room(self, workspace_id: str) -> str:
        """The `db_path` of a new workspace that gets a place of its own; '' where there is but one place."""

    def put_away(self, registry: Queries, workspace: Workspace) -> str:
        """Refuse every later write of a workspace, and move its file to the archive if nobody is using it.

        Returns its `db_path` from now on. A workspace whose file is lost is left as it is.
        """

    def is_put_away(self, workspace: Workspace) -> bool:
        """Whether there is nothing left to do for `put_away`."""

    def bring_back(self, registry: Queries, workspace: Workspace) -> str:
        """The reverse of `put_away`; raises StoreBusyError where somebody is reading the archived file."""

    def empty(self, workspace: Workspace) -> None:
        """Before `erase`, outside of the registry's transaction: remove the rows of a workspace that shares its place.

        A part at a time, so that nobody waits for all of them. It was put away before.
        """

    def erase(self, registry: Queries, workspace: Workspace) -> None:
        """Remove all that a workspace holds, for good. It was put away before."""

    # upkeep: what doctor looks at, place by place, and what it can make anew without a backup

    def places(self, workspaces: Iterable[Workspace | None]) -> list[Place]:
        """The files or databases that hold these workspaces."""

    def problems(self, workspace: Workspace | None) -> list[str]:
        """What is wrong with the place of a workspace, and what could not be checked: each with what to do."""

    def reindex(self, workspace: Workspace | None) -> None:
        """Make anew what a place derives from its rows: words, or indexes that are broken."""

    def damaged(self, workspace: Workspace, dims: Mapping[str, int], *, drop: bool = False) -> int:
        """How many stored vectors no search could use; `dims` says what a model makes.

        With `drop` they go, so that their records are embedded anew: with one bad chunk a record loses all of them.
        """

    def path(self, workspace: Workspace | None) -> Path | None:
        """The file that holds a workspace, which may not exist yet; None where a database server holds it."""

    def strays(self, workspaces: Sequence[Workspace]) -> list[Path]:
        """The files that hold a workspace, but none of `workspaces`, which are all that the registry knows."""

    def describe(self) -> str:
        """Where the rows are, for people."""

    def close(self) -> None:
        """Finish what was accepted and let go of files and connections. Whatever is asked later raises StoreError."""


# what every store says -----------------------------------------------------------------------------------------------


def closed() -> StoreError:
    """Whoever asks after close()."""
    return StoreError("The store is closed.")


def uncertain(cause: str) -> UncertainError:
    """Whoever's commit failed after all was written: a crash from now on may bring it back."""
    return UncertainError(f"{cause}. It is unknown whether this was stored; check before you repeat it.")


def refused(workspace: Workspace) -> StoreError:
    """Whoever found it active a moment ago may still try to write."""
    return StoreError(
        f'project "{workspace.name}" was archived or deleted meanwhile. Nothing was stored by this call; '
        "restore it first, or switch to another one."
    )
