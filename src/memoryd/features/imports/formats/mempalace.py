"""MemPalace: the drawers in Chroma's SQLite file, and the knowledge graph. Chroma itself is not needed."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, each_of
from memoryd.features.imports.formats.fields import Fields, tagged, text, when
from memoryd.features.imports.formats.items import LeftOut, SourceEntity, SourceMemory, SourceRelation, Yielded
from memoryd.features.imports.formats.source import ForeignFormat

FILES = ("chroma.sqlite3", "knowledge_graph.sqlite3", "knowledge_graph.db")
MINED = "mined"
HISTORY = "history"
DRAWERS = "drawers"
"""The end of the name of the collection with the texts; others only point to it."""
DOCUMENT = "chroma:document"
DELETED = 3  # Chroma's number for the operation
OVERLAP = 400  # maximum characters that neighbouring chunks share
_WRITTEN = frozenset({"mcp", "diary", "tool_add_drawer"})
_PLACES = ("wing", "room", "hall")


def _is_graph(database: ForeignDatabase) -> bool:
    return database.tables.keys() >= {"entities", "triples"}


def _drawers(database: ForeignDatabase) -> str:
    """Return the id of the collection of drawers, or ''."""
    names = {text(row, "name"): text(row, "id") for row in database.rows("collections")}
    return next((names[name] for name in sorted(names) if name.endswith(DRAWERS)), "")


def _memories(database: ForeignDatabase, more: frozenset[str]) -> Iterator[Yielded]:
    written: dict[str, list[Fields]] = defaultdict(list)
    mined: dict[str, list[Fields]] = defaultdict(list)
    for drawer in _every(database):
        if _is_written(drawer):
            written[text(drawer, "parent_drawer_id", "id")].append(drawer)
        elif MINED in more:
            mined[text(drawer, "source_file")].append(drawer)
        else:
            yield LeftOut("chunks of mined files (import the originals, or --include mined)")
    for place, found in written.items():
        yield _memory(found, "".join, place)
    for file, found in mined.items():
        yield _memory(found, _glued, file, *tagged("file", file))
    # the rows of the queue remain after they are stored
    stored = {row.get("embedding_id") for row in database.rows("embeddings")}
    last = {row.get("id"): row.get("operation") for row in database.rows("embeddings_queue", "seq_id")}
    waiting = sum(operation != DELETED and name not in stored for name, operation in last.items())
    yield LeftOut("entries that Chroma has queued but not stored (open the palace with MemPalace once)", waiting)


def _every(database: ForeignDatabase) -> Iterator[Fields]:
    """Yield each drawer with its metadata."""
    collection = _drawers(database)
    segments = {row.get("id") for row in database.rows("segments") if row.get("collection") == collection}
    ids = {row.get("id"): row for row in database.rows("embeddings", "id") if row.get("segment_id") in segments}
    for key, group in groupby(database.rows("embedding_metadata", "id"), key=lambda row: row.get("id")):
        if key in ids:
            values = {text(row, "key"): _value(row) for row in group}
            yield values | {"id": ids[key].get("embedding_id"), "stored_at": ids[key].get("created_at")}


def _value(row: Fields) -> Any:
    columns = ("string_value", "int_value", "float_value", "bool_value")
    return next((row[name] for name in columns if row.get(name) is not None), None)


def _is_written(drawer: Fields) -> bool:
    """Return whether an agent wrote a drawer, rather than cutting it from a file."""
    by, hall, mode = (text(drawer, name).lower() for name in ("added_by", "hall", "ingest_mode"))
    return bool({by, hall, mode} & _WRITTEN) or "diary" in hall or not text(drawer, "source_file")


def _memory(chunks: list[Fields], join: Callable[[list[str]], str], place: str, *more: str) -> SourceMemory:
    chunks.sort(key=lambda one: one["chunk_index"] if isinstance(one.get("chunk_index"), int) else 0)
    drawer = chunks[0]
    at = when(drawer.get("filed_at"), local=True) or when(drawer.get("stored_at"))
    tags = (tag for name in _PLACES for tag in tagged(name, drawer.get(name)))
    return SourceMemory(
        id=place,
        text=join([one[DOCUMENT] if isinstance(one.get(DOCUMENT), str) else "" for one in chunks]),
        tags=(*tags, *more),
        project=text(drawer, "wing"),
        created_at=when(drawer.get("content_date"), local=True) or at,
        updated_at=at,
        session_id=text(drawer, "source_session"),
    )


def _glued(chunks: list[str]) -> str:
    """Return chunks as one text, without the overlaps of neighbours."""
    whole = chunks[0] if chunks else ""
    for chunk in chunks[1:]:
        sizes = range(min(len(whole), len(chunk), OVERLAP), 0, -1)
        common = next((size for size in sizes if whole.endswith(chunk[:size])), 0)
        whole += chunk[common:] if common else f"\n\n{chunk}"
    return whole


def _graph(database: ForeignDatabase, more: frozenset[str]) -> Iterator[Yielded]:
    names = {}
    for row in database.rows("entities", "id"):
        names[row.get("id")] = name = text(row, "name")
        yield SourceEntity(name=name, type=text(row, "type"), created_at=when(row.get("created_at"), local=True))
    for row in database.rows("triples", "id"):
        if row.get("valid_to") and HISTORY not in more:
            yield LeftOut("relations that have ended")
            continue
        source, target = (names.get(row.get(end)) or text(row, end) for end in ("subject", "object"))
        at = when(row.get("valid_from"), local=True) or when(row.get("extracted_at"), local=True)
        yield SourceRelation(
            id=text(row, "id"), source=source, target=target, type=text(row, "predicate"), created_at=at
        )


FORMAT = ForeignFormat(
    "mempalace",
    "a palace of MemPalace",
    databases(lambda one: _is_graph(one) or _drawers(one), *FILES),
    each_of(lambda one, more: (_graph if _is_graph(one) else _memories)(one, more)),
    {MINED: "chunks of mined files, joined again", HISTORY: "relations that have ended"},
)
