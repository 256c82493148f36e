"""The sessions of Codex: rollout files of JSON lines. A turn is what the person saw, with the model's reasoning."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memoryd.core.transfer.formats import parsing
from memoryd.core.transfer.formats.conversations import BETWEEN, SourceMessage, turns
from memoryd.core.transfer.formats.items import Fault, LeftOut, Yielded, digest, mapping, mappings, text, when
from memoryd.core.transfer.formats.source import ForeignFormat, Source, SourceFile

FILES = ("rollout-*.jsonl",)
INJECTED = ("<environment_context>", "<user_instructions>", "<permissions instructions>", "# AGENTS.md instructions")
"""How texts begin that the program adds to a conversation."""
_SEEN = {"user_message": "user", "agent_message": "assistant"}


def _recognizes(source: Source) -> bool:
    if source.only:
        return source.only.head().startswith(b"{") and b'"session_meta"' in source.only.head().partition(b"\n")[0]
    return bool(source.named(*FILES))


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.candidates(*FILES):
        yield from session(file)


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of a rollout; none of one that belongs to a subagent."""
    lines: list[Mapping[str, Any]] = []
    for value in parsing.lines(file):
        if isinstance(value, Fault):
            yield value
        else:
            lines.append(value)
    head = next((mapping(one.get("payload")) for one in lines if one.get("type") == "session_meta"), {})
    if _is_subagent(head):
        yield LeftOut("sessions of subagents")
        return
    place = text(head.get("id")) or file.stem
    project = PurePosixPath(text(head.get("cwd")).replace("\\", "/")).name
    yield from turns(_messages(lines, place), f"codex:{place}", project)


def _is_subagent(head: Mapping[str, Any]) -> bool:
    return bool(text(head.get("parent_thread_id"))) or "subagent" in mapping(head.get("source"))


def _messages(lines: list[Mapping[str, Any]], place: str) -> Iterator[SourceMessage]:
    """Yield the messages. The file holds them twice; what the model was sent counts only where the other is missing."""
    kinds = {mapping(one.get("payload")).get("type") for one in lines if one.get("type") == "event_msg"}
    missing = {role for kind, role in _SEEN.items() if kind not in kinds}
    for line in lines:
        payload, at = mapping(line.get("payload")), when(line.get("timestamp"))
        role, words, thought = _spoken(line.get("type"), payload, missing)
        if words or thought:
            yield SourceMessage(role, words, digest(place, at, words, thought), at, thought)


def _spoken(type_: Any, payload: Mapping[str, Any], missing: set[str]) -> tuple[Any, str, str]:
    """Return who says what in a line, and what is thought."""
    kind = payload.get("type")
    if type_ == "event_msg" and kind in _SEEN:
        return _SEEN[kind], text(payload.get("message")), ""
    if type_ == "response_item" and kind == "reasoning":
        summary = (text(one.get("text")) for one in mappings(payload.get("summary")))
        return "assistant", "", BETWEEN.join(filter(None, summary))
    if type_ == "response_item" and kind == "message" and payload.get("role") in missing:
        parts = (text(one.get("text")) for one in mappings(payload.get("content")))
        return payload.get("role"), BETWEEN.join(one for one in parts if one and not one.startswith(INJECTED)), ""
    return "assistant", "", ""


FORMAT = ForeignFormat("codex", "sessions of Codex", _recognizes, _read)
