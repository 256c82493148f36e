"""Conversations of any program whose messages have a role and a content: lists, lines, or lists within objects.

Of all that such files hold, only the words of the user and the model become turns: no system prompts, no tool output.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, each_of, has
from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.claude_code import is_descendant_of_gemini
from memoryd.features.imports.formats.codex import INJECTED
from memoryd.features.imports.formats.conversations import IDS, SourceMessage, branch, turns
from memoryd.features.imports.formats.fields import Fields, digest, first_time, joined, mapping, mappings, text
from memoryd.features.imports.formats.items import Fault, LeftOut, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, each_file, either, that

PEEKED = 100  # objects of a file by which it is recognized
_ROLES: dict[str, Literal["user", "assistant"]] = {
    **dict.fromkeys(("user", "human", "you", "user_input", "user.message", "userpromptsubmitted"), "user"),
    **dict.fromkeys(("assistant", "model", "ai", "bot", "agent", "gpt", "gemini", "planner_response"), "assistant"),
    **dict.fromkeys(("assistant.message", "assistantresponse", "content.part", "completion"), "assistant"),
}
"""Who speaks, by the roles and the types of messages."""
_WRAPS = ("message", "data", "event")
_WORDS = (
    *("displayContent", "content", "parts", "part", "text", "value", "message"),
    *("prompt", "response", "output", "result", "finalText"),
)
_THOUGHT = ("thinking", "think", "reasoning", "reasoning_content", "reasoningText")
_TABLES = (("messages", "role", "content"), ("messages", "role", "content_json"), ("responses", "prompt", "response"))
"""Tables of conversations, and the columns that they have at least."""
_LISTS = ("messages", "chat_messages", "conversation", "conversations", "history", "turns")
_SESSIONS = ("sessionId", "session_id", "conversationId", "conversation_id", "chat_id", "thread_id")
_TITLES = ("title", "name", "description")
_FOLDERS = ("cwd", "working_dir", "workdir", "directory", "workspacePath", "workspace")
_ADDED = ("synthetic", "synthetic_reason", "isMeta", "isSynthetic", "subtype", "is_hidden", "hidden")
"""The fields that mark what a program adds to a conversation."""
_ASIDE = re.compile(
    r"(?si)<(system-reminder|environment_\w+|user_info|additional_metadata|user_settings_change|system_message"
    r"|ephemeral_message|[\w:-]+[_-]context)\b[^>]*>.*?(?:</\1>|\Z)",
)
_TYPED = re.compile(
    r"<(user_query|user_request|user_message|task|feedback|answer)>\s*(.*?)\s*</\1>", re.DOTALL | re.IGNORECASE
)
_TOOL = re.compile(r"\[[\w-]+(?: for [^\n]*)?\] Result:")
"""The beginning of a tool's output in a message of the user."""


def _is_talk(file: SourceFile) -> bool:
    """Return whether a file has messages with a role, or both sides of a conversation."""
    seen = set[str]()
    for value in (one for one in islice(parsing.values(file), PEEKED) if isinstance(one, dict)):
        for one in nested(value)[:PEEKED] or [value]:
            inner = _inner(one)
            has_words = any(name in inner for name in _WORDS)
            seen.update({"user", "assistant"} if "role" in inner and has_words else {_role(one)})
    return seen >= {"user", "assistant"}


def _stored(database: ForeignDatabase, _more: frozenset[str]) -> Iterator[Yielded]:
    """Yield the turns of a database: rows of messages, or of prompts with their responses."""
    abouts = {text(row, "id"): row for name in ("sessions", "conversations") for row in database.rows(name)}
    talks: dict[str, list[Fields]] = defaultdict(list)
    for row in database.rows("messages", "created_timestamp", "created_at", "timestamp", "id"):
        given = text(row, "content_json")
        content = {"content": parsing.value_in(row, "content_json", given)} if given else {}
        talks[text(row, *_SESSIONS)].append(row | content)
    for row in database.rows("responses", "datetime_utc", "id"):
        at = {"created": row.get("datetime_utc"), "id": f"{row.get('id')}"}
        for role, name in (("user", "prompt"), ("assistant", "response")):
            talks[text(row, "conversation_id")].append(at | {"role": role, "content": row.get(name)})
    for place, values in talks.items():
        yield from _conversation(abouts.get(place, {}) | {"sessionId": place}, values, None, FORMAT.name)


def session(file: SourceFile, form: str) -> Iterator[Yielded]:
    """Yield the turns of a file that is one conversation, or contains several, in lists or as a database."""
    if "subagents" in file.name.split("/"):
        yield LeftOut("sessions of subagents")
        return
    loose: list[Fields] = []
    for value in parsing.values(file):
        if isinstance(value, Fault):
            yield value
        elif within := nested(value):
            yield from _conversation(value, within, file, form)
        else:
            loose.append(value)
    yield from _conversation({}, loose, file, form)


