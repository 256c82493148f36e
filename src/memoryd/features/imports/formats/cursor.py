"""The conversations of Cursor: agent transcripts, and the editor's state.vscdb. Neither format is documented."""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, has, parted, read_each
from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import SourceMessage, turns
from memoryd.features.imports.formats.fields import mapping, mappings, tagged, text, when
from memoryd.features.imports.formats.items import Fault, LeftOut, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile

TRANSCRIPTS = "agent-transcripts"
STATE, FILE = "cursorDiskKV", "state.vscdb"
_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"
_FITS = has(STATE, "key", "value")


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.named("*.jsonl"):
        first = parsing.first_object(file)
        is_message = "role" in first and isinstance(first.get("message"), dict) and "role" not in first["message"]
        if is_message or TRANSCRIPTS in file.name.split("/"):
            yield file
    yield from databases(source, _FITS, FILE)


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    stored, transcripts = parted(source)
    yield from read_each(stored, _composers)
    for file in transcripts.files:
        if "subagents" in file.name.split("/"):
            yield LeftOut("sessions of subagents")
        else:
            yield from session(file)


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of a transcript, with the time of the file, since it has no times."""
    values = list(parsing.lines(file))
    yield from (one for one in values if isinstance(one, Fault))
    messages = chat.messages([{} if isinstance(one, Fault) else one for one in values], file.stem, file.modified)
    folders = file.name.split("/")
    project = folders[folders.index(TRANSCRIPTS) - 1] if TRANSCRIPTS in folders[1:] else ""
    yield from turns(messages, f"cursor:{file.stem}", project)


def _composers(database: ForeignDatabase) -> Iterator[Yielded]:
    """Yield the turns of the editor's conversations."""
    composers: dict[str, Mapping[str, Any]] = {}
    bubbles: dict[str, Mapping[str, Any]] = {}
    for row in database.rows(STATE, "key"):
        key, value = text(row.get("key")), row.get("value")
        kept = composers if key.startswith(_COMPOSER) else bubbles if key.startswith(_BUBBLE) else None
        if kept is None or value is None:
            continue
        try:
            whole = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            kept[key.partition(":")[2]] = mapping(parsing.value_of(whole))
        except ValueError as error:
            yield Fault(f"{key[:100]}: is not JSON ({error})")
    for place, composer in composers.items():
        order = [text(one.get("bubbleId")) for one in mappings(composer.get("fullConversationHeadersOnly"))]
        if not order:
            yield LeftOut("conversations that are empty or in an unknown format")
            continue
        begun = when(composer.get("createdAt"))
        spoken = (_bubble(bubbles.get(f"{place}:{one}", {}), f"{place}:{one}", begun) for one in order)
        yield from turns(spoken, f"cursor:{place}", tags=tagged("title", composer.get("name")))


def _bubble(value: Mapping[str, Any], place: str, begun: str) -> SourceMessage:
    thinking = value.get("thinking")
    thought = text(mapping(thinking).get("text")) or text(thinking)
    at = when(value.get("createdAt")) or begun
    return SourceMessage("user" if value.get("type") == 1 else "assistant", text(value.get("text")), place, at, thought)


FORMAT = ForeignFormat("cursor", "conversations of Cursor", _files, _read)
