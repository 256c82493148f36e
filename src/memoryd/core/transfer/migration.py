"""Copy a whole memory from one database to another, SQLite or Postgres, and verify the copy.

Each workspace is copied from one snapshot, in transactions of a page of rows. Existing rows are left alone, so a
killed run can simply be repeated. A workspace is registered last, so an incomplete one is never visible.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from memoryd.core.base.clock import Clock
from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.security.secrets import Secrets
from memoryd.core.transfer.export import export
from memoryd.core.workspaces.registry import ARCHIVED, Workspaces
from memoryd.errors import InvalidInputError, NotFoundError, StoreError
from memoryd.model import Workspace
from memoryd.settings import Settings, as_path
from memoryd.store import open_store, rows
from memoryd.store.base import Queries, Store
from memoryd.store.columns import MOVED, OF_WORKSPACE
from memoryd.store.rows import Sum
from memoryd.store.sqlite.store import SqliteStore
from memoryd.store.sqlite.upkeep import copy, former, written

OF_REGISTRY = ("sessions", "session_holders", "workspace_keys")
"""The tables of a registry that are copied besides its workspaces."""
SERVER = ("postgresql:", "postgres:")
LISTED = 10  # maximum differences in an error
PART = "The target has a part of the copy; repeating it adds the rest"


@dataclass(frozen=True, slots=True)
class Difference:
    """A table of a workspace that differs between source and target."""

    workspace: str
    table: str
    source: int
    target: int
    """The number of rows in the target."""

    def __str__(self) -> str:
        numbers = f"{self.source} in the source, {self.target} in the target"
        same = f"{self.source} on both sides, but not the same"
        return f"{self.table} of {self.workspace}: {same if self.source == self.target else numbers}"


@dataclass(frozen=True, slots=True)
class Moved:
    """A copied workspace: its rows by table, and the number of rows that this run wrote."""

    name: str
    status: str
    rows: dict[str, int]
    written: int


@dataclass(frozen=True, slots=True)
class MigrationOutcome:
    """The result of a migration."""

    moved: Sequence[Moved]
    differences: Sequence[Difference]
    stayed: Sequence[str] = ()
    """The tokens and people of the source that the target does not have: access is not copied."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "workspaces": list(map(asdict, self.moved)),
            "differences": list(map(asdict, self.differences)),
            "stayed": list(self.stayed),
        }

    def demand_same(self) -> None:
        """Raise StoreError unless the target has the contents of the source."""
        if self.differences:
            more = ["..."] if len(self.differences) > LISTED else []
            listed = "; ".join([*map(str, self.differences[:LISTED]), *more])
            raise StoreError(
                f"Source and target differ: {listed}. Stop what writes to them and run this again to add what is "
                "missing; if rows have changed since they were copied, start with an empty target."
            )


# the places ----------------------------------------------------------------------------------------------------------


def at(place: str, settings: Settings) -> Settings:
    """Return settings for a place: the URL of a database, a file, or a data directory. Raise InvalidInputError."""
    if place.startswith(SERVER):
        return settings.model_copy(update={"database_url": place, "db_path": None})
    path = as_path(place)
    single = path.is_file() or (not path.exists() and bool(path.suffix))
    update: dict[str, Any] = {"db_path": path} if single else {"db_path": None, "data_dir": path}
    return settings.model_copy(update={"database_url": None, **update})


def _really(place: Settings) -> Settings:
    """Return the same place with its links resolved."""
    real = {name: Path(os.path.realpath(path)) for name in ("data_dir", "db_path") if (path := getattr(place, name))}
    return place.model_copy(update=real)


@contextmanager
def opened(place: str, settings: Settings) -> Iterator[Store]:
    """Open the store at a place."""
    with closing(open_store(at(place, settings))) as store:
        yield store


# memories in SQLite from before the first release, which no store opens any more --------------------------------------


@contextmanager
def _unpacked(place: str) -> Iterator[str]:
    """Yield the path of a temporary copy in the present schema if a former memory is there, else the same place."""
    if place.startswith(SERVER) or (layout := former(as_path(place))) is None:
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="memoryd-former-") as private:
        file = Path(private) / "memory.db"
        copy(layout, file)
        yield str(file)


@contextmanager
def exported(path: Path, settings: Settings, report: StepProgress) -> Iterator[Path]:
    """Yield the path of an export of all workspaces if a former memory is there, else the same path."""
    with _unpacked(str(path)) as file:
        if file == str(path):
            yield path
            return
        lines = Path(file).with_name(f"{path.name}.jsonl")
        with Engine(at(file, settings), fetch=False) as engine:
            export(engine, lines, engine.workspaces.all(), report)
        yield lines


