"""Import the workspaces of a file that `export` wrote: add what is missing, count it first, or replace what exists."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from memoryd.core.base.progress import Progress, StepProgress
from memoryd.core.engine import Engine
from memoryd.core.records import perspectives
from memoryd.core.transfer.export import NOUNS, Numbers, counts_text
from memoryd.core.transfer.jsonl import ImportMode, LineFile
from memoryd.core.transfer.merge import Merging, usable
from memoryd.core.transfer.reader import Part, unpacked
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import Workspace
from memoryd.store import rows
from memoryd.store.base import Queries, Row
from memoryd.store.columns import EXPORTED

T = TypeVar("T")

LOAD = 3600.0  # seconds to wait for a model: a provider may have to download it
REMARKS = 20  # maximum remarks that are shown
STORED = "Stored before that: {}; importing it again skips what is there"


@dataclass(frozen=True, slots=True)
class RestoredWorkspace:
    """The result of importing a workspace."""

    workspace: str
    made: bool
    """Whether the workspace was created by the import."""
    read: Numbers
    new: Numbers
    remarks: Sequence[str]
    """Remarks on what differs from the file, and why."""
    masked: Mapping[str, int]
    """The number of masked secrets of each kind."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        first = {"remarks": len(self.remarks), "first_remarks": list(self.remarks[:REMARKS])}
        numbers = {"read": dict(self.read), "new": {noun: self.new[noun] for noun in self.read}}
        return {"workspace": self.workspace, "made": self.made, **numbers, **first, "masked": dict(self.masked)}


def load(
    engine: Engine, source: LineFile, name: str | None, mode: ImportMode, report: StepProgress
) -> list[RestoredWorkspace]:
    """Import the workspaces of a file under their own names, or its only workspace as `name`; return the results.

    The whole file is checked first: InvalidInputError names what is wrong, and nothing is changed. `merge` adds what
    is missing, in batches: after an error, which tells of them, the finished ones stay, and the next import skips what
    they added. `replace` is one transaction per workspace.
    """
    with unpacked(source, engine.secrets, lambda done: report("checking", done)) as parts:
        targets = named(source, parts, name)
        for _, target in targets:
            engine.workspaces.usable(target)
        if name is not None and name == engine.workspace_name:
            engine.make_project()
        with telling() as done:
            for part, target in targets:
                load_part(engine, source.path.name, part, target, mode, report, done)
        return done


@contextmanager
def telling() -> Iterator[list[RestoredWorkspace]]:
    """Yield a list of what is imported, possibly in part; a StoreError or Ctrl-C after that says what is stored."""
    done: list[RestoredWorkspace] = []
    try:
        yield done
    except (StoreError, KeyboardInterrupt) as error:
        if not (stored := [f"{counts_text(one.new)} in the workspace {one.workspace!r}" for one in done if +one.new]):
            raise
        before = STORED.format(", ".join(stored))
        raise error.after(before) if isinstance(error, StoreError) else KeyboardInterrupt(f"{before}.") from error


def removed(engine: Engine, name: str) -> Numbers:
    """Return what `replace` would remove from the workspace with a name; raise InvalidInputError if it is archived."""
    known = engine.workspaces.usable(name) if engine.store.placement.exists() else None
    return engine.store.read(known, _held) if known else Numbers()


def _held(queries: Queries) -> Numbers:
    numbers = Numbers({NOUNS[row["kind"]]: row["number"] for row in queries.all("doctor.counts")})
    numbers.update({NOUNS[table]: rows.number(queries, table) for table in NOUNS.keys() & EXPORTED.keys()})
    return +numbers


def named(source: LineFile, parts: Sequence[Part], name: str | None) -> list[tuple[Part, str]]:
    """Return the workspaces of a file with the names they get; raise InvalidInputError if `name` is for several."""
    if name is not None and len(parts) > 1:
        names = ", ".join(part.name for part in parts[:10])
        raise InvalidInputError(
            f"{source.path.name} contains {len(parts)} workspaces: {names}. They cannot all be imported as {name!r}; "
            "import them under their own names."
        )
    return [(part, name or part.name) for part in parts]


