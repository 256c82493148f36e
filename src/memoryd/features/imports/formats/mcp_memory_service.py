"""mcp-memory-service's sqlite_vec.db, or its JSON export."""

from collections import defaultdict
from collections.abc import Iterator

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, each_of, has
from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.fields import Fields, mapping, share, tagged, text, texts, times
from memoryd.features.imports.formats.items import LeftOut, SourceMemory, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, either, that

HISTORY = "history"
_NO_TAG, _NO_STORE = "untagged", "default"
_ENTITY = "has_entity"
"""The type of an edge from a memory to the name of an entity."""


def _stored(database: ForeignDatabase, more: frozenset[str]) -> Iterator[Yielded]:
    entities: dict[str, list[str]] = defaultdict(list)
    links = set[frozenset[str]]()  # most occur twice, once in each direction
    for row in database.rows("memory_graph"):
        source, target = text(row, "source_hash"), text(row, "target_hash")
        if row.get("relationship_type") == _ENTITY:
            entities[source].append(target)
        else:
            links.add(frozenset((source, target)))
    for row in database.rows("memories", "created_at", "id"):
        named = entities[text(row, "content_hash")]
        yield _memory(row | {"metadata": parsing.value_in(row, "metadata")}, more, tagged("entity", *named))
    yield LeftOut("links between memories, which have no counterpart", len(links))


def _memory(value: Fields, more: frozenset[str], named: tuple[str, ...] = ()) -> Yielded:
    metadata = mapping(value.get("metadata"))
    superseded = value.get("superseded_by") or metadata.get("superseded_by")
    if (value.get("deleted_at") or superseded) and HISTORY not in more:
        return LeftOut("deleted memories" if value.get("deleted_at") else "superseded memories")
    tags = (tag for tag in texts(value.get("tags")) if tag != _NO_TAG)
    store = text(value, "store")
    return SourceMemory(
        id=text(value, "content_hash"),
        text=text(value, "content"),
        tags=(*tagged("type", value.get("memory_type")), *tags, *named),
        project=store if store != _NO_STORE else "",
        importance=share(metadata.get("quality_score")),
        session_id=text(metadata, "conversation_id", "episode_id"),
        **times(value),
    )


FORMAT = ForeignFormat(
    "mcp-memory-service",
    "memories of mcp-memory-service",
    either(
        that(lambda file: parsing.has_field(file, "export_metadata"), "*.json"),
        databases(has("memories", "content_hash", "content", "tags", "memory_type"), "sqlite_vec.db"),
    ),
    each_of(_stored, lambda file, more: parsing.each(file, lambda value: [_memory(value, more)])),
    {HISTORY: "memories that were deleted or superseded"},
)
