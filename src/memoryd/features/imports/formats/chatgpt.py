"""The data export of ChatGPT: conversations as trees of messages, in a zip archive or unpacked."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.conversations import SourceMessage, branch, turns
from memoryd.features.imports.formats.fields import Fields, brief, first_time, joined, mapping, mappings, text, when
from memoryd.features.imports.formats.items import Fault, LeftOut, SourceMemory, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source

FILES = ("conversations*.json",)
SAVED = "bio"
"""The recipient of messages that save a memory."""
_ASIDE = frozenset({"thoughts", "reasoning_recap"})
_HIDDEN = frozenset({"user_editable_context", "model_editable_context", "system_error"})


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.candidates(*FILES):
        yield from parsing.each(file, _conversation)
    yield LeftOut("images and audio", len(source.named("*.png", "*.jpg", "*.jpeg", "*.webp", "*.wav", "*.dat")))


def _conversation(value: Fields) -> Iterator[Yielded]:
    place = text(value, "conversation_id", "id")
    nodes = [one | {"id": name} for name, one in mapping(value.get("mapping")).items() if isinstance(one, dict)]
    if not place or not nodes:
        named = text(value, "title") or place
        which = f"the conversation {brief(named)!r}" if named else f"a conversation with {parsing.keys_of(value)}"
        yield Fault(f"{which} has no {'messages (mapping)' if place else 'id'}")
        return
    # the root first, as branch() wants it; if no node is current, the last one is
    nodes.sort(key=lambda node: (bool(node.get("parent")), first_time(mapping(node.get("message")))))
    shown = _shown(branch(nodes, text(value, "current_node")))
    yield LeftOut("messages of abandoned branches", len(_shown(nodes)) - len(shown))
    begun = when(value.get("create_time")) or min(filter(None, (one.at for one, _ in shown)), default="")
    begun, session = begun or when(value.get("update_time")), f"chatgpt:{place}"
    for one in (one for one, is_saved in shown if is_saved and one.text):
        yield SourceMemory(
            id=f"saved:{one.id}", text=one.text, tags=("chatgpt",), created_at=one.at or begun, session_id=session
        )
    talk = (replace(one, id=f"{place}:{one.id}", at=one.at or begun) for one, is_saved in shown if not is_saved)
    yield from turns(talk, session, title=value.get("title"))


def _shown(nodes: Iterable[Fields]) -> list[tuple[SourceMessage, bool]]:
    """Return the visible messages of the user and the model, and whether each saves a memory."""
    found = []
    for message in (mapping(node.get("message")) for node in nodes):
        content, role = mapping(message.get("content")), mapping(message.get("author")).get("role")
        kind, parts = text(content, "content_type"), content.get("parts")
        is_hidden = mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") or kind in _HIDDEN
        thought = joined(one.get("content") for one in mappings(content.get("thoughts")))
        given = [one.get("text") if isinstance(one, dict) else one for one in parts] if isinstance(parts, list) else []
        words = "" if kind in _ASIDE else joined(given) or text(content, "text")
        if role in ("user", "assistant") and not is_hidden and (words or thought):
            one = SourceMessage(role, words, f"{message.get('id')}", when(message.get("create_time")), thought)
            found.append((one, message.get("recipient") == SAVED))
    return found


FORMAT = ForeignFormat("chatgpt", "a data export of ChatGPT", parsing.beside(FILES, "mapping"), _read)
