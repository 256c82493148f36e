"""mcp-memory-service: its sqlite_vec.db, or the JSON that it exports."""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.core.transfer.formats import parsing
from memoryd.core.transfer.formats.databases import databases, has
from memoryd.core.transfer.formats.items import (
    Fault,
    LeftOut,
    SourceMemory,
    Yielded,
    digest,
    mapping,
    share,
    tagged,
    text,
    texts,
    when,
)
from memoryd.core.transfer.formats.source import ForeignFormat, Source
from memoryd.store.sqlite.foreign import foreign_database

FILE = "sqlite_vec.db"
HISTORY = "history"
_NO_TAG = "untagged"
_FITS = has("memories", "content_hash", "content", "tags", "memory_type")


def _recognizes(source: Source) -> bool:
    if source.only and b'"export_metadata"' in source.only.head():
        return True
    return any(databases(source, _FITS, FILE))


def _read(source: Source, more: frozenset[str]) -> Iterator[Yielded]:
    found = list(databases(source, _FITS, FILE))
    for path in found:
        with foreign_database(path) as database:
            for row in database.rows("memories", "created_at", "id"):
                yield _memory(row | {"metadata": _object(row.get("metadata"))}, more)
            if edges := sum(1 for _ in database.rows("memory_graph")):
                yield LeftOut("links between memories, which have no counterpart", edges)
    if source.only and not found:
        for value in parsing.values(source.only):
            yield value if isinstance(value, Fault) else _memory(value, more)


def _memory(value: Mapping[str, Any], more: frozenset[str]) -> Yielded:
    if value.get("deleted_at") and HISTORY not in more:
        return LeftOut("deleted memories")
    content, metadata = text(value.get("content")), mapping(value.get("metadata"))
    tags = (tag for tag in texts(value.get("tags")) if tag != _NO_TAG)
    return SourceMemory(
        id=text(value.get("content_hash")) or digest(content), text=content,
        tags=(*tagged("type", value.get("memory_type")), *tags), importance=share(metadata.get("quality_score")),
        created_at=when(value.get("created_at")), updated_at=when(value.get("updated_at")),
        session_id=text(metadata.get("conversation_id")) or text(metadata.get("episode_id")),
    )  # fmt: skip


def _object(value: Any) -> dict[str, Any]:
    try:
        return mapping(parsing.value_of(text(value) or "{}"))
    except ValueError:
        return {}


FORMAT = ForeignFormat(
    "mcp-memory-service", "memories of mcp-memory-service", _recognizes, _read, {HISTORY: "memories that were deleted"}
)
