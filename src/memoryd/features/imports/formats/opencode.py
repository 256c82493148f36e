"""The sessions of opencode: its SQLite file, or the JSON of `opencode export`."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memoryd.errors import InvalidInputError
from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, parted, read_each
from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import turns
from memoryd.features.imports.formats.fields import folder_name, mapping, mappings, tagged, text
from memoryd.features.imports.formats.items import LeftOut, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile
from memoryd.store.base import Row

FILES = "opencode*.db"
SESSIONS, MESSAGES, PARTS = ("session/*/*.json",), ("message/*/*.json",), ("part/*/*.json", "part/*.json")
"""The files of versions before the database, in the folder storage."""


def _fits(database: ForeignDatabase) -> bool:
    return all("data" in database.tables.get(table, ()) for table in ("part", "message"))


def _files(source: Source) -> Iterator[SourceFile]:
    if sessions := source.named(*SESSIONS):
        yield from (*sessions, *source.named(*MESSAGES), *source.named(*PARTS))
    for file in source.candidates("*.json"):
        head = file.head()
        if b'"info"' in head and b'"ses_' in head:
            yield file
    yield from databases(source, _fits, FILES)


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    stored, files = parted(source)
    yield from read_each(stored, _stored)
    old = [files.named(*patterns) for patterns in (SESSIONS, MESSAGES, PARTS)]
    names = {file.name for listed in old for file in listed}
    for file in files.files:
        if file.name not in names:
            yield from session(file)
    sessions, messages, parts = (list(map(_row, listed)) for listed in old)
    yield from _joined(sessions, messages, parts)


def _row(file: SourceFile) -> Row:
    """Return a file of versions before the database as a row of its tables."""
    try:
        value = mapping(parsing.loaded(file))
    except InvalidInputError:
        value = {}
    folder = file.name.split("/")[-2]
    ids = {"message_id": value.get("messageID") or folder, "session_id": value.get("sessionID") or folder}
    at = mapping(value.get("time")).get("created")
    more = {"parent_id": value.get("parentID"), "data": json.dumps(value), "time_created": at}
    return value | ids | more


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of an exported session; none if it is a subagent's. Raise InvalidInputError if it is not JSON."""
    value = mapping(parsing.loaded(file))
    info = mapping(value.get("info"))
    if info.get("parentID"):
        yield LeftOut("sessions of subagents")
        return
    pairs = ((mapping(one.get("info")), one.get("parts")) for one in mappings(value.get("messages")))
    messages = (
        about | {"content": parts, "created": mapping(about.get("time")).get("created")} for about, parts in pairs
    )
    yield from _turns(messages, text(info.get("id")), info)


def _stored(database: ForeignDatabase) -> Iterator[Yielded]:
    if newer := sum(1 for _ in database.rows("session_message")):
        yield LeftOut("messages in tables of a newer version (export them with `opencode export`)", newer)
    order = ("time_created", "id")
    yield from _joined(database.rows("session", *order), database.rows("message", *order), database.rows("part", "id"))


def _joined(sessions: Iterable[Row], messages_: Iterable[Row], parts_: Iterable[Row]) -> Iterator[Yielded]:
    parts: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in parts_:
        parts[row.get("message_id")].append(_data(row))
    messages: dict[Any, list[Row]] = defaultdict(list)
    for row in messages_:
        messages[row.get("session_id")].append(row)
    for row in sessions:
        if row.get("parent_id"):
            yield LeftOut("sessions of subagents")
            continue
        every = (
            _data(one) | {"id": one.get("id"), "content": parts[one.get("id")], "created": one.get("time_created")}
            for one in messages[row.get("id")]
        )
        yield from _turns(every, text(row.get("id")), row)


def _turns(messages: Iterable[dict[str, Any]], place: str, about: Mapping[str, Any]) -> Iterator[Yielded]:
    titles = tagged("title", about.get("title"))
    yield from turns(chat.messages(messages), f"opencode:{place}", folder_name(about.get("directory")), titles)


def _data(row: Row) -> dict[str, Any]:
    return mapping(parsing.value_in(row, "data"))


FORMAT = ForeignFormat("opencode", "sessions of opencode", _files, _read)
