"""The sessions of Codex: rollout files of JSON lines. A turn is what the user saw, with the model's reasoning."""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.conversations import SourceMessage, turns
from memoryd.features.imports.formats.fields import Fields, digest, joined, mapping, mappings, text, when
from memoryd.features.imports.formats.items import Fault, LeftOut, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile, each_file

FILES = ("rollout-*.jsonl",)
INJECTED = ("<environment_context>", "<user_instructions>", "<permissions instructions>", "# AGENTS.md instructions")
"""The beginnings of texts that the program adds to a conversation."""
_SEEN = {"user_message": "user", "UserMessage": "user", "agent_message": "assistant", "AgentMessage": "assistant"}
"""The role of what the user saw, by kind of event: for each role first that of older versions, then of newer ones."""
_READ = ("message", "reasoning")
"""The kinds of model input that are read; most of a file is tool results."""


def _files(source: Source) -> list[SourceFile]:
    if source.only:
        is_rollout = b'"session_meta"' in source.only.head().lstrip().partition(b"\n")[0]
        return [source.only] if is_rollout else []
    return source.named(*FILES)


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of a rollout; none if it belongs to a subagent."""
    lines: list[Fields] = []
    for value in parsing.lines(file):
        if isinstance(value, Fault):
            yield value
        elif value.get("type") != "response_item" or mapping(value.get("payload")).get("type") in _READ:
            lines.append(value)
    head = next((mapping(one.get("payload")) for one in lines if one.get("type") == "session_meta"), {})
    if text(head, "parent_thread_id") or "subagent" in mapping(head.get("source")):
        yield LeftOut("sessions of subagents")
        return
    place = text(head, "id") or file.stem
    yield from turns(_messages(lines, place), f"codex:{place}", folder=head.get("cwd"))


def _messages(lines: list[Fields], place: str) -> Iterator[SourceMessage]:
    """Yield the messages. The file has them twice: the model's input is used for roles without events."""
    kinds = {text(_event(one).get("type")) for one in lines}
    from_events = {role: kind for kind, role in reversed(_SEEN.items()) if kind in kinds}
    for line in lines:
        at = when(line.get("timestamp"))
        role, words, thought = _spoken(line, from_events)
        yield SourceMessage(role, words, digest(place, at, words, thought), at, thought)


def _event(line: Fields) -> Fields:
    """Return the payload of a line that the user saw; an empty object for any other line."""
    payload = mapping(line.get("payload")) if line.get("type") == "event_msg" else {}
    return mapping(payload.get("item")) if payload.get("type") == "item_completed" else payload


def _spoken(line: Fields, from_events: Mapping[str, str]) -> tuple[Any, str, str]:
    """Return the role, text and reasoning of a line; `from_events` has the kind of event of each role."""
    event, payload = _event(line), mapping(line.get("payload"))
    if role := _SEEN.get(text(event, "type")):
        words = text(event, "message") or _words(event)
        return role, words if from_events[role] == event["type"] else "", ""
    kind = payload.get("type") if line.get("type") == "response_item" else ""
    if kind == "reasoning":
        return "assistant", "", joined(one.get("text") for one in mappings(payload.get("summary")))
    if kind == "message" and text(payload, "role") in set(_SEEN.values()) - from_events.keys():
        return payload.get("role"), _words(payload), ""
    return "assistant", "", ""


def _words(value: Fields) -> str:
    parts = (text(one, "text") for one in mappings(value.get("content")))
    return joined(one for one in parts if not one.startswith(INJECTED))


FORMAT = ForeignFormat("codex", "sessions of Codex", _files, each_file(session))
