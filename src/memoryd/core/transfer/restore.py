"""Workspaces from a file of `exports`: added to what is there, or in its place."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from memoryd.core.engine import Engine
from memoryd.core.transfer.export import NOUNS, Numbers, Report
from memoryd.core.transfer.jsonl import Mode, Source
from memoryd.core.transfer.merge import Merging, batches, templates, usable
from memoryd.core.transfer.schema import TABLES
from memoryd.core.transfer.validation import Part, changed, check
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.store import rows
from memoryd.store.base import Queries, Row

REMARKS = 20  # that are told in full


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the import of a workspace has come to."""

    workspace: str
    made: bool
    """Whether there was none of that name before."""
    read: Numbers
    new: Numbers
    remarks: Sequence[str]
    """What did not become as it is in the file, and why."""
    masked: Mapping[str, int]
    """How many secrets of each kind were masked."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        first = {"remarks": len(self.remarks), "first_remarks": list(self.remarks[:REMARKS])}
        numbers = {"read": dict(self.read), "new": {noun: self.new[noun] for noun in self.read}}
        return {"workspace": self.workspace, "made": self.made, **numbers, **first, "masked": dict(self.masked)}


def load(engine: Engine, source: Source, name: str | None, mode: Mode, report: Report) -> list[Outcome]:
    """Import the workspaces of a file, under the names that it gives or the one of them as `name`.

    All of it is read and checked first: InvalidInputError names what is wrong, and nothing was changed. `merge` adds
    what is not there, in batches: what was added until something goes wrong is found again by the next import.
    `replace` is one transaction a workspace.
    """
    parts = check(source, engine.secrets, lambda done: report("checking", done))
    if name is not None and len(parts) > 1:
        names = ", ".join(part.name for part in parts[:10])
        raise InvalidInputError(
            f"{source.path.name} holds {len(parts)} workspaces: {names}. They cannot all be imported as {name!r}; "
            "import them under their own names."
        )
    targets = [(part, name or part.name) for part in parts]
    for _, target in targets:
        engine.workspaces.usable(target)
    return [_load(engine, source, part, target, mode, report) for part, target in targets]


def _load(engine: Engine, source: Source, part: Part, name: str, mode: Mode, report: Report) -> Outcome:
    known = engine.workspaces.usable(name)
    workspace = known or engine.workspaces.adopt(name)

    def step(done: float) -> None:
        report(f"importing {name}", done)

    with ExitStack() as undo:
        if known is None:
            engine.workspaces.tell(
                workspace, part.told["description"], part.told["created_at"], part.told["updated_at"]
            )
            if mode == "replace":
                undo.callback(engine.workspaces.delete, name)
        remarks: Sequence[str] = ()
        if mode == "replace":
            new = _Replacing(engine, workspace, source, part, step).run()
        else:
            merging = Merging(engine, workspace, source, part, step)
            merging.run()
            new, remarks = merging.new, merging.remarks
        undo.pop_all()
    if known and mode == "replace":
        engine.workspaces.tell(workspace, part.told["description"], part.told["created_at"], part.told["updated_at"])
    engine.embed_later(workspace, None)
    return Outcome(name, known is None, part.numbers, new, remarks, part.found)


class _Replacing:
    """The rows of a file in place of those of a workspace, which go for good."""

    def __init__(
        self, engine: Engine, workspace: Workspace, source: Source, part: Part, report: Callable[[float], None]
    ) -> None:
        self._engine, self._workspace = engine, workspace
        self._source, self._part, self._report = source, part, report

    def run(self) -> Numbers:
        """Replace all or nothing; how much there is now."""
        return self._engine.write(self._workspace, self._replace)

    def _replace(self, queries: Queries) -> Numbers:
        while rows.empty_some(queries):
            pass
        queries.run("perspectives.clear")
        told = [row for _, row in self._part.rows(self._source, "perspectives")]
        kept = usable(templates(told), self._part, self._workspace)
        left_out, done = 0, 0
        for table in TABLES:
            for batch in batches((row for _, row in self._part.rows(self._source, table)), _weight):
                fit = [row for row in batch if table != "embeddings" or row["perspective"] in kept]
                rows.put(queries, table, fit)
                left_out += len(batch) - len(fit)
                done += len(batch)
                self._report(done / self._part.size())
        queries.run("imports.renumber")
        if self._source.changed():
            raise changed(self._source)
        return self._part.numbers - Numbers({NOUNS["embeddings"]: left_out})


def _weight(row: Row) -> int:
    return len(row.get("body", ""))
