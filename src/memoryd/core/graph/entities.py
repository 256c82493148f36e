"""Entities: the nodes of the graph, with their observations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import NotRequired

from typing_extensions import TypedDict

from memoryd.core.base.results import WholeList, without_empty
from memoryd.core.graph import observations, relations
from memoryd.core.graph.names import MEANT, Suggesting, composed, demand, look_up, spelling
from memoryd.core.graph.observations import ShownObservation
from memoryd.core.graph.transaction import Change, Graph, entity
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.core.security.secrets import cleaned, matched
from memoryd.model import Entity, Kind, Record
from memoryd.store.base import Queries, of_row


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntity:
    """An entity to create, or additions to an existing one."""

    name: str
    type: str
    observations: tuple[str, ...] = ()
    summary: str | None = None
    tags: tuple[str, ...] | None = None


class BriefNode(TypedDict):
    """A node in a list."""

    name: str
    entity_type: str
    summary: str | None
    tags: list[str]
    updated_at: str


class ShownNode(TypedDict):
    """A node with its observations."""

    id: str
    name: str
    entity_type: str
    summary: str | None
    tags: list[str]
    observations: list[ShownObservation]
    created_at: str
    updated_at: str


class CreatedNode(TypedDict):
    """A node that was created or already existed."""

    id: str
    name: str
    entity_type: str
    created_at: str
    already_existed: bool
    did_you_mean: NotRequired[list[str]]
    """The names of other nodes that differ from a new one's only in case, blanks, `-` or `_`; absent if none does."""


class SummarizedNode(TypedDict):
    """The new summary of a node."""

    name: str
    summary: str | None
    updated_at: str


class TaggedNode(TypedDict):
    """The new tags of a node."""

    name: str
    tags: list[str]


class DeletedNodes(Suggesting):
    """The names of the deleted nodes, and the names that were not found."""

    deleted: list[str]
    not_found: list[str]
    deleted_count: int


@cleaned
def create(graph: Graph, news: Sequence[NewEntity]) -> WholeList[CreatedNode]:
    """Create entities with their observations, all or none; return them in the order given.

    An existing entity keeps its type and gains the observations that it lacks, and the summary and tags if given, so
    a call can safely be repeated.
    """
    vectors = graph.passages(graph.read(lambda q: _texts(q, news)))
    return {"result": graph.change(lambda change: put(change, news, vectors))}


def put(change: Change, news: Sequence[NewEntity], vectors: Mapping[str, Embedded]) -> list[CreatedNode]:
    """Do the work of `create` within a change."""
    known, observed = observations.looked_up(change.queries, _wanted(news))
    added: dict[str, Entity] = {}
    made: list[CreatedNode] = []
    for new in news:
        existing = known.found.get(new.name) or added.get(composed(new.name))
        one = _revise(change, existing, new) if existing else _add(change, new, vectors)
        before = observed.setdefault(one.id, set())
        lacking = [c for c in dict.fromkeys(new.observations) if c not in before] if existing else new.observations
        observations.append(change, one, lacking, vectors)
        before.update(lacking)
        similar: list[str] = []
        if not existing:
            alike = (one.name for one in added.values() if spelling(one.name) == spelling(new.name))
            similar = [*known.similar.get(new.name, []), *alike][:MEANT]
            added[composed(new.name)] = one
        shown: CreatedNode = {
            "id": one.id,
            "name": one.name,
            "entity_type": one.type,
            "created_at": one.created_at,
            "already_existed": existing is not None,
            "did_you_mean": similar,
        }
        made.append(without_empty(shown, "did_you_mean"))
    return made


def _wanted(news: Sequence[NewEntity]) -> list[tuple[str, Sequence[str]]]:
    return [(new.name, new.observations) for new in news]


def _texts(queries: Queries, news: Sequence[NewEntity]) -> list[str]:
    """Return the texts that `put` will embed: of an existing entity only the observations that it lacks."""
    known, observed = observations.looked_up(queries, _wanted(news))
    found = []
    for new in news:
        existing = known.found.get(new.name)
        if existing is None:
            found.append(records.text_of(Kind.ENTITY, new.name, new.type, new.summary or ""))
        lacking = [content for content in new.observations if not existing or content not in observed[existing.id]]
        found += [observations.text(existing.name if existing else new.name, content) for content in lacking]
    return found


def _add(change: Change, new: NewEntity, vectors: Mapping[str, Embedded]) -> Entity:
    record = Record(
        id=records.new_id(),
        kind=Kind.ENTITY,
        name=new.name,
        type=new.type,
        body=new.summary or "",
        tags=new.tags or (),
        session_id=change.session_id,
        created_at=change.now,
        updated_at=change.now,
    )
    change.write(record, vectors)
    change.queries.run("entities.add", id=record.id, summary_updated_at=change.now if new.summary else None)
    return of_row(Entity, asdict(record), summary=new.summary or None)


