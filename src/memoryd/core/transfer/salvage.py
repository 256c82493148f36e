"""Export what can still be read of a damaged SQLite database.

The rows of all its files are collected in a scratch database. What they refer to and what is lost of them is replaced
there as far as it is known, so that the file can be imported; the rest is counted.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from memoryd.core.base.clock import Clock
from memoryd.core.base.progress import StepProgress
from memoryd.core.journal.in_records import BETWEEN
from memoryd.core.records import perspectives
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.transfer import export, schema
from memoryd.core.transfer.export import NOUNS, Numbers
from memoryd.core.transfer.jsonl import Written
from memoryd.core.transfer.schema import NEW_MEMORY, UNKNOWN, UNSCORED, WORKSPACE_FIELDS
from memoryd.core.workspaces.registry import check_name
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import Kind, Workspace
from memoryd.store.base import Row
from memoryd.store.columns import DETAILS
from memoryd.store.sqlite import pages
from memoryd.store.sqlite.salvage import rows_in
from memoryd.store.sqlite.scratch import Scratch, scratch

LISTED = {"entity_details"}  # not counted as lost: entries of an index look like them


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was saved of a damaged database, and what was not."""

    written: Written
    numbers: dict[str, Numbers]
    """The numbers of each workspace."""
    lost: Numbers
    """The numbers of what is known to have been there, but could not be read."""
    completed: Numbers
    """The numbers of records whose details (importance, place in an entity, parts of a turn) had to be replaced."""
    broken: dict[str, tuple[int, int]]
    """How many pages of each file could not be read, and how many it has."""


