"""An audit of stored texts: secrets, texts that read like instructions to an agent, invisible characters."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal, own_home
from memoryd.core.scope import Scope
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.core.security.secrets import find
from memoryd.errors import InvalidInputError
from memoryd.hidden import shown
from memoryd.model import Interaction, SessionSummary, Workspace
from memoryd.store import rows
from memoryd.store.base import Row
from memoryd.store.columns import MOVED
from memoryd.text import unstorable

LOOKED_AT: Mapping[str, Sequence[str]] = {
    "records": ("name", "type", "body", "tags", "session_id"),
    "memory_details": ("reason",),
    "summary_details": ("technologies",),
    "versions": ("name", "body", "tags"),
    "relations": ("relation_type",),
    "perspectives": ("template",),
    "events": ("subject",),
}
"""The tables and columns that contain texts."""
OF_TURNS = ("prompt", "thought", "response", "title", "summary")

SEQ_LIMIT = 1 << 63  # exclusive upper bound of a database's row numbers

JOURNAL = "journal"
"""The name in a mark for a journal that has a database of its own."""

Concern = Literal["secret", "instructions", "hidden"]


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """The location of a text that should be reviewed; never the text itself."""

    workspace: str
    table: str
    id: str
    kind: str
    """The kind of a record; for any other row, its table."""
    created_at: str
    """For a version, the time when it was replaced."""
    where: str
    """The field."""
    found: Concern
    what: str
    """The kind of the secret, or what the text reads like or contains."""
    deleted: bool

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: value for name, value in asdict(self).items() if name != "table"}

    @property
    def predicate(self) -> str:
        """The finding as a predicate."""
        verb = {"secret": "contains a secret: ", "instructions": "reads like ", "hidden": "contains "}[self.found]
        return f"{verb}{self.what}"


@dataclass(frozen=True, slots=True)
class AuditedPart:
    """A part of an audit, and the mark of the next part."""

    findings: Sequence[AuditFinding]
    looked: int
    """The number of rows examined."""
    after: str
    """The mark after which the next part begins; '' at the end."""


def findings(engine: Engine, workspaces: Sequence[Workspace]) -> Iterator[AuditFinding]:
    """Yield the texts of some workspaces that should be reviewed."""
    for workspace in workspaces:
        yield from _of(workspace, "workspace", asdict(workspace), ["description"])
        after = None
        while after != "":
            found = part(Scope(engine, workspace), after or "")
            yield from found.findings
            after = found.after


def part(scope: Scope, after: str = "", limit: int = rows.FIRST) -> AuditedPart:
    """Examine some rows after a mark, table by table: records of every kind, versions, relations and the rest.

    A journal with a database of its own is one part. Raise InvalidInputError for an invalid mark.
    """
    sources = [*LOOKED_AT, *([JOURNAL] if own_home(scope.engine) else [])]
    table, begins = _place(after or f"{sources[0]}~", sources)
    found: list[AuditFinding] = []
    looked = 0
    for source in sources[sources.index(table) :]:
        if looked >= limit:
            return AuditedPart(found, looked, f"{source}~")
        if source == JOURNAL:
            concerns, number = _journal(scope)
            return AuditedPart(found + concerns, looked + number, "")
        page = scope.read(partial(rows.page, table=source, after=begins, limit=limit))
        found += [one for row in page for one in _of(scope.workspace, source, row, LOOKED_AT[source])]
        looked += len(page)
        begins = None
        if len(page) == limit:
            key = [page[-1][name] for name in MOVED[source].order]
            return AuditedPart(found, looked, f"{source}~{json.dumps(key)}")
    return AuditedPart(found, looked, "")


def _place(mark: str, sources: Sequence[str]) -> tuple[str, Row | None]:
    """Return the table of a mark, and the key of the last row examined. Raise InvalidInputError."""
    table, _, key = mark.partition("~")
    order = MOVED[table].order if table in sources and table != JOURNAL else ()
    try:
        values = json.loads(key) if key else None
    except (ValueError, RecursionError):
        values = ()
    is_key = isinstance(values, list) and len(values) == len(order) > 0 and all(map(_fits, order, values))
    if table not in sources or not (values is None or is_key):
        raise InvalidInputError(f"{mark[:50]!r} is not a position in an audit. Start the audit again.")
    return table, dict(zip(order, values, strict=True)) if values else None


def _fits(column: str, value: Any) -> bool:
    """Return whether a JSON value can be in the key of a row: a text, or a number that the database assigns."""
    if column == "seq":
        return isinstance(value, int) and 0 <= value < SEQ_LIMIT
    return isinstance(value, str) and not unstorable(value)


def _journal(scope: Scope) -> tuple[list[AuditFinding], int]:
    kept, looked = Journal(scope).kept, 0
    found: list[AuditFinding] = []
    every: Iterator[Interaction | SessionSummary] = chain(kept.every_turn(), kept.every_summary())
    for one in every:
        found += _of(scope.workspace, JOURNAL, asdict(one), OF_TURNS)
        looked += 1
    return found, looked


def total(scope: Scope) -> int:
    """Return how many rows an audit examines, not counting a journal with a database of its own."""
    return scope.read(lambda q: sum(rows.number(q, table) for table in LOOKED_AT))


def _of(workspace: Workspace, table: str, row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[AuditFinding]:
    for column in columns:
        for found, what in _concerns(row.get(column) or ""):
            yield AuditFinding(
                workspace.name,
                table,
                str(row.get("id", row.get("name", row.get("seq", "")))),
                str(row.get("kind", table)),
                _time(row),
                column,
                found,
                what,
                row.get("deleted_at") is not None,
            )


def _time(row: Mapping[str, Any]) -> str:
    return next((str(row[name]) for name in ("created_at", "at", "until") if name in row), "")


def _concerns(text: str) -> Iterator[tuple[Concern, str]]:
    if not text:
        return
    for kind in dict.fromkeys(secret.kind for secret in find(text)):
        yield "secret", kind
    if like := reads_like_instructions(text):
        yield "instructions", like
    if shown(text) != text:
        yield "hidden", "invisible characters"
