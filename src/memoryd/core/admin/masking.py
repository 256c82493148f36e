"""Secrets are masked in place, where an audit has found them."""

import json
from collections.abc import Sequence

from memoryd.core.admin.audit import AuditFinding
from memoryd.core.graph import entities, observations, relations, renaming
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Corrected, Correction
from memoryd.core.scope import Scope
from memoryd.core.security import secrets
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind
from memoryd.store.base import Queries, Row

MASKED = (Kind.MEMORY, Kind.ENTITY, Kind.OBSERVATION, "versions", "relations")
"""What `mask` changes: the kinds of living records, and the tables of other rows."""


def can(finding: AuditFinding) -> bool:
    """Return whether `mask` has something to do with a finding; what else holds a secret is forgotten or deleted."""
    return finding.found == "secret" and finding.kind in MASKED and not finding.deleted


def mask(scope: Scope, table: str, row_id: str, at: str = "") -> Corrected:
    """Mask the secrets of a row in place: of a memory, node, observation or relation, or of a version until `at`.

    Return what `restore` takes to undo this; nothing can undo that of a version, and its living text stays.
    Raise NotFoundError, or InvalidInputError if nothing of it can be masked.
    """
    if table == "versions":
        return _version(scope, row_id, at)
    if table == "relations":
        return _relation(scope, row_id)
    row = scope.read(lambda q: q.one("history.record", id=row_id))
    if row is None or row["deleted_at"]:
        raise NotFoundError(f"There is no living record {row_id[:100]!r}. It may have been forgotten meanwhile.")
    body, name = _masked(row["body"]), _masked(row["name"] or "")
    tags = [_masked(tag) for tag in json.loads(row["tags"])]
    if (body, tags) == (row["body"], json.loads(row["tags"])) and (name == row["name"] or row["kind"] != Kind.ENTITY):
        raise _unmaskable()
    match row["kind"]:
        case Kind.MEMORY:
            return correction.correct(scope, Correction(id=row_id, content=body, tags=tuple(tags)))
        case Kind.OBSERVATION:
            place = scope.read(lambda q: q.one("observations.by_id", ids=json.dumps([row_id])))
            assert place is not None, "it is living"
            observations.replace(Graph(scope), row["entity_name"], place["ordinal"], body)
        case Kind.ENTITY:
            _node(Graph(scope), row, name, body, tags)
        case _:
            raise _unmaskable()
    return Corrected((row_id,), "")


def _masked(text: str) -> str:
    return secrets.mask(text)[0]


def _unmaskable() -> InvalidInputError:
    return InvalidInputError("There is no secret in it that can be masked in place; forget it, or delete it for good.")


def _node(graph: Graph, row: Row, name: str, summary: str, tags: Sequence[str]) -> None:
    entities.set_tags(graph, row["name"], tags)
    entities.set_summary(graph, row["name"], summary)
    renaming.rename(graph, row["name"], name)


def _version(scope: Scope, row_id: str, until: str) -> Corrected:
    def work(queries: Queries) -> None:
        row = queries.one("history.before", id=row_id, until=until)
        if row is None:
            raise NotFoundError(f"There is no version of {row_id[:100]!r} until {until[:50]!r} any more.")
        body, tags = _masked(row["body"]), [_masked(tag) for tag in json.loads(row["tags"])]
        queries.run(
            "versions.mask", id=row_id, until=until, body=body, tags=json.dumps(tags, ensure_ascii=False),
            name=None if row["name"] is None else _masked(row["name"]),
        )  # fmt: skip

    scope.write(work)
    return Corrected((row_id,), "")


def _relation(scope: Scope, row_id: str) -> Corrected:
    row = scope.read(lambda q: q.one("relations.one", id=row_id))
    if row is None:
        raise NotFoundError(f"There is no living relation {row_id[:100]!r}. It may have been deleted meanwhile.")
    edge = Edge(row["source"], row["target"], row["relation_type"])
    relations.rename(Graph(scope), edge, _masked(edge.type))
    return Corrected((row_id,), "")
