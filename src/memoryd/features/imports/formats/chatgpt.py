"""The data export of ChatGPT: conversations as trees of messages, in a zip archive or unpacked."""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.conversations import BETWEEN, SourceMessage, turns
from memoryd.features.imports.formats.fields import brief, mapping, mappings, tagged, text, when
from memoryd.features.imports.formats.items import Fault, LeftOut, SourceMemory, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile

FILES = ("conversations*.json",)
SAVED = "bio"
"""The recipient of messages that save a memory."""
_ASIDE = frozenset({"thoughts", "reasoning_recap"})
_HIDDEN = frozenset({"user_editable_context", "model_editable_context", "system_error"})


def _files(source: Source) -> list[SourceFile]:
    """Return the files of the folders with conversations: the rest of an export is about them."""
    return source.beside(file for file in source.candidates(*FILES) if parsing.has_field(file, "mapping"))


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.candidates(*FILES):
        for value in parsing.values(file):
            yield from [value] if isinstance(value, Fault) else _conversation(value)
    if pictures := len(source.named("*.png", "*.jpg", "*.jpeg", "*.webp", "*.wav", "*.dat")):
        yield LeftOut("images and audio", pictures)


def _conversation(value: Mapping[str, Any]) -> Iterator[Yielded]:
    place = text(value.get("conversation_id")) or text(value.get("id"))
    nodes = {name: node for name, node in mapping(value.get("mapping")).items() if isinstance(node, dict)}
    if not place or not nodes:
        named = text(value.get("title")) or place
        which = (
            f"the conversation {brief(named)!r}"
            if named
            else f"a conversation with {', '.join(value)[:100] or 'nothing'}"
        )
        yield Fault(f"{which} has no {'messages (mapping)' if place else 'id'}")
        return
    branch = _branch(nodes, text(value.get("current_node")))
    messages = [mapping(node.get("message")) for node in branch]
    every = sum(_is_shown(mapping(node.get("message"))) for node in nodes.values())
    shown = [one for one in messages if _is_shown(one)]
    if every > len(shown):
        yield LeftOut("messages of abandoned branches", every - len(shown))
    begun = when(value.get("create_time")) or min(
        filter(None, (when(one.get("create_time")) for one in shown)), default=""
    )
    begun = begun or when(value.get("update_time"))
    session = f"chatgpt:{place}"
    for one in shown:
        if one.get("recipient") == SAVED and (words := _text(one)):
            at = when(one.get("create_time")) or begun
            yield SourceMemory(
                id=f"saved:{one.get('id')}", text=words, tags=("chatgpt",), created_at=at, session_id=session
            )
    talk = (one for one in shown if one.get("recipient") != SAVED)
    yield from turns((_message(one, place, begun) for one in talk), session, tags=tagged("title", value.get("title")))


def _branch(nodes: Mapping[str, Mapping[str, Any]], leaf: str) -> list[Mapping[str, Any]]:
    """Return the nodes from the root to the current one; a regenerated answer is a sibling that is not shown."""
    if leaf not in nodes:  # use the last one by time, or in the file
        order = list(nodes)
        times = {name: when(mapping(nodes[name].get("message")).get("create_time")) for name in order}
        leaf = max(order, key=lambda name: (times[name], order.index(name)))
    branch: dict[str, Mapping[str, Any]] = {}
    while leaf in nodes and leaf not in branch:
        branch[leaf] = nodes[leaf]
        leaf = text(nodes[leaf].get("parent"))
    return list(branch.values())[::-1]


def _is_shown(message: Mapping[str, Any]) -> bool:
    content, metadata = mapping(message.get("content")), mapping(message.get("metadata"))
    role = mapping(message.get("author")).get("role")
    hidden = metadata.get("is_visually_hidden_from_conversation") or text(content.get("content_type")) in _HIDDEN
    return role in ("user", "assistant") and not hidden and (bool(_text(message)) or bool(_thoughts(message)))


def _text(message: Mapping[str, Any]) -> str:
    content = mapping(message.get("content"))
    if text(content.get("content_type")) in _ASIDE:
        return ""
    parts = content.get("parts")
    words = [one.get("text") if isinstance(one, dict) else one for one in (parts if isinstance(parts, list) else ())]
    return BETWEEN.join(filter(None, map(text, words))) or text(content.get("text"))


def _thoughts(message: Mapping[str, Any]) -> str:
    content = mapping(message.get("content"))
    return BETWEEN.join(filter(None, (text(one.get("content")) for one in mappings(content.get("thoughts")))))


def _message(message: Mapping[str, Any], place: str, begun: str) -> SourceMessage:
    return SourceMessage(
        "user" if mapping(message.get("author")).get("role") == "user" else "assistant",
        _text(message),
        f"{place}:{message.get('id')}",
        when(message.get("create_time")) or begun,
        _thoughts(message),
    )


FORMAT = ForeignFormat("chatgpt", "a data export of ChatGPT", _files, _read)
