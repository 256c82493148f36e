"""The sessions of Gemini CLI: a head, then messages, which later lines may replace, remove or rewind."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import turns
from memoryd.features.imports.formats.fields import Fields, joined, mappings, text, when
from memoryd.features.imports.formats.items import Fault, LeftOut, SourceSummary, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, each_file, having, that


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of a session after all rewinds; none if it belongs to a subagent."""
    head: Fields = {}
    messages: dict[str, Fields] = {}
    # one for each line, or the only one of an older file
    for value in parsing.lines(file) if file.base.endswith(".jsonl") else parsing.values(file):
        if isinstance(value, Fault):
            yield value
        elif isinstance(value.get("$set"), dict):
            head |= value["$set"]
            if "messages" in value["$set"]:
                messages = _by_id(value["$set"]["messages"])
        elif text(value.get("$rewindTo")):
            messages = {name: messages[name] for name in takewhile(value["$rewindTo"].__ne__, messages)}
        elif "sessionId" in value:
            head |= value
            messages |= _by_id(value.get("messages"))
        elif text(value, "id"):
            messages[text(value, "id")] = value
    if head.get("kind") == "subagent":
        yield LeftOut("sessions of subagents")
        return
    place = text(head, "sessionId") or file.stem
    name, begun = f"gemini:{place}", when(head.get("startTime")) or file.modified
    folders = file.name.split("/")
    project = folders[-3] if len(folders) > 2 and folders[-2] == "chats" and len(folders[-3]) != 64 else ""
    spoken = (one | {"thinking": _thoughts(one)} for one in messages.values())
    yield from turns(chat.messages(spoken, place, begun), name, project)
    if summary := text(head, "summary"):
        yield SourceSummary(id=place, session_id=name, title=summary, text=summary, created_at=begun, project=project)


def _by_id(given: Any) -> dict[str, Fields]:
    return {text(one, "id"): one for one in mappings(given)}


def _thoughts(value: Fields) -> str:
    return joined(joined(map(one.get, ("subject", "description")), ": ") for one in mappings(value.get("thoughts")))


FORMAT = ForeignFormat(
    "gemini",
    "sessions of Gemini CLI",
    that(having(b'"sessionId"', b'"projectHash"'), "session-*.jsonl", "session-*.json"),
    each_file(session),
)