@dataclass(slots=True)
class _Room:
    """What is known of a workspace."""

    id: str
    records: dict[str, Row] = field(default_factory=dict)
    """The kind and the name of each record, by id."""
    entities: dict[str, str] = field(default_factory=dict)
    """The ids of living entities by name."""
    detailed: set[str] = field(default_factory=set)
    """The records that have their details."""
    ordinals: Counter[str] = field(default_factory=Counter)
    """The next ordinal of each entity."""
    events: dict[int, Row] = field(default_factory=dict)
    """The events by their number, which is their order."""
    lost: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The ids of what was lost, by noun."""


def salvage(
    files: Sequence[Path], path: Path, clock: Clock, report: StepProgress, *, vectors: bool = False
) -> Salvaged:
    """Write what can be read of the files of a database into a new file, every workspace; return what it is.

    Raise InvalidInputError if the file exists, or StoreError if nothing can be read.
    """
    with scratch() as database:
        gathering = _Gathering(database, clock.now())
        broken = {}
        for first in (True, False):  # what rows refer to may be in a later page, or in another file
            for number, file in enumerate(files):
                report(f"reading {file.name}", (number + (not first) * len(files)) / (2 * len(files)))
                try:
                    source = pages.opened(file)
                except OSError as error:
                    raise StoreError(f"{file} cannot be read: {error.strerror}. Nothing was written.") from error
                for table, row in rows_in(source):
                    gathering.take(table, row, first=first)
                broken[str(file)] = (len(source.broken), source.number)
        gathering.complete()
        workspaces = gathering.workspaces()
        if not workspaces:
            raise StoreError("Nothing of memoryd's can be read in it. Nothing was written; restore a backup.")
        written, numbers = export.write(
            path, workspaces, lambda one, work: work(database.queries(one.id)), report, vectors=vectors
        )
        return Salvaged(written, numbers, gathering.lost(), gathering.completed, broken)


class _Gathering:
    """The rows that were found, in a scratch database."""

    def __init__(self, database: Scratch, now: str) -> None:
        self.completed = Numbers()
        self._database, self._now = database, now
        self._rooms: dict[str, _Room] = {}
        self._known: dict[str, Row] = {}
        """The rows of the registry, by the id of the workspace."""

    def take(self, table: str, row: Row, *, first: bool) -> None:
        """Add a row, if it is whole: records first, then what refers to them."""
        if first == (table not in ("projects", "records")):
            return
        with suppress(InvalidInputError, StoreError, ValueError, TypeError):
            if table == "projects":
                self._register(row)
                return
            room = self._rooms.setdefault(row["workspace_id"], _Room(row["workspace_id"])) if first else None
            if room := room or self._rooms.get(row["workspace_id"]):
                checked = _checked(table, row)
                if table == "events":
                    room.events[row["seq"]] = checked
                else:
                    self._put(room, table, checked)

    def _register(self, row: Row) -> None:
        check_name(row["name"])
        schema.time(row["created_at"])
        schema.time(row["updated_at"])
        self._known.setdefault(row["id"], row)

    def _put(self, room: _Room, table: str, row: Row) -> None:
        if table == "records":
            self._record(room, row)
        elif table in DETAILS:
            self._detail(room, table, row)
        elif table == "relations":
            if not row["deleted_at"] and not all(_is(room, row[end], Kind.ENTITY) for end in _ENDS):
                room.lost[NOUNS["relations"]].add(row["id"])
            elif not row["deleted_at"]:
                self._add(room, table, row)
        elif table == "perspectives":
            perspectives.check(row["name"], row["template"])
            self._add(room, table, row)
        elif row["id"] in room.records:
            self._add(room, table, row)

    def _add(self, room: _Room, table: str, row: Row) -> bool:
        return self._database.put(self._database.queries(room.id), table, row)

    def _record(self, room: _Room, row: Row) -> None:
        if row["id"] not in room.records and self._add(room, "records", row):
            room.records[row["id"]] = {"kind": row["kind"], "name": row["name"]}
            if row["kind"] == Kind.ENTITY and row["deleted_at"] is None:
                room.entities[row["name"]] = row["id"]

    def _detail(self, room: _Room, table: str, row: Row) -> None:
        kind = DETAILS[table]
        if not _is(room, row["id"], kind):
            if table not in LISTED and row["id"] not in room.records:
                room.lost[NOUNS[kind]].add(row["id"])
            return
        if kind is Kind.OBSERVATION:
            self._ensure_entity(room, row["entity_id"], room.records[row["id"]]["name"])
            room.ordinals[row["entity_id"]] = max(room.ordinals[row["entity_id"]], row["ordinal"] + 1)
        if self._add(room, table, row):
            room.detailed.add(row["id"])

    def _ensure_entity(self, room: _Room, key: str, name: str) -> None:
        """Make the entity of an observation, if it was lost."""
        if _is(room, key, Kind.ENTITY):
            return
        self.completed[NOUNS[Kind.ENTITY]] += 1
        row = dict.fromkeys(("body", "scope", "client", "tool"), "") | dict.fromkeys(("session_id", "deleted_at"))
        times = {"created_at": self._now, "updated_at": self._now}
        self._record(
            room, row | times | {"id": key, "kind": str(Kind.ENTITY), "name": name, "type": UNKNOWN, "tags": "[]"}
        )

    # what was lost ---------------------------------------------------------------------------------------------------

    def complete(self) -> None:
        """Replace the details that records lack."""
        for room in self._rooms.values():
            for key, record in list(room.records.items()):
                if key not in room.detailed and record["kind"] != Kind.ENTITY:
                    self.completed[NOUNS[record["kind"]]] += 1
                    self._replace_detail(room, key, record)
            for key, record in room.records.items():
                if key not in room.detailed and record["kind"] == Kind.ENTITY:
                    next_ = {"summary_updated_at": None, "next_ordinal": room.ordinals[key]}
                    self._add(room, "entity_details", {"id": key, **next_})
            for number in sorted(room.events):
                self._add(room, "events", room.events[number])
            self._database.queries(room.id).run("scratch.renumber")

    def _replace_detail(self, room: _Room, key: str, record: Row) -> None:
        (stored,) = self._database.queries(room.id).all("journal.known", id=key)
        text, table = stored["body"], f"{record['kind']}_details"
        match record["kind"]:
            case Kind.MEMORY:
                same = "" if record["name"] else fingerprint(text)
                self._add(room, table, {"id": key, "fingerprint": same, **NEW_MEMORY})
            case Kind.OBSERVATION:
                entity = room.entities.get(record["name"]) or str(uuid.uuid4())
                self._ensure_entity(room, entity, record["name"])
                self._add(room, table, {"id": key, "entity_id": entity, "ordinal": room.ordinals[entity]})
                room.ordinals[entity] += 1
            case Kind.INTERACTION:  # its parts end at the first blank lines: the right place for short ones
                thought = text.find(BETWEEN) + len(BETWEEN)
                response = text.find(BETWEEN, thought) + len(BETWEEN)
                self._add(room, table, {"id": key, "thought_at": thought, "response_at": max(thought, response)})
            case Kind.SUMMARY:
                self._add(room, table, {"id": key, "memory_count": 0, **UNSCORED, "technologies": "[]"})

    def lost(self) -> Numbers:
        """Return the numbers of what is known to have been there, but could not be read."""
        return Numbers({noun: len(ids) for room in self._rooms.values() for noun, ids in room.lost.items()})

    def workspaces(self) -> list[Workspace]:
        """Return the workspaces with records; one whose name was lost is named by its id."""
        found: dict[str, Workspace] = {}
        for key, room in self._rooms.items():
            known = self._known.get(key, {"name": f"recovered-{key[:8]}", "description": ""})
            about = {"created_at": self._now, "updated_at": self._now} | known
            name = about["name"] if about["name"] not in found else f"{about['name']}-{key[:8]}"
            if room.records:
                _, description, created_at, updated_at = (about[one] for one in WORKSPACE_FIELDS)
                found[name] = Workspace(
                    id=key, name=name, description=description, created_at=created_at, updated_at=updated_at
                )
        return list(found.values())


_ENDS = ("from_entity", "to_entity")


def _is(room: _Room, key: str, kind: Kind) -> bool:
    return key in room.records and room.records[key]["kind"] == kind


def _checked(table: str, row: Row) -> Row:
    """Return a row of an export; raise an error if no import would take it."""
    if "vector" in row:
        row["vector"] = np.frombuffer(row["vector"], "<f2")
    return schema.row(table, schema.line(table, row)[table])
