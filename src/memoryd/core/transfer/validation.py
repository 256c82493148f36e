"""Whether a file of `exports` can be imported: all of it is read and checked before anything is written.

What is kept of a line that was read are eight bytes for its id, and as many for a name that may come but once.
"""

import json
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memoryd.core.records import perspectives
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.security.secrets import Cleaned, Secrets
from memoryd.core.transfer import schema
from memoryd.core.transfer.export import Numbers, noun
from memoryd.core.transfer.jsonl import HEAD, Done, Source
from memoryd.core.transfer.schema import DETAILS, FORMAT, ORDER, TOLD, VERSION, WORKSPACE
from memoryd.errors import InvalidInputError
from memoryd.model import Kind
from memoryd.store.base import Row
from memoryd.store.sql import MOVED

_BITS = (1 << 64) - 1
EVERY, DELETED, LIVING = "every", "deleted", "living"
"""Records of any kind; memories that are deleted, and those that are not."""


@dataclass(slots=True)
class Part:
    """One workspace in a file: what is told of it, where the rows of each table begin, and how many there are."""

    told: dict[str, str]
    secrets: Secrets
    found: Counter[str] = field(default_factory=Counter)
    """The kinds of the secrets in it."""
    masked: dict[str, str] = field(default_factory=dict)
    """The fingerprints of the records that secrets were masked in: their vectors are made anew."""
    starts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Position of the first row, and the number of rows."""
    numbers: Numbers = field(default_factory=Numbers)

    @property
    def name(self) -> str:
        """What the workspace was called."""
        return self.told["name"]

    def size(self) -> int:
        """How many rows there are."""
        return sum(number for _, number in self.starts.values())

    def rows(self, source: Source, table: str) -> Iterator[tuple[int, Row]]:
        """The rows of a table, each with the position of its line. Raises InvalidInputError where the file changed."""
        start, number = self.starts.get(table, (0, 0))
        lines = source.onward(start) if number else iter(())
        for _ in range(number):
            position, line = next(lines, (0, b""))
            row = self.at(source, table, line)
            if table != "embeddings" or row["id"] not in self.masked:
                yield position, row

    def at(self, source: Source, table: str, line: bytes) -> Row:
        """The row of a table that a line holds, which was checked before, without its secrets."""
        try:
            said = json.loads(line)[table]
            row = schema.row(table, said if table == "embeddings" else self.secrets.clean(said).value)
        except (InvalidInputError, ValueError, KeyError, TypeError):
            raise changed(source) from None
        return row | {"fingerprint": self.masked.get(row["id"], row["fingerprint"])} if "fingerprint" in row else row


def changed(source: Source) -> InvalidInputError:
    """Somebody writes to the file that is being imported."""
    return InvalidInputError(f"Somebody wrote to {source.path.name} while it was read. Import it again.")


def check(source: Source, secrets: Secrets, report: Done) -> list[Part]:
    """The workspaces of a file. Raises InvalidInputError that names the line that is wrong."""
    head = (source.head() or {}).get(HEAD)
    if not isinstance(head, Mapping) or head.get("format") != FORMAT:
        raise InvalidInputError(f"{source.path.name} is no export of memoryd's. Say with --from which format it has.")
    if head.get("version") not in range(1, VERSION + 1):
        raise InvalidInputError(
            f"{source.path.name} has the version {head.get('version')!r}; this memoryd reads 1 to {VERSION}. "
            "Nothing was imported; update memoryd."
        )
    checking = _Checking(source, secrets)
    for number, value in source.objects(report):
        if WORKSPACE in value:
            checking.end()
        cleaned = Cleaned(value) if "embeddings" in value else source.clean(number, value, secrets)
        try:
            checking.take(cleaned.value, cleaned.found)
        except InvalidInputError as error:
            raise source.fault(number, str(error).rstrip(".")) from None
    checking.end()
    if not checking.parts:
        raise InvalidInputError(f"{source.path.name} holds no workspace: there is nothing to import.")
    return checking.parts


class _Ids:
    """Very many texts, of which is known only which ones there were."""

    def __init__(self) -> None:
        self._digests = array("Q")

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, text: str) -> None:
        self._digests.append(hash(text) & _BITS)

    def sort(self) -> None:
        """After the last one was added, before the first one is looked for."""
        np.frombuffer(self._digests, np.uint64).sort()

    def __contains__(self, text: str) -> bool:
        digest = hash(text) & _BITS
        place = bisect_left(self._digests, digest)
        return place < len(self._digests) and self._digests[place] == digest

    def twice(self) -> set[int]:
        """What is there more than once."""
        digests = np.frombuffer(self._digests, np.uint64)
        return set(digests[1:][digests[1:] == digests[:-1]].tolist())


class _Checking:
    """Lines in their order."""

    def __init__(self, source: Source, secrets: Secrets) -> None:
        self.parts: list[Part] = []
        self._secrets = secrets
        self._source = source
        self._begin()

    def _begin(self) -> None:
        self._table, self._key = "", ()
        self._ids = {name: _Ids() for name in (EVERY, DELETED, LIVING, *Kind)}
        self._once = _Ids()
        self._sorted = False
        self._explained = 0

    def take(self, value: Mapping[str, Any], found: Sequence[str]) -> None:
        """One more line, and the secrets that were in it. Raises InvalidInputError that says what is wrong with it."""
        (name, said), *more = value.items() or [("", None)]
        if more or (name != WORKSPACE and name not in ORDER):
            raise InvalidInputError(
                f"is neither a workspace nor a row of one; it holds {', '.join(value)[:100] or 'nothing'}"
            )
        if name == WORKSPACE:
            told = _told(said)
            if told["name"] in {part.name for part in self.parts}:
                raise InvalidInputError(f"holds the workspace {told['name']!r} for the second time")
            self.parts.append(Part(told, self._secrets))
        elif not self.parts:
            raise InvalidInputError("stands before the first workspace")
        else:
            row = schema.row(name, said)
            if found and name == "records":
                self.parts[-1].masked[row["id"]] = fingerprint(row["body"])
            self._row(name, row)
        self.parts[-1].found.update(found)

    def _row(self, table: str, row: Row) -> None:
        self._follow(table, row)
        if table == "records":
            self._record(row)
        else:
            self._sort()
            self._refer(table, row)
        if once := _once(table, row):
            self._once.add(once)
        part = self.parts[-1]
        start, number = part.starts.get(table, (self._source.position, 0))
        part.starts[table] = start, number + 1
        if (counted := noun(table, row)) and (table != "embeddings" or row["id"] not in part.masked):
            part.numbers[counted] += 1

    def _follow(self, table: str, row: Row) -> None:
        """Tables stand in their order, and rows in that of their keys, so that each of them comes but once."""
        if table != self._table:
            if self._table and ORDER[table] < ORDER[self._table]:
                raise InvalidInputError(f"holds {table}, which stand before {self._table}")
            self._table, self._key = table, ()
        key = tuple(row[column] for column in MOVED[table].key if column in row)
        if key < self._key or (key == self._key and table != "events"):
            raise InvalidInputError(
                f"holds {table} out of the order of {', '.join(MOVED[table].key)}, or for the second time"
            )
        self._key = key

    def _record(self, row: Row) -> None:
        kind = Kind(row["kind"])
        if row["deleted_at"] and kind is not Kind.MEMORY:
            raise InvalidInputError("holds a record that is deleted and no memory")
        if kind is Kind.ENTITY and not (row["name"] or "").strip():
            raise InvalidInputError("holds an entity without a name")
        for name in (EVERY, kind, *([DELETED if row["deleted_at"] else LIVING] if kind is Kind.MEMORY else [])):
            self._ids[name].add(row["id"])

    def _sort(self) -> None:
        if not self._sorted:
            for ids in self._ids.values():
                ids.sort()
            self._sorted = True

    def _refer(self, table: str, row: Row) -> None:
        """What a row points to is there."""
        if table in DETAILS:
            self._demand(DETAILS[table], row["id"])
        if table == "memory_details":
            self._replaced(row)
        elif table == "observation_details":
            self._demand(Kind.ENTITY, row["entity_id"])
        elif table == "interaction_details" and row["thought_at"] > row["response_at"]:
            raise InvalidInputError("holds a turn whose response begins before its thought")
        elif table == "relations":
            self._demand(Kind.ENTITY, row["from_entity"])
            self._demand(Kind.ENTITY, row["to_entity"])
            if row["deleted_at"]:
                raise InvalidInputError("holds a relation that is deleted")
        elif table == "embeddings":
            self._demand(EVERY, row["id"])
        elif table == "perspectives":
            _usable(row)

    def _replaced(self, row: Row) -> None:
        if row["superseded_by"] is not None:
            self._demand(LIVING, row["superseded_by"])
            self._explained += row["id"] in self._ids[DELETED]

    def _demand(self, ids: str, wanted: str) -> None:
        if wanted not in self._ids[ids]:
            what = {EVERY: "record", LIVING: "living memory"}.get(ids, ids)
            raise InvalidInputError(
                f"refers to the {what} {wanted[:100]!r}, which the workspace does not hold in this file"
            )

    def end(self) -> None:
        """A workspace is complete. Raises InvalidInputError where something lacks, or is there twice."""
        if not self.parts:
            return
        self._sort()
        part, name = self.parts[-1], self._source.path.name
        for table, kind in DETAILS.items():
            records, details = len(self._ids[kind]), part.starts.get(table, (0, 0))[1]
            if records != details:
                raise InvalidInputError(
                    f"{name} holds {records} records of the kind {kind} in the workspace {part.name!r}, but {details} "
                    f"{table}. Nothing was imported; export it again."
                )
        if self._explained != len(self._ids[DELETED]):
            raise InvalidInputError(
                f"{name} holds deleted memories in the workspace {part.name!r} that nothing has replaced. "
                "Nothing was imported; export it again."
            )
        self._once.sort()
        if twice := self._once.twice():
            self._tell_twice(part, twice)
        self._begin()

    def _tell_twice(self, part: Part, twice: set[int]) -> None:
        """Look again for the second of two that cannot both be."""
        seen = set[str]()
        for table in ("records", "observation_details", "relations"):
            for _, row in part.rows(self._source, table):
                once = _once(table, row)
                if hash(once) & _BITS in twice and once in seen:
                    raise InvalidInputError(
                        f"{self._source.path.name} holds {' '.join(once.split(chr(0))[:4])[:200]!r} twice in the "
                        f"workspace {part.name!r}. Nothing was imported; mend the file and import it again."
                    )
                seen.update([once] if hash(once) & _BITS in twice else [])


def _once(table: str, row: Row) -> str:
    """What no second row may have; '' where nothing is."""
    parts: Sequence[object] = ()
    if table == "records" and row["deleted_at"] is None and row["kind"] in (Kind.MEMORY, Kind.ENTITY):
        parts = ("the", row["kind"], row["name"]) if row["name"] is not None else ()
    elif table == "observation_details":
        parts = ("the ordinal", row["ordinal"], "of", row["entity_id"])
    elif table == "relations":
        parts = ("the relation", row["relation_type"], row["from_entity"], row["to_entity"])
    return "\0".join(map(str, parts))


def _usable(perspective: Row) -> None:
    try:
        perspectives.check(perspective["name"], perspective["template"])
    except InvalidInputError as error:
        raise InvalidInputError(f"holds a perspective that cannot be used: {str(error).rstrip('.')}") from None


def _told(said: Any) -> dict[str, str]:
    if (
        not isinstance(said, Mapping)
        or set(said) != set(TOLD)
        or not all(isinstance(one, str) for one in said.values())
    ):
        raise InvalidInputError(
            f"holds a workspace that does not tell {', '.join(TOLD)}, each as text and nothing else"
        )
    schema.time(said["created_at"])
    schema.time(said["updated_at"])
    return {name: said[name] for name in TOLD}
