"""cognee's JSON export: entities, chunks of documents, and edges between them."""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.fields import digest, first_text, mapping, mappings, text, when
from memoryd.features.imports.formats.items import LeftOut, SourceEntity, SourceMemory, SourceRelation, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile

_ENTITY, _CHUNK = "Entity", "DocumentChunk"


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.candidates("*.json"):
        head = file.head()
        if b'"nodes"' in head and any(f'"{kind}"'.encode() in head for kind in (_ENTITY, _CHUNK)):
            yield file


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.files:
        whole = mapping(parsing.loaded(file))
        nodes = [_flat(one) for one in mappings(whole.get("nodes"))]
        names = {text(one.get("id")): text(one.get("name")) for one in nodes if one.get("type") == _ENTITY}
        for one in nodes:
            yield _node(one)
        for one in map(_flat, mappings(whole.get("edges"))):
            yield _edge(one, names)


def _flat(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node or an edge with its properties among its other fields."""
    return {**mapping(one.get("properties")), **one}


def _node(one: Mapping[str, Any]) -> Yielded:
    at = when(one.get("created_at"))
    if one.get("type") == _ENTITY:
        name = text(one.get("name"))
        about = text(one.get("description"))
        return SourceEntity(id=name, name=name, type="entity", summary=about, created_at=at)
    if one.get("type") == _CHUNK:
        content = text(one.get("text"))
        return SourceMemory(
            id=text(one.get("id")) or digest(content), text=content, tags=("type:chunk",), created_at=at
        )
    return LeftOut("nodes that are neither entities nor chunks of documents")


def _edge(one: Mapping[str, Any], names: Mapping[str, str]) -> Yielded:
    source, target = (
        names.get(text(one.get(end)) or text(one.get(f"{end}_node_id")), "") for end in ("source", "target")
    )
    if not source or not target:
        return LeftOut("edges that do not connect two entities")
    kind = first_text(one, ("relationship_name", "relationship", "edge_text", "type"))
    return SourceRelation(id=digest(source, target, kind), source=source, target=target, type=kind or "related_to")


FORMAT = ForeignFormat("cognee", "an export of cognee", _files, _read)
