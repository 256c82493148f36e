"""The sessions of Gemini CLI: a head, then messages, which later lines may replace, remove or rewind."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.conversations import BETWEEN, SourceMessage, turns
from memoryd.features.imports.formats.items import Fault, LeftOut, SourceSummary, Yielded, mappings, text, when
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile

FILES = ("session-*.jsonl", "session-*.json")
_INJECTED = re.compile(r"<(session|hook)_context>.*?(?:</\1_context>|\Z)", re.DOTALL)
"""Texts that the program adds to a prompt, or sends as a prompt."""
_SPEAKERS = {"user": "user", "gemini": "assistant"}


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.candidates(*FILES):
        if b'"sessionId"' in file.head() and b'"projectHash"' in file.head():
            yield file


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.files:
        yield from session(file)


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of a session after all rewinds; none if it belongs to a subagent."""
    head: dict[str, Any] = {}
    messages: dict[str, Mapping[str, Any]] = {}
    for value in _values(file):
        if isinstance(value, Fault):
            yield value
        elif isinstance(value.get("$set"), dict):
            head |= value["$set"]
            if "messages" in value["$set"]:
                messages = _by_id(value["$set"]["messages"])
        elif text(value.get("$rewindTo")):
            names = list(messages)
            if value["$rewindTo"] in messages:
                messages = {name: messages[name] for name in names[: names.index(value["$rewindTo"])]}
        elif "sessionId" in value:
            head |= value
            messages |= _by_id(value.get("messages"))
        elif text(value.get("id")):
            messages[text(value.get("id"))] = value
    yield from _session(file, head, messages)


def _values(file: SourceFile) -> Iterator[dict[str, Any] | Fault]:
    """Yield the objects of a session: one for each line, or the only one of an older file."""
    return parsing.lines(file) if file.base.endswith(".jsonl") else parsing.values(file)


def _by_id(given: Any) -> dict[str, Mapping[str, Any]]:
    return {text(one.get("id")): one for one in mappings(given)}


def _session(file: SourceFile, head: Mapping[str, Any], messages: Mapping[str, Mapping[str, Any]]) -> Iterator[Yielded]:
    if head.get("kind") == "subagent":
        yield LeftOut("sessions of subagents")
        return
    place = text(head.get("sessionId")) or file.stem
    name, begun = f"gemini:{place}", when(head.get("startTime")) or file.modified
    folders = file.name.split("/")
    project = folders[-3] if len(folders) > 2 and folders[-2] == "chats" and len(folders[-3]) != 64 else ""
    spoken = (one for one in messages.values() if text(one.get("type")) in _SPEAKERS)
    yield from turns((_message(one, place, begun) for one in spoken), name, project)
    if summary := text(head.get("summary")):
        yield SourceSummary(id=place, session_id=name, title=summary, text=summary, created_at=begun, project=project)


def _message(value: Mapping[str, Any], place: str, begun: str) -> SourceMessage:
    thoughts = (
        ": ".join(filter(None, (text(one.get("subject")), text(one.get("description")))))
        for one in mappings(value.get("thoughts"))
    )
    words = value.get("displayContent") or value.get("content")
    texts = [words] if isinstance(words, str) else [text(one.get("text")) for one in mappings(words)]
    parts = (_INJECTED.sub("", one).strip() for one in texts)
    return SourceMessage(
        "user" if value.get("type") == "user" else "assistant",
        BETWEEN.join(filter(None, parts)),
        f"{place}:{value.get('id')}",
        when(value.get("timestamp")) or begun,
        BETWEEN.join(filter(None, thoughts)),
    )


FORMAT = ForeignFormat("gemini", "sessions of Gemini CLI", _files, _read)