def _revise(change: Change, existing: Entity, new: NewEntity) -> Entity:
    """Set the summary and tags that are given and differ; return the entity."""
    if new.summary is not None and new.summary != (existing.summary or ""):
        _summarize(change, existing, new.summary)
    if new.tags is not None:
        _tag(change, existing, new.tags)
    return existing if new.summary is None and new.tags is None else demand(change.queries, existing.name)[0]


@matched
def delete(graph: Graph, names: Sequence[str]) -> DeletedNodes:
    """Mark entities as deleted, with their observations and relations; return which were found."""

    def work(change: Change) -> DeletedNodes:
        known = look_up(change.queries, names)
        gone = {one.id: one for one in known.found.values()}
        drop(change, list(gone.values()))
        return {
            "deleted": [one.name for one in gone.values()],
            "not_found": [name for name in dict.fromkeys(names) if name not in known.found],
            "deleted_count": len(gone),
            **known.suggested(),
        }

    deleted = graph.change(work)
    graph.engine.purge_if_at_once(graph.workspace)
    return deleted


def drop(change: Change, nodes: Sequence[Entity], successor: str = "") -> None:
    """Mark entities as deleted, with their observations and relations, within a change.

    `successor` is the id of the entity into which they were merged.
    """
    ids = [one.id for one in nodes]
    about = [observation.id for each in observations.of(change.queries, ids).values() for observation in each]
    records.delete(change.queries, about, change.now)
    records.delete(change.queries, ids, change.now, successor)
    relations.cut(change, ids)  # after the nodes: otherwise their texts would follow the loss of each relation


@cleaned
def set_summary(graph: Graph, name: str, summary: str, seen: str = "") -> SummarizedNode:
    """Set the summary of an entity, '' for none; return it.

    Raise NotFoundError if it does not exist, ChangedMeanwhileError if it was changed after it was `seen`.
    """

    def work(change: Change) -> SummarizedNode:
        (existing,) = demand(change.queries, name)
        records.demand_unchanged(existing.updated_at, seen)
        _summarize(change, existing, summary)
        (now,) = demand(change.queries, name)
        return {"name": now.name, "summary": now.summary, "updated_at": now.updated_at}

    return graph.change(work)


@cleaned
def set_tags(graph: Graph, name: str, tags: Iterable[str]) -> TaggedNode:
    """Replace the tags of an entity; return them. Raise NotFoundError if it does not exist."""

    def work(change: Change) -> TaggedNode:
        (existing,) = demand(change.queries, name)
        _tag(change, existing, tuple(dict.fromkeys(tags)))
        (now,) = demand(change.queries, name)
        return {"name": now.name, "tags": list(now.tags)}

    return graph.change(work)


def _summarize(change: Change, existing: Entity, summary: str) -> None:
    """Set a summary. An equal one only updates the times; the vectors stay valid."""
    change.queries.run("entities.summarized", id=existing.id, now=change.now if summary else None)
    if summary == (existing.summary or ""):
        change.touch([existing.id])
        return
    records.change(change.queries, existing.id, summary, existing.tags, None, change.now)
    change.lacking.add(existing.id)
    change.reads_differently([existing.id], "summary")


def _tag(change: Change, existing: Entity, tags: Sequence[str]) -> None:
    if tuple(tags) == existing.tags:
        return
    records.retag(change.queries, existing.id, tags, change.now)
    change.reads_differently([existing.id], "tags")


# reading -------------------------------------------------------------------------------------------------------------


def shown(of: Entity) -> ShownNode:
    """Return a node as tools show it, still without its observations."""
    return {
        "id": of.id,
        "name": of.name,
        "entity_type": of.type,
        "summary": of.summary,
        "tags": list(of.tags),
        "observations": [],
        "created_at": of.created_at,
        "updated_at": of.updated_at,
    }


def brief(of: Entity) -> BriefNode:
    """Return a node as an item of a list."""
    return {
        "name": of.name,
        "entity_type": of.type,
        "summary": of.summary,
        "tags": list(of.tags),
        "updated_at": of.updated_at,
    }


def of_type(graph: Graph, entity_type: str) -> list[BriefNode]:
    """Return the entities of a type, ordered by name."""
    return [brief(entity(row)) for row in graph.read(lambda q: q.all("entities.by_type", type=entity_type))]


def recently_modified(graph: Graph, days: float, limit: int) -> WholeList[BriefNode]:
    """Return the entities that were changed in the last `days` (fields, observations, relations), latest first."""
    since = graph.engine.clock.ago(timedelta(days=days))
    rows = graph.read(lambda q: q.all("entities.recent", since=since, limit=limit))
    return {"result": [brief(entity(row)) for row in rows]}


def page(graph: Graph, start: str, limit: int) -> list[Entity]:
    """Return entities ordered by name, from `start` on."""
    return [entity(row) for row in graph.read(lambda q: q.all("entities.page", start=start, limit=limit))]