# whole memories ------------------------------------------------------------------------------------------------------


def migrate(source: str, target: str, settings: Settings, report: StepProgress) -> MigrationOutcome:
    """Copy everything from one place to another. Raise MemorydError; what was already written stays."""
    if _really(at(source, settings)) == _really(at(target, settings)):
        raise InvalidInputError("Source and target are the same place. Name two different places.")
    with _unpacked(source) as present, opened(present, settings) as here, opened(target, settings) as there:
        copying = Migration(here, there, report)
        try:
            return copying.run()
        except StoreError as error:
            if not copying.has_written:
                raise
            raise error.after(PART) from error


def backup(engine: Engine, target: Path, report: StepProgress) -> int:
    """Write everything to one consistent SQLite file while others keep writing; return the number of records.

    The file is checked before it appears under its name.
    """
    if isinstance(engine.store, SqliteStore):
        every = engine.workspaces.all()
        return engine.store.upkeep.backup(target, every, partial(report, "copying and checking"))
    with written(target) as unfinished:
        with opened(str(unfinished), engine.settings) as store:
            outcome = Migration(engine.store, store, report, steady=True).run()
            if problems := store.upkeep.problems(None):
                raise StoreError(f"The copy is damaged: {'; '.join(problems)}. It was deleted. Repeat the backup.")
        outcome.demand_same()
    return sum(moved.rows["records"] for moved in outcome.moved)


# the migration -------------------------------------------------------------------------------------------------------


