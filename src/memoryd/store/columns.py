"""The columns of the tables, each declared once, for moving rows between databases and for exports.

The migrations create the tables; tests compare them with these declarations, on SQLite and on Postgres. Tables that
never move are not listed: what a database derives (words, tags, tombstones, changes), the marks of archived workspaces,
leases, and who may come in over HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from memoryd.model import Kind


class Holds(StrEnum):
    """The values of a column, as an export writes them."""

    KEY = "id or name, 1 to 2,000 characters"
    TEXT = "text"
    KIND = "kind of record"
    TEXTS = "list of texts"
    EMPTY = 'always ""'
    TIME = "time, ISO 8601 in UTC with milliseconds"
    NUMBER = "whole number from 0"
    SHARE = "number from 0 to 1"
    DIM = "whole number from 1 to 65,536"
    VECTOR = "base64 of `dim` float16 numbers"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    holds: Holds
    optional: bool = False
    """Whether it may be null."""
    since: int = 1
    """The version of the export format that introduced it; files of older versions leave it empty."""
    refers: tuple[Kind, ...] = ()
    """The kinds of record whose id its value may be."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, without the column `workspace_id`, with which every table outside the registry begins."""

    key: tuple[str, ...]
    """The columns that order the rows of a workspace."""
    columns: Mapping[str, Column]
    """The columns, in the order in which an export writes them."""
    registry: bool = False
    """Whether it belongs to the registry: its rows belong to no workspace."""
    exported: bool = False
    numbered: bool = False
    """Whether the key ends with `seq`, a number that each database assigns itself."""
    known: str = "NOTHING"
    """The SQL action for a row whose key already exists."""

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which rows are ordered when read; they are unique within a workspace."""
        return (*self.key, "seq") if self.numbered else self.key

    @property
    def stored(self) -> tuple[str, ...]:
        """Every column except `workspace_id`."""
        return (*self.columns, "seq") if self.numbered else tuple(self.columns)


def _optional(column: Column) -> Column:
    return replace(column, optional=True)


def _since_2(column: Column) -> Column:
    return replace(column, since=2)


def _id_of(*kinds: Kind) -> Column:
    return Column(Holds.KEY, refers=kinds)


KEY, TEXT, TIME, NUMBER, SHARE = map(Column, (Holds.KEY, Holds.TEXT, Holds.TIME, Holds.NUMBER, Holds.SHARE))

MOVED: Mapping[str, Table] = {
    "projects": Table(
        key=("id",),
        registry=True,
        columns={
            "id": KEY,
            "name": KEY,
            "description": TEXT,
            "db_path": TEXT,
            "status": TEXT,
            "includes": Column(Holds.TEXTS),
            "created_at": TIME,
            "updated_at": TIME,
        },
    ),
    "workspace_keys": Table(
        key=("key",),
        registry=True,
        columns={"key": KEY, "project": KEY},
        known="UPDATE SET project = excluded.project",
    ),
    "sessions": Table(
        key=("principal", "id"),
        registry=True,
        columns={"principal": TEXT, "id": KEY, "active_project": _optional(KEY)},
        known="UPDATE SET active_project = coalesce(sessions.active_project, excluded.active_project)",
    ),
    "session_holders": Table(
        key=("principal", "id", "holder"),
        registry=True,
        columns={"principal": TEXT, "id": KEY, "holder": KEY, "expires_at": TIME},
    ),
    "records": Table(
        key=("id",),
        exported=True,
        columns={
            "id": KEY,
            "kind": Column(Holds.KIND),
            "name": _optional(TEXT),
            "type": TEXT,
            "body": TEXT,
            "tags": Column(Holds.TEXTS),
            "scope": Column(Holds.EMPTY),
            "session_id": _optional(TEXT),
            "client": _since_2(TEXT),
            "tool": _since_2(TEXT),
            "created_at": TIME,
            "updated_at": TIME,
            "deleted_at": _optional(TIME),
        },
    ),
    "memory_details": Table(
        key=("id",),
        exported=True,
        columns={
            "id": _id_of(Kind.MEMORY),
            "fingerprint": TEXT,
            "importance": SHARE,
            "access_count": NUMBER,
            "accessed_at": _optional(TIME),
            "consolidated": NUMBER,
            "superseded_by": _optional(KEY),
            "ending": _since_2(TEXT),
            "reason": _since_2(TEXT),
            "gist": _since_2(TEXT),
        },
    ),
    "entity_details": Table(
        key=("id",),
        exported=True,
        columns={"id": _id_of(Kind.ENTITY), "summary_updated_at": _optional(TIME), "next_ordinal": NUMBER},
    ),
    "observation_details": Table(
        key=("id",),
        exported=True,
        columns={"id": _id_of(Kind.OBSERVATION), "entity_id": _id_of(Kind.ENTITY), "ordinal": NUMBER},
    ),
    "interaction_details": Table(
        key=("id",),
        exported=True,
        columns={"id": _id_of(Kind.INTERACTION), "thought_at": NUMBER, "response_at": NUMBER},
    ),
    "summary_details": Table(
        key=("id",),
        exported=True,
        columns={
            "id": _id_of(Kind.SUMMARY),
            "memory_count": NUMBER,
            "quality": _optional(NUMBER),
            "productivity": _optional(NUMBER),
            "impact": _optional(NUMBER),
            "complexity": _optional(NUMBER),
            "technologies": Column(Holds.TEXTS),
        },
    ),
    "versions": Table(
        key=("id", "until"),
        columns={
            "id": KEY,
            "until": TIME,
            "body": TEXT,
            "tags": Column(Holds.TEXTS),
            "importance": SHARE,
            "client": TEXT,
            "tool": TEXT,
            "name": _optional(TEXT),
        },
    ),
    "relations": Table(
        key=("id",),
        exported=True,
        columns={
            "id": KEY,
            "from_entity": _id_of(Kind.ENTITY),
            "to_entity": _id_of(Kind.ENTITY),
            "relation_type": TEXT,
            "created_at": TIME,
            "deleted_at": _optional(TIME),
        },
    ),
    "perspectives": Table(key=("name",), exported=True, columns={"name": KEY, "template": TEXT}),
    "embeddings": Table(
        key=("id", "perspective", "model", "chunk"),
        exported=True,
        columns={
            "id": _id_of(*Kind),
            "perspective": KEY,
            "model": KEY,
            "chunk": NUMBER,
            "dim": Column(Holds.DIM),
            "vector": Column(Holds.VECTOR),
        },
    ),
    "events": Table(
        key=("at",),
        exported=True,
        numbered=True,
        columns={"at": TIME, "operation": TEXT, "subject": _optional(TEXT)},
    ),
    "acts": Table(
        key=("id", "at"),
        columns={"id": KEY, "at": TIME, "operation": TEXT, "other": TEXT, "client": TEXT, "tool": TEXT},
    ),
}
"""Every table that `migrate` and `backup` copy; each comes after those that it refers to."""

OF_WORKSPACE = tuple(name for name, table in MOVED.items() if not table.registry)
EXPORTED: Mapping[str, Table] = {name: table for name, table in MOVED.items() if table.exported}
DETAILS: Mapping[str, Kind] = {f"{kind}_details": kind for kind in Kind}
"""The kind of record whose details a table has: each record of the kind has one row there."""
