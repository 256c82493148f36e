"""An audit of stored texts: secrets, and texts that read like instructions to an agent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.core.security.secrets import find
from memoryd.hidden import shown
from memoryd.model import Workspace
from memoryd.store import rows
from memoryd.store.base import Row

LOOKED_AT: Mapping[str, Sequence[str]] = {
    "records": ("name", "type", "body", "tags", "session_id"),
    "memory_details": ("reason",),
    "summary_details": ("technologies",),
    "versions": ("body", "tags"),
    "relations": ("relation_type",),
    "perspectives": ("template",),
    "events": ("subject",),
}
"""The tables and their columns that contain texts."""
OF_TURNS = ("prompt", "thought", "response", "title", "summary")


Concern = Literal["secret", "instructions"]


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """The location of a text that should be reviewed; never the text itself."""

    workspace: str
    id: str
    kind: str
    """The kind of a record; for any other row its table."""
    created_at: str
    where: str
    """The field."""
    found: Concern
    what: str
    """The kind of the secret, or what the text reads like."""
    deleted: bool

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def findings(engine: Engine, workspaces: Sequence[Workspace]) -> Iterator[AuditFinding]:
    """Yield the texts of some workspaces that should be reviewed, read page by page."""
    for workspace in workspaces:
        yield from _of(workspace, "workspace", asdict(workspace), ["description"])
        for table, columns in LOOKED_AT.items():
            for row in _rows(engine, workspace, table):
                yield from _of(workspace, table, row, columns)
        if engine.chroma:
            kept = Journal(Scope(engine, workspace)).kept
            for each in (kept.every_turn(), kept.every_summary()):
                for one in each:
                    yield from _of(workspace, "journal", asdict(one), OF_TURNS)


def _rows(engine: Engine, workspace: Workspace, table: str) -> Iterator[Row]:
    page = engine.store.read(workspace, lambda queries: rows.page(queries, table, None, rows.FIRST))
    while page:
        yield from page
        page = engine.store.read(workspace, partial(rows.page, table=table, after=page[-1], limit=rows.FIRST))


def _of(workspace: Workspace, table: str, row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[AuditFinding]:
    for column in columns:
        for found, what in _concerns(row.get(column) or ""):
            yield AuditFinding(
                workspace.name, str(row.get("id", row.get("name", row.get("seq", "")))), str(row.get("kind", table)),
                _time(row), column, found, what, row.get("deleted_at") is not None,
            )  # fmt: skip


def _time(row: Mapping[str, Any]) -> str:
    return next((str(row[name]) for name in ("created_at", "at", "until") if name in row), "")


def _concerns(text: str) -> Iterator[tuple[Concern, str]]:
    if not text:
        return
    for kind in dict.fromkeys(secret.kind for secret in find(text)):
        yield "secret", kind
    if like := reads_like_instructions(text):
        yield "instructions", like


@dataclass(frozen=True, slots=True)
class AuditedPart:
    """A part of an audit of living records: which to look at and why, and where the next part begins."""

    concerns: Mapping[str, Sequence[tuple[str, str]]]
    """By the id of the record: `secret`, `instructions` or `hidden`, and what exactly."""
    looked: int
    after: str | None
    """The id after which the next part begins; None at the end."""


def part(scope: Scope, after: str = "", limit: int = 500) -> AuditedPart:
    """Look at some living records in the order of their ids: for a page that shows how far an audit is."""
    begins = {"id": after} if after else None
    found = scope.read(lambda q: rows.page(q, "records", begins, limit))
    concerns: dict[str, list[tuple[str, str]]] = {}
    for row in found:
        whats: list[tuple[str, str]] = [one for name in ("name", "body", "tags") for one in _concerns(row[name] or "")]
        if shown(row["body"]) != row["body"]:
            whats.append(("hidden", "invisible characters"))
        if whats and row["deleted_at"] is None and not row["scope"]:
            concerns[row["id"]] = list(dict.fromkeys(whats))
    return AuditedPart(concerns, len(found), found[-1]["id"] if len(found) == limit else None)
