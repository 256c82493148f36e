"""Graphiti and Zep: a JSON file of episodes, entities (nodes) and facts (edges), as a script writes them."""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.fields import digest, mapping, mappings, tagged, text, texts, when
from memoryd.features.imports.formats.items import LeftOut, SourceEntity, SourceMemory, SourceRelation, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile

HISTORY = "history"
_PARTS = ("episodes", "entities", "nodes", "facts", "edges")


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.candidates("*.json"):
        first = parsing.first_object(file)
        parts = [one for name in _PARTS for one in mappings(first.get(name))] or [first]
        if any("source_node_uuid" in one or {"uuid", "group_id"} <= one.keys() for one in parts):
            yield file


def _read(source: Source, more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.files:
        whole = mapping(parsing.loaded(file))
        for one in mappings(whole.get("episodes")):
            yield _episode(one)
        nodes = mappings(whole.get("entities")) or mappings(whole.get("nodes"))
        for one in nodes:
            yield _node(one)
        names = {text(one.get("uuid")): text(one.get("name")) for one in nodes}
        for one in mappings(whole.get("facts")) or mappings(whole.get("edges")):
            if (one.get("invalid_at") or one.get("expired_at")) and HISTORY not in more:
                yield LeftOut("facts that have ended")
            else:
                yield from _fact(one, names)


def _episode(one: Mapping[str, Any]) -> SourceMemory:
    content = text(one.get("content"))
    return SourceMemory(
        id=text(one.get("uuid")) or digest(content),
        text=content,
        project=text(one.get("group_id")),
        tags=("episode", *tagged("source", one.get("source_description"))),
        created_at=when(one.get("valid_at")) or when(one.get("created_at")),
    )


def _node(one: Mapping[str, Any]) -> SourceEntity:
    name = text(one.get("name"))
    labels = [label for label in texts(one.get("labels")) if label != "Entity"]
    known = (f"{key}: {value}" for key, value in mapping(one.get("attributes")).items() if isinstance(value, str | int))
    return SourceEntity(
        id=name,
        name=name,
        type=labels[0] if labels else "entity",
        summary=text(one.get("summary")),
        observations=tuple(known),
        project=text(one.get("group_id")),
        created_at=when(one.get("created_at")),
    )


def _fact(one: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Yielded]:
    """Yield a relation, and its sentence as an observation of its source."""
    source, target = (names.get(text(one.get(f"{end}_node_uuid")), "") for end in ("source", "target"))
    common: dict[str, Any] = {
        "project": text(one.get("group_id")),
        "created_at": when(one.get("valid_at")) or when(one.get("created_at")),
    }
    if not source or not target:
        yield LeftOut("facts about entities that the file does not contain")
        return
    yield SourceRelation(
        id=text(one.get("uuid")), source=source, target=target, type=text(one.get("name")) or "related_to", **common
    )
    if fact := text(one.get("fact")):
        yield SourceEntity(id=source, name=source, observations=(fact,), **common)


FORMAT = ForeignFormat("graphiti", "a graph of Graphiti", _files, _read, {HISTORY: "facts that have ended"})
