"""Read a file of workspaces into a scratch database, to check all of it before anything is imported.

Each line is read once. References are looked up in the database, whose keys reveal duplicates.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from memoryd.core.base.batches import batches
from memoryd.core.base.progress import Progress
from memoryd.core.records import perspectives
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.security.secrets import Secrets
from memoryd.core.transfer import schema
from memoryd.core.transfer.export import Numbers, noun
from memoryd.core.transfer.jsonl import HEAD, LineFile
from memoryd.core.transfer.schema import FORMAT, VERSION, WORKSPACE, WORKSPACE_FIELDS
from memoryd.errors import InvalidInputError
from memoryd.model import Kind
from memoryd.store import rows
from memoryd.store.base import Queries, Row
from memoryd.store.columns import DETAILS, EXPORTED
from memoryd.store.sqlite.scratch import Scratch, scratch

BATCH = 500  # rows written at a time
HEAVY = 8_000  # characters of text that count as an additional row
ORDER = {table: place for place, table in enumerate(EXPORTED)}


@dataclass(slots=True)
class Part:
    """One workspace of a file."""

    about: dict[str, str]
    """The values of WORKSPACE_FIELDS."""
    queries: Queries
    """Its rows, in the scratch database."""
    tells_events: bool = True
    """Whether its events describe its records; otherwise an event is written for each added record."""
    turns_by_id: bool = False
    """Whether a turn that exists here, or was removed, is recognized by its id alone."""
    turns_elsewhere: bool = False
    """Whether the journal is in another database, which gets the turns."""
    numbers: Numbers = field(default_factory=Numbers)
    masked: Counter[str] = field(default_factory=Counter)
    """The kinds of the masked secrets."""
    fingerprints: dict[str, str] = field(default_factory=dict)
    """Fingerprints of the records in which secrets were masked, by id; their vectors are omitted."""

    @property
    def name(self) -> str:
        """The name of the workspace in the file."""
        return self.about["name"]

    def size(self) -> int:
        """Return the number of rows."""
        return sum(rows.number(self.queries, table) for table in EXPORTED)


class _Line(NamedTuple):
    number: int
    part: Part
    table: str
    row: Row


@contextmanager
def unpacked(source: LineFile, secrets: Secrets, report: Progress) -> Iterator[list[Part]]:
    """Yield the workspaces of a file; raise an InvalidInputError that names a bad line."""
    _check_head(source)
    with scratch() as database:
        reading = _Reading(source, secrets, database)
        reading.run(report)
        yield reading.parts


def weight(row: Row) -> int:
    """Return the weight of a row in a batch: the longer the texts, the fewer rows are written at a time."""
    return 1 + len(row.get("body", "")) // HEAVY


def listed(values: Iterable[object]) -> str:
    """Return the distinct values as a JSON list, a parameter of statements."""
    return json.dumps(list(dict.fromkeys(values)), ensure_ascii=False)


def _check_head(source: LineFile) -> None:
    head = (source.head() or {}).get(HEAD)
    if not isinstance(head, Mapping) or head.get("format") != FORMAT:
        raise InvalidInputError(f"{source.path.name} is not an export of memoryd. Name its format with --from.")
    if head.get("version") not in range(1, VERSION + 1):
        raise InvalidInputError(
            f"{source.path.name} has version {head.get('version')!r}; this memoryd reads versions 1 to {VERSION}. "
            "Nothing was imported; update memoryd."
        )


class _Reading:
    """The reading of a file into the scratch database."""

    def __init__(self, source: LineFile, secrets: Secrets, database: Scratch) -> None:
        self.parts: list[Part] = []
        self._source = source
        self._secrets = secrets
        self._database = database
        self._last: tuple[str, tuple[object, ...]] = ("", ())

    def run(self, report: Progress) -> None:
        for _, lines in groupby(self._lines(report), key=lambda line: (line.part.name, line.table)):
            for batch in batches(lines, BATCH, lambda line: weight(line.row)):
                self._put(batch)
        self._source.demand_unchanged()
        if not self.parts:
            raise InvalidInputError(f"{self._source.path.name} contains no workspace: there is nothing to import.")
        for part in self.parts:
            self._check_whole(part)

    # lines -----------------------------------------------------------------------------------------------------------

    def _lines(self, report: Progress) -> Iterator[_Line]:
        """Yield the rows, without their secrets."""
        for number, value in self._source.objects(report):
            free = {name: schema.texts(name, given) for name, given in value.items()}
            cleaned = self._source.clean(number, free, self._secrets)
            try:
                line = self._line(number, value, cleaned.value, cleaned.found)
            except InvalidInputError as error:
                raise self._source.fault(number, str(error).rstrip(".")) from None
            self.parts[-1].masked.update(cleaned.found)
            if line:
                yield line

    def _line(
        self, number: int, value: Mapping[str, Any], cleaned: Mapping[str, Any], found: Sequence[str]
    ) -> _Line | None:
        (name, given), *more = value.items() or [("", None)]
        if more or (name != WORKSPACE and name not in EXPORTED):
            raise InvalidInputError(
                f"is neither a workspace nor a row of one; it has {', '.join(value)[:100] or 'nothing'}"
            )
        if isinstance(given, Mapping):
            given = {**given, **cleaned[name]}
        if name == WORKSPACE:
            self._begin(given)
            return None
        if not self.parts:
            raise InvalidInputError("comes before the first workspace")
        row, part = schema.row(name, given), self.parts[-1]
        self._follow(name, row)
        _check_row(name, row)
        if found and name == "records":
            part.fingerprints[row["id"]] = fingerprint(row["body"])
        if name == "memory_details":
            row["fingerprint"] = part.fingerprints.get(row["id"], row["fingerprint"])
        left_out = name == "embeddings" and row["id"] in part.fingerprints
        return None if left_out else _Line(number, part, name, row)

    def _begin(self, given: Any) -> None:
        about = _about(given)
        if about["name"] in {part.name for part in self.parts}:
            raise InvalidInputError(f"has the workspace {about['name']!r} for the second time")
        self.parts.append(Part(about, self._database.queries(str(len(self.parts)))))
        self._last = ("", ())

    def _follow(self, table: str, row: Row) -> None:
        """Raise InvalidInputError unless tables are in order, and rows in the order of their keys."""
        last, before = self._last
        if last and ORDER[table] < ORDER[last]:
            raise InvalidInputError(f"has {table}, which must come before {last}")
        key = tuple(row[column] for column in EXPORTED[table].key)
        if table == last and (key < before or (key == before and not EXPORTED[table].numbered)):
            raise InvalidInputError(
                f"has {table} out of order (by {', '.join(EXPORTED[table].order)}), or for the second time"
            )
        self._last = (table, key)

    # rows ------------------------------------------------------------------------------------------------------------

    def _put(self, batch: Sequence[_Line]) -> None:
        """Add rows of one table; raise InvalidInputError if a record that they refer to is missing."""
        _, part, table, _ = batch[0]
        references = [name for name, column in EXPORTED[table].columns.items() if column.refers]
        references += ["superseded_by"] if table == "memory_details" else []
        ids = listed(line.row[name] for line in batch for name in references)
        found = part.queries.all("scratch.known", ids=ids)
        known = {row["id"]: row for row in found}
        for number, _, _, row in batch:
            if missing := _missing(table, row, known):
                what = f"refers to the {missing}, which the workspace does not have in this file"
                raise self._source.fault(number, what)
            if not self._database.put(part.queries, table, row):
                raise self._source.fault(number, f"has {_named(table, row)!r} twice in the workspace {part.name!r}")
            if counted := noun(table, row):
                part.numbers[counted] += 1

    def _check_whole(self, part: Part) -> None:
        """Raise InvalidInputError if something is missing; correct the next ordinals, which nothing else checks."""
        file, again = self._source.path.name, "Nothing was imported; export it again."
        records = {row["kind"]: row["number"] for row in part.queries.all("doctor.counts")}
        for table, kind in DETAILS.items():
            if (details := rows.number(part.queries, table)) != records.get(kind, 0):
                raise InvalidInputError(
                    f"{file} has {records.get(kind, 0)} records of the kind {kind} in the workspace {part.name!r}, "
                    f"but {details} {table}. {again}"
                )
        if part.queries.one("scratch.unexplained"):
            raise InvalidInputError(
                f"{file} has deleted memories in the workspace {part.name!r} that nothing has replaced. {again}"
            )
        part.queries.run("scratch.renumber")


def _missing(table: str, row: Row, known: Mapping[str, Row]) -> str:
    """Return the missing record that a row refers to; '' if none is missing."""
    for name, column in EXPORTED[table].columns.items():
        record = known.get(row[name]) if column.refers else None
        if column.refers and (record is None or record["kind"] not in column.refers):
            return f"{column.refers[0] if len(column.refers) == 1 else 'record'} {row[name][:100]!r}"
    after = row.get("superseded_by")
    if after is not None and (after not in known or known[after]["kind"] != Kind.MEMORY or known[after]["deleted_at"]):
        return f"living memory {after[:100]!r}"
    return ""


def _named(table: str, row: Row) -> str:
    """Return the unique key of a row, for an error message."""
    parts = {
        "records": ("the", row.get("kind"), row.get("name")),
        "observation_details": ("the ordinal", row.get("ordinal"), "of", row.get("entity_id")),
        "relations": ("the relation", row.get("relation_type"), row.get("from_entity"), row.get("to_entity")),
    }
    return " ".join(map(str, parts.get(table, (table,))))[:200]


def _check_row(table: str, row: Row) -> None:
    """Raise InvalidInputError for a row that no export contains."""
    if table == "records" and row["deleted_at"] and row["kind"] != Kind.MEMORY:
        raise InvalidInputError("has a deleted record that is not a memory")
    if table == "records" and row["kind"] == Kind.ENTITY and not (row["name"] or "").strip():
        raise InvalidInputError("has an entity without a name")
    if table == "interaction_details" and row["thought_at"] > row["response_at"]:
        raise InvalidInputError("has a turn whose response begins before its thought")
    if table == "relations" and row["deleted_at"]:
        raise InvalidInputError("has a deleted relation")
    if table == "perspectives":
        try:
            perspectives.check(row["name"], row["template"])
        except InvalidInputError as error:
            raise InvalidInputError(f"has a perspective that cannot be used: {str(error).rstrip('.')}") from None


def _about(given: Any) -> dict[str, str]:
    fields = given if isinstance(given, Mapping) else {}
    if set(fields) != set(WORKSPACE_FIELDS) or not all(isinstance(one, str) for one in fields.values()):
        raise InvalidInputError(f"has a workspace that must have exactly {', '.join(WORKSPACE_FIELDS)}, each a text")
    schema.time(given["created_at"])
    schema.time(given["updated_at"])
    return {name: given[name] for name in WORKSPACE_FIELDS}