def nested(value: Fields) -> list[Fields]:
    """Return the messages within a conversation: those of the branch that is shown."""
    for holder in (value, mapping(value.get("chat")), mapping(mapping(value.get("chat")).get("history"))):
        for name in _LISTS:
            listed = holder.get(name)
            if found := mappings(list(listed.values()) if isinstance(listed, dict) and name == _LISTS[0] else listed):
                return branch(found, text(holder, "currentId"))
    return []


def _conversation(about: Fields, values: list[Fields], file: SourceFile | None, form: str) -> Iterator[Yielded]:
    shown = branch(values)
    yield LeftOut("messages of abandoned branches", len(values) - len(shown))
    inner = [_inner(one) for one in values[:PEEKED]]
    chain = (about, *values[:PEEKED], *inner, *(mapping(one.get("context")) for one in inner))
    head = next((text(one, *IDS) for one in chain if text(one, "type").startswith("session")), "")
    place, folder = (next(filter(None, (text(one, *names) for one in chain)), "") for names in (_SESSIONS, _FOLDERS))
    place = place or head or text(about, *IDS)
    title = next(filter(None, (text(one, *_TITLES) for one in (about, *values[:1]))), "")
    spoken = list(messages(shown, place))
    if spoken and not place:  # neither the name of the file nor its place, which may change
        known = spoken[0].at or (file.path.parent.name if file and file.path else "")
        place = digest(spoken[0].text, known)[:16]
        spoken = list(messages(shown, place))
    yield from turns(spoken, f"{form}:{place}", folder=folder, title=title)


def messages(values: Iterable[Fields], place: str = "", at: str = "") -> Iterator[SourceMessage]:
    """Yield the words of the user and the model. A message without a time has that of the one before, or `at`.

    The ids are those of the messages, which are unique within `place`.
    """
    for number, value in enumerate(values):
        inner, role = _inner(value), _role(value)
        if role and not _is_added(value) and not _is_added(inner):
            words, thought = _words(inner)
            at = first_time(inner) or first_time(value) or at
            own = text(inner, *IDS) or text(value, *IDS)
            name = f"{place}:{own}" if own and place else own or digest(place, str(number), words)
            yield SourceMessage(role, typed(words) if role == "user" else words, name, at, thought)


def _inner(value: Fields) -> Fields:
    """Return the message within a line, or the line itself."""
    return next((value[name] for name in _WRAPS if isinstance(value.get(name), dict)), value)


def _role(value: Fields) -> Literal["user", "assistant", ""]:
    """Return who speaks; '' for anything else, such as a system or a tool."""
    for one in (_inner(value), value):
        for name in ("role", "type", "sender", "author", "from"):
            given = text(mapping(one.get(name)).get("role") or one.get(name)).casefold()
            if given and (name == "role" or given in _ROLES):
                return _ROLES.get(given, "")
        if isinstance(one.get("isCreatedByUser"), bool):
            return "user" if one["isCreatedByUser"] else "assistant"
    return ""


def _is_added(value: Fields) -> bool:
    return any(value.get(name) for name in _ADDED) or mapping(value.get("origin")).get("kind", "user") != "user"


def _words(message: Fields) -> tuple[str, str]:
    """Return the text and the reasoning of a message, without the calls and the output of tools."""
    words, thoughts = list[str](), [message.get(name) for name in _THOUGHT]
    for given in (message[name] for name in _WORDS if message.get(name) and not any(words)):
        for part in given if isinstance(given, list) else [given]:
            block = part if isinstance(part, dict) else {"text": part}
            kind = text(block, "type") or "text"
            if kind in _THOUGHT or block.get("thought") is True:
                thoughts.append(text(block, "text", *_THOUGHT))
            elif kind in ("text", "input_text", "output_text") and not block.get("synthetic"):
                words.append(text(block, "text", "content"))
    if words and _TOOL.match(words[0]):
        words = [one for one in words if _TYPED.search(one)]
    return joined(words), joined(thoughts)


def typed(words: str) -> str:
    """Return what the user typed, without what the program added."""
    marked = joined(found[2] for found in _TYPED.finditer(words))
    plain = marked or _ASIDE.sub("", words).strip()
    return "" if plain.startswith(INJECTED) else plain


QWEN = ForeignFormat(
    "qwen",
    "sessions of Qwen Code",
    that(lambda file: b'"sessionId"' in file.head() and is_descendant_of_gemini(file.head()), "*.jsonl"),
    each_file(lambda file: session(file, "qwen")),
)
FORMAT = ForeignFormat(
    "chat",
    "conversations of messages with roles",
    either(
        that(lambda file: parsing.first_object(file) and _is_talk(file), "*.json", "*.jsonl"),
        databases(lambda one: any(has(*table)(one) for table in _TABLES), "*.db", "*.sqlite", "*.sqlite3"),
    ),
    each_of(_stored, lambda file, _: session(file, "chat")),
)
