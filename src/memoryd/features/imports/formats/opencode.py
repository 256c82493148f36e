"""The sessions of opencode: its SQLite file, or the JSON of `opencode export`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memoryd.features.imports.foreign_sqlite import ForeignDatabase
from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.conversations import BETWEEN, SourceMessage, turns
from memoryd.features.imports.formats.databases import databases, parted, read_each
from memoryd.features.imports.formats.items import LeftOut, Yielded, mapping, mappings, tagged, text, when
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile
from memoryd.store.base import Row

FILES = "opencode*.db"
_SPEAKERS = ("user", "assistant")


def _fits(database: ForeignDatabase) -> bool:
    return all("data" in database.tables.get(table, ()) for table in ("part", "message"))


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.candidates("*.json"):
        head = file.head()
        if b'"info"' in head and b'"ses_' in head:
            yield file
    yield from databases(source, _fits, FILES)


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    stored, exported = parted(source)
    yield from read_each(stored, _stored)
    for file in exported.files:
        yield from session(file)


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of an exported session; none if it is a subagent's. Raise InvalidInputError if it is not JSON."""
    value = mapping(parsing.loaded(file))
    info = mapping(value.get("info"))
    if info.get("parentID"):
        yield LeftOut("sessions of subagents")
        return
    messages = (
        _message(mapping(one.get("info")), mappings(one.get("parts")), mapping(mapping(one.get("info")).get("time")))
        for one in mappings(value.get("messages"))
    )
    yield from _turns(messages, text(info.get("id")), info)


def _stored(database: ForeignDatabase) -> Iterator[Yielded]:
    if newer := sum(1 for _ in database.rows("session_message")):
        yield LeftOut("messages in tables of a newer version (export them with `opencode export`)", newer)
    parts: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in database.rows("part", "id"):
        parts[row.get("message_id")].append(_data(row))
    messages: dict[Any, list[Row]] = defaultdict(list)
    for row in database.rows("message", "time_created", "id"):
        messages[row.get("session_id")].append(row)
    for row in database.rows("session", "time_created", "id"):
        if row.get("parent_id"):
            yield LeftOut("sessions of subagents")
            continue
        every = (
            _message(_data(one) | {"id": one.get("id")}, parts[one.get("id")], {"created": one.get("time_created")})
            for one in messages[row.get("id")]
        )
        yield from _turns(every, text(row.get("id")), row)


def _turns(messages: Iterator[SourceMessage | None], place: str, about: Mapping[str, Any]) -> Iterator[Yielded]:
    project = PurePosixPath(text(about.get("directory")).replace("\\", "/")).name
    spoken = (one for one in messages if one)
    yield from turns(spoken, f"opencode:{place}", project, tagged("title", about.get("title")))


def _data(row: Row) -> dict[str, Any]:
    try:
        return mapping(parsing.value_of(text(row.get("data"))))
    except ValueError:
        return {}


def _message(info: Mapping[str, Any], parts: list[dict[str, Any]], time: Mapping[str, Any]) -> SourceMessage | None:
    role = info.get("role")
    if role not in _SPEAKERS:
        return None
    words = (text(one.get("text")) for one in parts if one.get("type") == "text" and not one.get("synthetic"))
    thought = (text(one.get("text")) for one in parts if one.get("type") == "reasoning")
    at = when(time.get("created"))
    return SourceMessage(
        "user" if role == "user" else "assistant",
        BETWEEN.join(filter(None, words)),
        text(info.get("id")),
        at,
        BETWEEN.join(filter(None, thought)),
    )


FORMAT = ForeignFormat("opencode", "sessions of opencode", _files, _read)