class Migration:
    """The copying of everything from one store to another.

    With `steady`, verify against the snapshot that was copied, so that others may keep writing; otherwise against the
    source at the end.
    """

    def __init__(self, source: Store, target: Store, report: StepProgress, *, steady: bool = False) -> None:
        self._source, self._target = source, target
        self._from, self._to = (Workspaces(store, Clock(), Secrets("allow")) for store in (source, target))
        self._report = report
        self._steady = steady
        self._sums: dict[str, dict[str, Sum]] = {}
        self._written: dict[str, int] = {}
        self._differences: list[Difference] = []
        self._total = self._done = 0
        self.has_written = False
        """Whether the target has rows of this run."""

    def run(self) -> MigrationOutcome:
        """Copy, register and verify. Raise InvalidInputError before anything is written if a name is taken."""
        every = self._from.all()
        if not every:
            raise NotFoundError(
                f"{self._source.place} contains no workspace. Check its path; "
                "for a data directory, name the directory itself."
            )
        self._check_places(every)
        self._check_names(every)
        self._total = 3 * sum(self._source.read(workspace, _size) for workspace in every) or 1
        self._target.placement.create(None)
        for workspace in every:
            self._move(workspace)
        self._source.read(None, self._move_registry)
        if not self._steady:
            for workspace in every:
                self._source.read(workspace, partial(self._verify, workspace))
        stayed = self._source.read(None, _let_in).difference(self._target.read(None, _let_in))
        return MigrationOutcome([self._moved(workspace) for workspace in every], self._differences, sorted(stayed))

    # before anything is written --------------------------------------------------------------------------------------

    def _check_places(self, every: Sequence[Workspace]) -> None:
        """Raise InvalidInputError if the target is a file of the source."""
        file = self._target.placement.path(None)
        parts = [self._source.placement.path(workspace) for workspace in (None, *every)]
        if file and os.path.realpath(file) in [os.path.realpath(path) for path in parts if path]:
            raise InvalidInputError(f"{file} is part of the source. Choose another target.")

    def _check_names(self, every: Sequence[Workspace]) -> None:
        taken = [one.name for one in every if (known := self._to.get(one.name)) and known.id != one.id]
        if taken:
            raise InvalidInputError(
                f"The target has other workspaces with the same name: {', '.join(taken)}. Nothing was written. "
                "To merge them, run `memoryd export FILE --all` on the source and `memoryd import FILE --all` on "
                "the target; to discard what that has, run `memoryd workspace delete` there; or choose another target."
            )

    # copying ---------------------------------------------------------------------------------------------------------

    def _move(self, workspace: Workspace) -> None:
        known = self._to.by_id(workspace.id)
        place = known or self._place(workspace)
        # archiving comes last, and an archived workspace takes no rows
        complete = known is not None and known.status == ARCHIVED
        self._written[workspace.id] = 0

        def work(queries: Queries) -> None:
            for table in () if complete else OF_WORKSPACE:
                self._copy(queries, place, table)
            self._register(workspace, place)
            if self._steady:
                self._verify(workspace, queries)

        self._source.read(workspace, work)

    def _place(self, workspace: Workspace) -> Workspace:
        """Create the place of a workspace in the target; return the workspace with that place."""
        place = replace(workspace, db_path=self._target.placement.own_path(workspace.id))
        self._target.placement.create(place)
        # A workspace of this id may have been deleted there before.
        self._target.write(None, lambda q: self._target.placement.restore(q, place))
        return place

    def _copy(self, queries: Queries, place: Workspace, table: str) -> None:
        """Add the rows of a table that the target lacks; rows without a key are appended to those that it has."""
        before = known = self._target.read(place, partial(rows.number, table=table))
        for page in rows.pages(queries, table):
            new = page[known:] if MOVED[table].numbered else page
            known = max(0, known - len(page))
            if new:
                self._target.write(place, partial(rows.put, table=table, rows=new))
                self.has_written = True
            self._step(f"copying {place.name}", len(page))
        self._written[place.id] += self._target.read(place, partial(rows.number, table=table)) - before

    def _register(self, workspace: Workspace, place: Workspace) -> None:
        """Add the workspace to the registry of the target; archive it if it is archived."""
        row = {**_described(workspace), "id": workspace.id, "db_path": place.db_path}
        self._target.write(None, partial(rows.put, table="projects", rows=[row]))
        if workspace.status == ARCHIVED:
            self._to.settle_one(place)

    def _move_registry(self, queries: Queries) -> None:
        """Copy what else the target's registry lacks; an existing session may have another project by now."""
        for table in OF_REGISTRY:
            for page in rows.pages(queries, table):
                self._target.write(None, partial(rows.put, table=table, rows=page))
            difference = self._lacking_rows(queries, table)
            if difference.source != difference.target:
                self._differences.append(difference)

    # verifying -------------------------------------------------------------------------------------------------------

    def _lacking_rows(self, queries: Queries, table: str) -> Difference:
        """Compare rows of the source's registry with the target's, which may have more."""
        wanted = {rows.fingerprint(table, row) for page in rows.pages(queries, table) for row in page}

        def held(there: Queries) -> int:
            return sum(rows.fingerprint(table, row) in wanted for page in rows.pages(there, table) for row in page)

        return Difference("all workspaces", table, len(wanted), self._target.read(None, held))

    def _verify(self, workspace: Workspace, queries: Queries) -> None:
        """Compare the number and checksum of each table, and the entries of the registries."""
        place = self._to.by_id(workspace.id) or workspace
        now = workspace if self._steady else self._from.by_id(workspace.id) or workspace
        sums = self._sums[workspace.id] = {}
        for table in OF_WORKSPACE:
            ours = sums[table] = self._sum(queries, workspace, table)
            theirs = self._target.read(place, partial(self._sum, workspace=workspace, table=table))
            if ours != theirs:
                self._differences.append(Difference(workspace.name, table, ours.number, theirs.number))
        if _described(place) != _described(now):
            self._differences.append(Difference(workspace.name, "name, description, status, includes or times", 1, 1))

    def _sum(self, queries: Queries, workspace: Workspace, table: str) -> Sum:
        total = Sum()
        for page in rows.pages(queries, table):
            total += rows.summed(table, page)
            self._step(f"verifying {workspace.name}", len(page))
        return total

    def _step(self, what: str, number: int) -> None:
        self._done += number
        self._report(what, min(self._done / self._total, 1.0))

    def _moved(self, workspace: Workspace) -> Moved:
        numbers = {table: of.number for table, of in self._sums[workspace.id].items()}
        return Moved(workspace.name, workspace.status, numbers, self._written[workspace.id])


def _let_in(queries: Queries) -> set[str]:
    return {row["name"] for table in ("tokens", "accounts") for row in queries.all(f"{table}.all")}


def _size(queries: Queries) -> int:
    return sum(rows.number(queries, table) for table in OF_WORKSPACE)


def _described(workspace: Workspace) -> dict[str, str]:
    """Return the fields of a workspace that must match in source and target."""
    texts = ("name", "description", "status", "created_at", "updated_at")
    return {name: getattr(workspace, name) for name in texts} | {"includes": json.dumps(workspace.includes)}
