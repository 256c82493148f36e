"""Mask secrets in place, where an audit has found them."""

import json
from collections.abc import Sequence

from memoryd.core.admin.audit import AuditFinding
from memoryd.core.graph import relations, renaming
from memoryd.core.graph.names import named
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Corrected, Correction
from memoryd.core.records import records
from memoryd.core.scope import Scope
from memoryd.core.security import secrets
from memoryd.core.security.secrets import cleaned
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind
from memoryd.store.base import Queries, Row

MASKED = (Kind.MEMORY, Kind.ENTITY, Kind.OBSERVATION, "versions", "relations")
"""What `mask` can change: the kinds of living records, and the tables of other rows."""


def can(finding: AuditFinding) -> bool:
    """Return whether `mask` can handle a finding; otherwise forget or delete what contains the secret."""
    return finding.found == "secret" and finding.kind in MASKED and not finding.deleted


def mask(scope: Scope, table: str, row_id: str, at: str = "") -> Corrected:
    """Mask the secrets of a memory, node, observation, relation, or the version of a record that was replaced `at`.

    Return what `restore` needs to undo this. It cannot be undone for a version, whose current text stays as it is.
    Raise NotFoundError, or InvalidInputError if nothing can be masked.
    """
    if table == "versions":
        return _version(scope, row_id, at)
    if table == "relations":
        return _relation(scope, row_id)
    row = scope.read(lambda q: q.one("history.record", id=row_id))
    if row is None or row["deleted_at"]:
        raise NotFoundError(f"There is no living record {row_id[:100]!r}. It may have been forgotten since.")
    body, name = _masked(row["body"]), _masked(row["name"] or "")
    tags = [_masked(tag) for tag in json.loads(row["tags"])]
    if (body, tags) == (row["body"], json.loads(row["tags"])) and (name == row["name"] or row["kind"] != Kind.ENTITY):
        raise _unmaskable()
    match row["kind"]:
        case Kind.MEMORY:
            return correction.correct(scope, Correction(id=row_id, content=body, tags=tuple(tags)))
        case Kind.OBSERVATION | Kind.ENTITY:
            Graph(scope).change(lambda change: _in_graph(change, row, name, body, tags))
            return Corrected((row_id,), "")
        case _:
            raise _unmaskable()


def _masked(text: str) -> str:
    return secrets.mask(text)[0]


def _unmaskable() -> InvalidInputError:
    return InvalidInputError("It contains no secret that can be masked in place. Forget it, or delete it permanently.")


def _in_graph(change: Change, row: Row, name: str, body: str, tags: Sequence[str]) -> None:
    """Change a node or an observation by its id: the graph's functions mask a name before they look it up."""
    change.queries.run("versions.keep_whole", id=row["id"], now=change.now)
    records.change(change.queries, row["id"], body, tags, None, change.now)
    change.lacking.add(row["id"])
    if row["kind"] == Kind.OBSERVATION:
        change.touch([row["entity_id"]])
        return
    for field in ("summary", "tags"):
        change.reads_differently([row["id"]], field)
    if name != row["name"]:
        if named(change.queries, [name]):
            raise InvalidInputError(f"Node {name[:100]!r} already exists. Merge the two nodes first.")
        renaming.call(change, row["id"], name)


@cleaned
def _version(scope: Scope, row_id: str, until: str) -> Corrected:
    def work(queries: Queries) -> None:
        row = queries.one("history.before", id=row_id, until=until)
        if row is None:
            raise NotFoundError(f"No version of {row_id[:100]!r} that was replaced at {until[:50]!r} exists any more.")
        body, tags = _masked(row["body"]), [_masked(tag) for tag in json.loads(row["tags"])]
        queries.run(
            "versions.mask",
            id=row_id,
            until=until,
            body=body,
            tags=json.dumps(tags, ensure_ascii=False),
            name=None if row["name"] is None else _masked(row["name"]),
        )

    scope.write(work)
    return Corrected((row_id,), "")


def _relation(scope: Scope, row_id: str) -> Corrected:
    def work(change: Change) -> None:
        row = change.queries.one("relations.one", id=row_id)
        if row is None:
            raise NotFoundError(f"There is no living relation {row_id[:100]!r}. It may have been deleted since.")
        if (kind := _masked(row["relation_type"])) == row["relation_type"]:
            raise _unmaskable()
        ends = (row["from_entity"], row["to_entity"])
        change.relate(ends)
        relations.remove(change, [row_id])
        there = change.queries.all("relations.find", sources=json.dumps(ends[:1]), targets=json.dumps(ends[1:]))
        if kind not in {one["relation_type"] for one in there}:
            made = records.new_id()
            change.queries.run("relations.add", id=made, source=ends[0], target=ends[1], type=kind, now=change.now)
            change.note("create_relation", made)

    Graph(scope).change(work)
    return Corrected((row_id,), "")