def load_part(
    engine: Engine,
    file: str,
    part: Part,
    name: str,
    mode: ImportMode,
    report: StepProgress,
    done: list[RestoredWorkspace],
) -> None:
    """Import one workspace of a file into the workspace with a name, which may be new; add the result to `done`.

    If a merge fails, the result is what was stored until then.
    """
    known = engine.workspaces.usable(name)
    workspace = known or engine.workspaces.adopt(name)
    about = (part.about["description"], part.about["created_at"], part.about["updated_at"])

    def step(share: float) -> None:
        report(f"importing {name}", share)

    def note(new: Numbers, remarks: Sequence[str] = ()) -> None:
        done.append(RestoredWorkspace(name, known is None, part.numbers, new, remarks, part.masked))

    with ExitStack() as undo:
        if known is None:
            engine.workspaces.tell(workspace, *about)
            if mode == "replace":
                undo.callback(engine.workspaces.delete, name)
        if mode == "replace":
            note(engine.write(workspace, lambda queries: _replace(queries, workspace, part, step)))
        else:
            merging = Merging(engine, workspace, file, part, step)
            undo.callback(lambda: note(merging.new))
            merging.run()
            note(merging.new, merging.remarks)
        undo.pop_all()
    if known and mode == "replace":
        engine.workspaces.tell(workspace, *about)
    engine.embed_later(workspace, None)


def _replace(queries: Queries, workspace: Workspace, part: Part, report: Progress) -> Numbers:
    """Permanently replace the rows of a workspace by those of a file; return the new numbers."""
    while rows.empty_some(queries):
        pass
    queries.run("perspectives.clear")
    kept = usable(perspectives.templates(part.queries), part, workspace)
    left_out, done, size = 0, 0, part.size()
    for table in EXPORTED:
        for page in rows.pages(part.queries, table):
            fit = [row for row in page if table != "embeddings" or row["perspective"] in kept]
            rows.put(queries, table, fit)
            left_out += len(page) - len(fit)
            done += len(page)
            report(done / size)
    return part.numbers - Numbers({NOUNS["embeddings"]: left_out})


def embed(engine: Engine, report: StepProgress) -> str:
    """Embed the records that lack vectors; return '', or why the model is not available.

    Like any backfill, this covers every workspace.
    """
    engine.helpers.embedder.start()
    if engine.helpers.embedder.get(LOAD) is None:
        return engine.helpers.embedder.reason
    engine.embedding.complete(lambda done: report("making vectors", done))
    return ""


# counting what a merge would add: the merge itself runs on snapshots that it cannot change ---------------------------


class _Unchanged(Queries):
    """Queries of a snapshot, or of no workspace at all, that ignore changes."""

    def __init__(self, queries: Queries | None) -> None:
        super().__init__(None)
        self._queries = queries
        self.workspace_id = queries.workspace_id if queries else ""

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        return self._queries.all(name, **parameters) if self._queries else []

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        takes = name == "observations.number"  # the only one that changes something
        return self._queries.one(name, **parameters) if self._queries and not takes else None

    def run(self, *_: Any, **__: Any) -> None:
        """Ignore it."""

    many = run

    def changed(self, _name: str, /, **_parameters: Any) -> int:
        return 0


class _Rehearsal(Merging):
    """A merge that only counts; `known` is the workspace if it exists."""

    def __init__(self, engine: Engine, known: Workspace | None, file: str, part: Part, report: Progress) -> None:
        super().__init__(engine, known or Workspace(id="", name=part.name), file, part, report)
        self._known = known

    def _write(self, work: Callable[[Queries], T]) -> T:
        if self._known is None:
            return work(_Unchanged(None))
        return self._engine.store.read(self._known, lambda queries: work(_Unchanged(queries)))


def rehearse(engine: Engine, file: str, part: Part, name: str, report: Progress) -> Numbers:
    """Return how much of a file's workspace a merge would add to the workspace with a name; change nothing.

    The result is exact if no other process writes and the file has no duplicates, which the readers of foreign
    formats ensure. Raise InvalidInputError if the workspace is archived.
    """
    known = engine.workspaces.usable(name) if engine.store.placement.exists() else None
    merging = _Rehearsal(engine, known, file, part, report)
    merging.run()
    return merging.new
