"""The data export of Claude.ai: memories, projects, conversations, in a zip archive or unpacked."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.conversations import SourceMessage, branch, turns
from memoryd.features.imports.formats.fields import Fields, digest, joined, mapping, mappings, text, times, when
from memoryd.features.imports.formats.items import Fault, LeftOut, SourceMemory, SourceSummary, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source

ATTACHED = 10_000  # characters of an attached text that are kept
FILES = ("memories.json", "conversations.json", "conversations.jsonl")
_MEMORIES = ("conversations_memory", "project_memories")
_MARKS = ("chat_messages", *_MEMORIES)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*[-*•]\s)")
_BULLET = re.compile(r"^\s*[-*•]\s+")
_HEADING = re.compile(r"^(?:\*\*[^*\n]+\*\*:?|#{1,6}\s[^\n]+)$")


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    names = dict[str, str]()
    for file in source.named("projects.json", "projects/*.json"):
        yield from parsing.each(file, partial(_project, names))
    for file in source.candidates(*FILES):
        yield from parsing.each(file, partial(_of_value, names, file.modified))


def _of_value(names: Mapping[str, str], at: str, value: Fields) -> Iterator[Yielded]:
    return _conversation(value) if value.keys().isdisjoint(_MEMORIES) else _memories(value, names, at)


def _memories(value: Fields, names: Mapping[str, str], at: str) -> Iterator[Yielded]:
    """Yield what Claude remembers: a memory for each paragraph or bullet, with the heading above it."""
    of_projects = mapping(value.get("project_memories"))
    for project, content in [("", value.get("conversations_memory")), *of_projects.items()]:
        heading, name = "", names.get(project) or project
        for piece in filter(None, map(str.strip, _PARAGRAPH.split(text(content)))):
            first, _, rest = piece.partition("\n")
            if _HEADING.match(first.strip()):
                heading = first.strip().strip("*#: ")
            words = _BULLET.sub("", rest.strip() if _HEADING.match(first.strip()) else piece)
            if words:
                headed = f"{heading}: {words}" if heading else words
                yield SourceMemory(
                    id=digest(project, headed), text=headed, tags=("claude-ai",), created_at=at, project=name
                )


def _project(names: dict[str, str], value: Fields) -> Iterator[Yielded]:
    """Yield what a project contains; put its name into the names by id."""
    name, place = text(value, "name"), text(value, "uuid")
    names[place] = name
    common: Fields = {"project": name, **times(value)}
    about = joined((value.get("description"), value.get("prompt_template")))
    if about and not value.get("is_starter_project"):
        yield SourceMemory(
            id=f"project:{place}", text=f"{name}\n\n{about}", tags=("claude-ai", "type:project"), **common
        )
    for document in mappings(value.get("docs")):
        if content := text(document, "content"):
            file = text(document, "filename")
            tags = ("claude-ai", "type:document", f"file:{file}")
            place = text(document, "uuid") or digest(file, content)
            yield SourceMemory(id=f"doc:{place}", text=content, tags=tags, **common)


def _conversation(value: Fields) -> Iterator[Yielded]:
    messages = mappings(value.get("chat_messages"))
    place = text(value, "uuid")
    if not place or "chat_messages" not in value:
        yield Fault(f"a conversation with {parsing.keys_of(value)} has no uuid or chat_messages")
        return
    if not messages:
        yield LeftOut("empty conversations")
        return
    shown = branch(messages, text(value, "current_leaf_message_uuid"))
    yield LeftOut("messages of abandoned branches", len(messages) - len(shown))
    session, begun = f"claude:{place}", when(value.get("created_at"))
    yield from turns((_message(one, begun) for one in shown), session, title=value.get("name"))
    if summary := text(value, "summary"):
        title = text(value, "name") or session
        at = when(value.get("updated_at")) or begun
        yield SourceSummary(id=place, session_id=session, title=title, text=summary, created_at=at)


def _message(value: Fields, begun: str) -> SourceMessage:
    parts = mappings(value.get("content"))
    words = joined(one.get("text") for one in parts if one.get("type") == "text") or value.get("text")
    return SourceMessage(
        "user" if value.get("sender") == "human" else "assistant",
        joined((words, *map(_attached, mappings(value.get("attachments"))))),
        text(value, "uuid") or digest(str(value.get("created_at")), str(value.get("text"))),
        when(value.get("created_at")) or begun,
        joined(one.get("thinking") for one in parts if one.get("type") == "thinking"),
    )


def _attached(file: Fields) -> str:
    """Return an attachment as part of a message: its name and the beginning of its text."""
    content = text(file, "extracted_content")
    cut = content if len(content) <= ATTACHED else f"{content[:ATTACHED]} ..."
    return f"[attached: {text(file.get('file_name'))}]\n{cut}"


FORMAT = ForeignFormat("claude-ai", "a data export of Claude.ai", parsing.beside(FILES, *_MARKS), _read)
