"""Write whole workspaces into one file of JSON lines, which `import` reads on any machine and into any store.

After the head, each workspace is a line, followed by a line for each of its rows, table by table in the order of their
keys. Deleted records and those of a single session are omitted. Nothing in the file depends on where or when it was
written: an import followed by an export gives the same bytes.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from memoryd.core.base.progress import Progress, StepProgress
from memoryd.core.engine import Engine
from memoryd.core.transfer import jsonl, schema
from memoryd.core.transfer.jsonl import Target, Written
from memoryd.core.transfer.schema import FORMAT, VERSION, WORKSPACE, WORKSPACE_FIELDS
from memoryd.errors import StoreError
from memoryd.model import Workspace
from memoryd.store import rows
from memoryd.store.base import Queries, Row
from memoryd.store.columns import DETAILS, EXPORTED

NOUNS = {
    "memory": "memories",
    "entity": "entities",
    "observation": "observations",
    "interaction": "turns",
    "summary": "summaries",
    "relations": "relations",
    "perspectives": "perspectives",
    "embeddings": "vectors",
    "events": "events",
}
"""The plural nouns of the kinds of records and of the tables of other rows."""

Numbers = Counter[str]
"""The number of rows by noun (see NOUNS)."""


def counts_text(numbers: Numbers) -> str:
    """Return numbers as words: `1,200 memories, 3 turns`."""
    return ", ".join(f"{number:,} {noun}" for noun, number in numbers.items() if number)


def noun(table: str, row: Row) -> str:
    """Return the noun that a row counts as; '' for details, which belong to a record."""
    return "" if table in DETAILS else NOUNS[row["kind"] if table == "records" else table]


def export(
    engine: Engine, path: Path, workspaces: Sequence[Workspace], report: StepProgress, *, vectors: bool = False
) -> tuple[Written, dict[str, Numbers]]:
    """Write workspaces to a new file; return what was written, and the numbers of each workspace.

    Each workspace is read from one snapshot. Without `vectors`, only vectors supplied by clients are written, since a
    server can recompute the others. Raise InvalidInputError if the file exists.
    """
    return write(path, workspaces, engine.store.read, report, vectors=vectors)


def write(
    path: Path,
    workspaces: Sequence[Workspace],
    read: Callable[[Workspace, Callable[[Queries], Numbers]], Numbers],
    report: StepProgress,
    *,
    vectors: bool,
) -> tuple[Written, dict[str, Numbers]]:
    """Write workspaces to a new file, each with what `read` reads of it: see export()."""
    numbers: dict[str, Numbers] = {}

    def fill(target: Target) -> None:
        for workspace in workspaces:
            writing = _Writing(workspace, target, vectors, partial(report, f"exporting {workspace.name}"))
            numbers[workspace.name] = read(workspace, writing.run)

    head = {"format": FORMAT, "version": VERSION, "vectors": vectors}
    return jsonl.write(path, head, fill), numbers


class _Writing:
    """The export of one workspace into a file."""

    def __init__(self, workspace: Workspace, target: Target, vectors: bool, report: Progress) -> None:
        self._workspace = workspace
        self._target = target
        self._vectors = vectors
        self._report = report
        self._hidden: frozenset[str] = frozenset()
        self._successors: dict[str, str] = {}
        self._begun = False

    def run(self, queries: Queries) -> Numbers:
        """Write all rows from the snapshot of `queries`; return their numbers."""
        if self._begun:  # a store may retry, but written lines cannot be undone
            raise StoreError("The connection was lost during the export. Nothing was written; export again.")
        self._begun = True
        self._successors = _successors(queries)
        self._hidden = frozenset(_hidden(queries)) - self._successors.keys()
        self._target.put({WORKSPACE: {name: getattr(self._workspace, name) for name in WORKSPACE_FIELDS}})
        numbers, done = Numbers(), 0
        total = sum(rows.number(queries, table) for table in self._counted()) or 1
        for table in EXPORTED:
            whole = table in self._counted()
            for page in rows.pages(queries, table) if whole else rows.brought(queries):
                for row in self._shown(table, page):
                    self._target.put(schema.line(table, row))
                    numbers[noun(table, row)] += 1
                done += len(page)
                self._report(min(done / total, 1.0))
        del numbers[""]
        return numbers

    def _counted(self) -> list[str]:
        return [table for table in EXPORTED if table != "embeddings" or self._vectors]

    def _shown(self, table: str, page: list[Row]) -> list[Row]:
        """Return the rows of a page that are exported."""
        if table in ("perspectives", "events"):
            return page
        if table == "relations":
            ends = ("from_entity", "to_entity")
            return [row for row in page if not (row["deleted_at"] or self._hidden & {row[end] for end in ends})]
        shown = [row for row in page if row["id"] not in self._hidden]
        if table == "memory_details":  # a memory is superseded by the one at the end of its succession
            return [row | {"superseded_by": self._successors.get(row["id"])} for row in shown]
        return shown


def _hidden(queries: Queries) -> Iterator[str]:
    after = ""
    while found := queries.all("exports.hidden", after=after, limit=rows.PAGE):
        yield from (row["id"] for row in found)
        after = found[-1]["id"]


def _successors(queries: Queries) -> dict[str, str]:
    """Return the memory at the end of each succession, by the id of each memory that it replaced."""
    after = {row["id"]: row["superseded_by"] for row in queries.all("exports.successions")}
    ends = {key: _end(after, key) for key in after}
    living = {row["id"] for row in queries.all("exports.living", ids=json.dumps(sorted(set(ends.values()))))}
    return {key: end for key, end in ends.items() if end in living}


def _end(after: Mapping[str, str], key: str) -> str:
    while key in after:
        key = after[key]
    return key
