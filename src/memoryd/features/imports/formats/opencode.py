"""The sessions of opencode: its SQLite file, or the JSON of `opencode export`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

from memoryd.errors import InvalidInputError
from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, each_of, has
from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import turns
from memoryd.features.imports.formats.fields import Fields, mapping, mappings, text
from memoryd.features.imports.formats.items import LeftOut, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile, having, that

FILES = "opencode*.db"
SESSIONS, MESSAGES, PARTS = ("session/*/*.json",), ("message/*/*.json",), ("part/*/*.json", "part/*.json")
"""The files of versions before the database, in the folder storage."""


def _old(source: Source) -> list[list[SourceFile]]:
    """Return the files of sessions, of messages and of parts of versions before the database."""
    return [source.named(*patterns) for patterns in (SESSIONS, MESSAGES, PARTS)]


def _files(source: Source) -> Iterator[SourceFile]:
    sessions, *others = _old(source)
    yield from chain(sessions, *others) if sessions else ()
    yield from that(having(b'"info"', b'"ses_'), "*.json")(source)
    yield from databases(lambda one: has("part", "data")(one) and has("message", "data")(one), FILES)(source)


def _read(source: Source, more: frozenset[str]) -> Iterator[Yielded]:
    old = _old(source)
    names = {file.name for listed in old for file in listed}
    others = source.narrowed(file for file in source.files if file.name not in names)
    yield from each_of(_stored, session)(others, more)
    yield from _joined(*(list(map(_row, listed)) for listed in old))


def _row(file: SourceFile) -> Fields:
    """Return a file of versions before the database as a row of its tables."""
    value: Fields = {}
    with suppress(InvalidInputError):
        value = parsing.loaded(file)
    folder, at = file.name.split("/")[-2], mapping(value.get("time")).get("created")
    ids = {"message_id": value.get("messageID") or folder, "session_id": value.get("sessionID") or folder}
    return value | ids | {"data": value, "time_created": at}


def session(file: SourceFile, _more: frozenset[str] = frozenset()) -> Iterator[Yielded]:
    """Yield the turns of an exported session; none if it is a subagent's. Raise InvalidInputError if it is not JSON."""
    value = parsing.loaded(file)
    messages = [mapping(one.get("info")) | {"content": one.get("parts")} for one in mappings(value.get("messages"))]
    for one in messages:
        one["created"] = mapping(one.get("time")).get("created")
    yield from _turns(mapping(value.get("info")), messages)


def _stored(database: ForeignDatabase, _more: frozenset[str]) -> Iterator[Yielded]:
    newer = sum(1 for _ in database.rows("session_message"))
    yield LeftOut("messages in tables of a newer version (export them with `opencode export`)", newer)
    order = ("time_created", "id")
    yield from _joined(database.rows("session", *order), database.rows("message", *order), database.rows("part", "id"))


def _joined(sessions: Iterable[Fields], messages_: Iterable[Fields], parts_: Iterable[Fields]) -> Iterator[Yielded]:
    parts: dict[Any, list[Fields]] = defaultdict(list)
    for row in parts_:
        parts[row.get("message_id")].append(_data(row))
    messages: dict[Any, list[Fields]] = defaultdict(list)
    for row in messages_:
        own = {"id": row.get("id"), "content": parts[row.get("id")], "created": row.get("time_created")}
        messages[row.get("session_id")].append(_data(row) | own)
    for row in sessions:
        yield from _turns(row, messages[row.get("id")])


def _turns(about: Fields, messages: Iterable[Fields]) -> Iterator[Yielded]:
    if about.get("parentID") or about.get("parent_id"):
        yield LeftOut("sessions of subagents")
        return
    session_id = f"opencode:{text(about, 'id')}"
    yield from turns(chat.messages(messages), session_id, folder=about.get("directory"), title=about.get("title"))


def _data(row: Fields) -> Fields:
    return mapping(parsing.value_in(row, "data", row.get("data")))


FORMAT = ForeignFormat("opencode", "sessions of opencode", _files, _read)
