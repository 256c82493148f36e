"""mem0: the result of its `get_all`, its history.db, and the zip archives of OpenMemory."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from memoryd.core.base.clock import timestamp
from memoryd.errors import InvalidInputError
from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, each_of, has
from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.fields import Fields, mapping, mappings, tagged, text, texts, times, when
from memoryd.features.imports.formats.items import Fault, LeftOut, SourceMemory, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile, either, that

HISTORY = "history"
QDRANT = "collection/*/storage.sqlite"
"""The files of Qdrant's local store."""
_TEXTS = ("memory", "data", "content", "text")
_SCOPES = {"user": "user_id", "agent": "agent_id", "actor": "actor_id", "app": "app"}
_ASIDE = frozenset({"archived", "paused"})
PICKLED = (
    "contains pickled objects, which could run any code. Export them with mem0: "
    "`import json, mem0; found = mem0.Memory().get_all(filters={'user_id': USER}, top_k=100000); "
    "json.dump(found, open('mem0.json', 'w'))`, and import mem0.json"
)


def _of_openmemory(source: Source) -> list[SourceFile]:
    names = ("memories.json", "memories.jsonl.gz")
    return source.named(*names) if source.names.issuperset(names) else []


def _is_list(file: SourceFile) -> bool:
    first = parsing.first_object(file)
    first = next(iter(parsing.listed(first)), first)
    return bool(text(first, "memory")) and bool({"user_id", "agent_id", "hash", "run_id"} & first.keys())


def _read(source: Source, more: frozenset[str]) -> Iterator[Yielded]:
    pickled = source.named(QDRANT)
    yield from (Fault(f"{file.name} {PICKLED}") for file in pickled)
    yield from each_of(_rebuilt, _listed)(source.narrowed(file for file in source.files if file not in pickled), more)


def _listed(file: SourceFile, more: frozenset[str]) -> Iterator[Yielded]:
    if file.base.endswith(".gz"):  # it has the texts of memories.json
        return
    names: dict[str, str] = {}
    if file.head().lstrip().startswith(b"{"):
        with suppress(InvalidInputError):  # JSON lines, or damaged: reported below
            categories = mappings(parsing.loaded(file).get("categories"))
            names = {text(one, "id"): text(one, "name") for one in categories}
    yield from parsing.each(file, lambda value: [_memory(value, names, more)])


def _memory(value: Fields, names: Mapping[str, str], more: frozenset[str]) -> Yielded:
    content = text(value, *_TEXTS)
    if not content:
        return Fault(f"an object with {parsing.keys_of(value)} is not a memory")
    state, metadata = text(value, "state"), mapping(value.get("metadata"))
    expires = when(value.get("expiration_date"))
    if "history" not in more and (state == "deleted" or (expires and expires < timestamp(datetime.now(UTC)))):
        return LeftOut("deleted or expired memories")
    named = tuple(filter(None, (names.get(one, "") for one in texts(value.get("category_ids")))))
    aside = _ASIDE & {state}
    scopes = (tag for prefix, name in _SCOPES.items() for tag in tagged(prefix, value.get(name)))
    return SourceMemory(
        id=text(value, "id"),
        text=content,
        tags=(*tagged("type", metadata.get("type")), *texts(value.get("categories")), *named, *scopes, *aside),
        session_id=text(value, "run_id"),
        **times(value),
    )


def _rebuilt(database: ForeignDatabase, _more: frozenset[str]) -> Iterator[Yielded]:
    """Yield the last text of each memory that was not deleted."""
    found: dict[str, SourceMemory] = {}
    gone = 0
    for row in database.rows(HISTORY, "created_at", "updated_at"):
        place, words = text(row, "memory_id"), text(row, "new_memory")
        if row.get("event") == "DELETE" or row.get("is_deleted"):
            gone += found.pop(place, None) is not None
        elif place and words:
            at = when(row.get("created_at"))
            first, last = found[place].created_at if place in found else at, when(row.get("updated_at")) or at
            tags = tagged("actor", row.get("actor_id"))
            found[place] = SourceMemory(id=place, text=words, tags=tags, created_at=first, updated_at=last)
    yield from found.values()
    yield LeftOut("deleted or expired memories", gone)


FORMAT = ForeignFormat(
    "mem0",
    "memories of mem0",
    either(
        _of_openmemory,
        databases(has(HISTORY, "memory_id", "new_memory", "event"), "history.db"),
        lambda source: source.named(QDRANT),
        that(_is_list, "*.json", "*.jsonl"),
    ),
    _read,
    {"history": "memories that were deleted or have expired"},
)
