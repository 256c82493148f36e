"""Graphs in one JSON object: of Graphiti and Zep as a script writes them, and the export of cognee.

Both have entities, texts, which are episodes or chunks of documents, and edges, whose ends are named by ids.
"""

from collections.abc import Iterator, Mapping

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.fields import Fields, first_time, mapping, mappings, tagged, text, texts
from memoryd.features.imports.formats.items import LeftOut, SourceEntity, SourceMemory, SourceRelation, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile, that

HISTORY = "history"
_PARTS = ("episodes", "entities", "nodes", "facts", "edges")
_ENTITY, _CHUNK = "Entity", "DocumentChunk"
_KIND = ("relationship_name", "relationship", "edge_text", "name", "type")


def _is_graphiti(file: SourceFile) -> bool:
    first = parsing.first_object(file)
    parts = [one for name in _PARTS for one in mappings(first.get(name))] or [first]
    return any("source_node_uuid" in one or {"uuid", "group_id"} <= one.keys() for one in parts)


def _is_cognee(file: SourceFile) -> bool:
    head = file.head()
    return b'"nodes"' in head and any(f'"{kind}"'.encode() in head for kind in (_ENTITY, _CHUNK))


def _read(source: Source, more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.files:
        whole = {name: list(map(_flat, mappings(found))) for name, found in parsing.loaded(file).items()}
        nodes = whole.get("entities") or whole.get("nodes", [])
        yield from (_text(one, "content", "episode") for one in whole.get("episodes", []))
        yield from map(_node, nodes)
        names = {text(one, "uuid", "id"): text(one, "name") for one in nodes if _type(one) == _ENTITY}
        for one in whole.get("facts") or whole.get("edges", []):
            if (one.get("invalid_at") or one.get("expired_at")) and HISTORY not in more:
                yield LeftOut("facts that have ended")
            else:
                yield from _edge(one, names)


def _flat(one: Fields) -> Fields:
    """Return a node or an edge with its properties among its other fields."""
    return {**mapping(one.get("properties")), **one}


def _type(node: Fields) -> str:
    """Return the type of a node of cognee; those of Graphiti, which have a uuid, are entities."""
    return _ENTITY if "uuid" in node else text(node, "type")


def _common(one: Fields) -> Fields:
    return {"project": text(one, "group_id"), "created_at": first_time(one, ("valid_at", "created_at"))}


def _text(one: Fields, field: str, tag: str) -> SourceMemory:
    tags = (tag, *tagged("source", one.get("source_description")))
    return SourceMemory(id=text(one, "uuid", "id"), text=text(one, field), tags=tags, **_common(one))


def _node(one: Fields) -> Yielded:
    if _type(one) == _CHUNK:
        return _text(one, "text", "type:chunk")
    if _type(one) != _ENTITY:
        return LeftOut("nodes that are neither entities nor chunks of documents")
    known = (f"{key}: {value}" for key, value in mapping(one.get("attributes")).items() if isinstance(value, str | int))
    return SourceEntity(
        name=text(one, "name"),
        type=next((label for label in texts(one.get("labels")) if label != _ENTITY), "entity"),
        summary=text(one, "summary", "description"),
        observations=tuple(known),
        **_common(one),
    )


def _edge(one: Fields, names: Mapping[str, str]) -> Iterator[Yielded]:
    """Yield a relation, and its sentence as an observation of its source."""
    fields = ([f"{end}_node_uuid", end, f"{end}_node_id"] for end in ("source", "target"))
    source, target = (names.get(text(one, *some), "") for some in fields)
    if not source or not target:
        facts, edges = "facts about entities that the file does not contain", "edges that do not connect two entities"
        yield LeftOut(facts if "source_node_uuid" in one else edges)
        return
    yield SourceRelation(source=source, target=target, type=text(one, *_KIND) or "related_to", **_common(one))
    if fact := text(one, "fact"):
        yield SourceEntity(name=source, observations=(fact,), **_common(one))


GRAPHITI = ForeignFormat(
    "graphiti", "a graph of Graphiti", that(_is_graphiti, "*.json"), _read, {HISTORY: "facts that have ended"}
)
COGNEE = ForeignFormat("cognee", "an export of cognee", that(_is_cognee, "*.json"), _read)
