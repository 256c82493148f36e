"""The conversations of Cursor: agent transcripts, and the editor's state.vscdb. Neither format is documented."""

from collections.abc import Iterator

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, each_of, has
from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import SourceMessage, turns
from memoryd.features.imports.formats.fields import Fields, mapping, mappings, text, when
from memoryd.features.imports.formats.items import Fault, LeftOut, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, either

TRANSCRIPTS = "agent-transcripts"
STATE = "cursorDiskKV"
_COMPOSER, _BUBBLE = "composerData", "bubbleId"


def _is_transcript(file: SourceFile) -> bool:
    first = parsing.first_object(file)
    is_message = "role" in first and isinstance(first.get("message"), dict) and "role" not in first["message"]
    return is_message or TRANSCRIPTS in file.name.split("/")


def session(file: SourceFile, _more: frozenset[str] = frozenset()) -> Iterator[Yielded]:
    """Yield the turns of a transcript, with the time of the file, since it has no times; none if a subagent's."""
    folders = file.name.split("/")
    if "subagents" in folders:
        yield LeftOut("sessions of subagents")
        return
    values = list(parsing.lines(file))
    yield from (one for one in values if isinstance(one, Fault))
    messages = chat.messages([{} if isinstance(one, Fault) else one for one in values], file.stem, file.modified)
    project = folders[folders.index(TRANSCRIPTS) - 1] if TRANSCRIPTS in folders[1:] else ""
    yield from turns(messages, f"cursor:{file.stem}", project)


def _composers(database: ForeignDatabase, _more: frozenset[str]) -> Iterator[Yielded]:
    """Yield the turns of the editor's conversations."""
    found: dict[str, dict[str, Fields]] = {_COMPOSER: {}, _BUBBLE: {}}
    for row in database.rows(STATE, "key"):
        kind, _, place = text(row, "key").partition(":")
        value = row.get("value")
        if kind not in found or value is None:
            continue
        try:
            whole = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            found[kind][place] = mapping(parsing.value_of(whole))
        except ValueError as error:
            yield Fault(f"{kind}:{place}"[:100] + f": is not JSON ({error})")
    for place, composer in found[_COMPOSER].items():
        order = [text(one, "bubbleId") for one in mappings(composer.get("fullConversationHeadersOnly"))]
        if not order:
            yield LeftOut("conversations that are empty or in an unknown format")
            continue
        begun = when(composer.get("createdAt"))
        spoken = (_bubble(found[_BUBBLE].get(f"{place}:{one}", {}), f"{place}:{one}", begun) for one in order)
        yield from turns(spoken, f"cursor:{place}", title=composer.get("name"))


def _bubble(value: Fields, place: str, begun: str) -> SourceMessage:
    thought = text(mapping(value.get("thinking")), "text") or text(value, "thinking")
    at = when(value.get("createdAt")) or begun
    return SourceMessage("user" if value.get("type") == 1 else "assistant", text(value, "text"), place, at, thought)


FORMAT = ForeignFormat(
    "cursor",
    "conversations of Cursor",
    either(
        lambda source: filter(_is_transcript, source.named("*.jsonl")),
        databases(has(STATE, "key", "value"), "state.vscdb"),
    ),
    each_of(_composers, session),
)
