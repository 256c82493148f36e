"""memoryd's own simple format, easy for scripts to write: one object per line; only the text is required.

{"content": "Ann prefers tea.", "id": "a1", "created_at": "2026-03-15T10:30:00Z", "tags": ["food"]}
{"entity": "Ann", "type": "person", "observations": ["Lives in Berlin."], "summary": "A friend."}
{"from": "Ann", "to": "Acme", "relation": "works_at"}
{"session": "s1", "prompt": "hi", "thought": "", "response": "hello"}
{"session": "s1", "title": "Greetings", "summary": "They greet each other."}
"""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.items import (
    Fault,
    SourceEntity,
    SourceMemory,
    SourceRelation,
    SourceSummary,
    SourceTurn,
    Yielded,
    digest,
    share,
    text,
    texts,
    when,
)
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile

CONTENT = ("content", "memory", "text", "data")
"""The possible fields of a memory's text; the first that contains text is used."""
SIMPLE = (
    '{"content": "Ann prefers tea.", "created_at": "2026-03-15T10:30:00Z", "tags": ["food"]}',
    '{"session": "s1", "prompt": "Which port?", "response": "5433.", "created_at": "2026-03-15T10:30:00Z"}',
)
"""A memory and a turn, for people whose files are in no known format."""
_SHAPES = ({"entity"}, {"from", "to"}, {"session", "prompt"}, {"session", "title"})


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.candidates("*.json", "*.jsonl"):
        first = {} if file.base.endswith((".md", ".txt")) else parsing.first_object(file)
        first = next(iter(parsing.listed(first)), first)
        if any(text(first.get(name)) for name in CONTENT) or any(shape <= first.keys() for shape in _SHAPES):
            yield file


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.files:
        for value in parsing.values(file):
            yield value if isinstance(value, Fault) else _item(value)


def _item(value: Mapping[str, Any]) -> Yielded:
    common: dict[str, Any] = {
        "created_at": when(value.get("created_at")),
        "updated_at": when(value.get("updated_at")),
        "tags": texts(value.get("tags")),
        "project": text(value.get("project")),
        "session_id": _id(value, "session"),
    }
    if content := next((found for name in CONTENT if (found := text(value.get(name)))), ""):
        more: dict[str, Any] = {"key": text(value.get("key")), "importance": share(value.get("importance"))}
        return SourceMemory(id=_id(value, "id") or digest(content), text=content, **more, **common)
    match value:
        case {"entity": str(name)}:
            about: dict[str, Any] = {"type": text(value.get("type")), "summary": text(value.get("summary"))}
            given = value.get("observations")
            listed = [given] if isinstance(given, str) else given if isinstance(given, list) else []
            words = tuple(filter(None, map(text, listed)))
            return SourceEntity(id=name, name=name, observations=words, **about, **common)
        case {"from": str(source), "to": str(target)}:
            kind = text(value.get("relation")) or text(value.get("type")) or "related_to"
            return SourceRelation(id=source, source=source, target=target, type=kind, **common)
        case {"prompt": str(prompt)}:
            thought, response = text(value.get("thought")), text(value.get("response"))
            place = _id(value, "id") or digest(common["session_id"], common["created_at"], prompt, response)
            return SourceTurn(id=place, prompt=prompt, thought=thought, response=response, **common)
        case {"title": str(title), "summary": str(summary)} if common["session_id"]:
            return SourceSummary(id=common["session_id"], title=title, text=summary, **common)
    return Fault(
        f"an object with {', '.join(map(str, value))[:100] or 'nothing'} is not a memory, entity, relation or turn"
    )


def _id(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else text(found)


FORMAT = ForeignFormat("jsonl", "a file of JSON objects with memories, entities, relations or turns", _files, _read)
