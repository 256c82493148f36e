"""Agent files of Letta (.af): the blocks of an agent's memory. Tools and their environment are never read."""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import turns
from memoryd.features.imports.formats.fields import digest, mapping, mappings, text, when
from memoryd.features.imports.formats.items import SourceMemory, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.candidates("*.af", "*.json"):
        head, agents = file.head(), mappings(parsing.first_object(file).get("agents"))
        is_long = b'"agents"' in head and b'"block_ids"' in head
        if file.base.endswith(".af") or is_long or any("block_ids" in one for one in agents):
            yield file


def _read(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    for file in source.files:
        whole = mapping(parsing.loaded(file))
        agents = mappings(whole.get("agents"))
        names = {text(block): text(one.get("name")) for one in agents for block in _listed(one.get("block_ids"))}
        at = when(whole.get("created_at"))
        for one in mappings(whole.get("blocks")):
            yield _block(one, names.get(text(one.get("id")), ""), at)
        for agent in agents:
            place = text(agent.get("id")) or text(agent.get("name"))
            spoken = chat.messages(mappings(agent.get("messages")))
            yield from turns(spoken, f"letta:{place}", text(agent.get("name")))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _block(one: Mapping[str, Any], agent: str, at: str) -> SourceMemory:
    label, content = text(one.get("label")), text(one.get("value"))
    key = f"{agent}/{label}" if agent else label
    return SourceMemory(
        id=text(one.get("id")) or digest(key, content),
        text=content,
        key=key,
        tags=("type:block",),
        project=agent,
        created_at=when(one.get("created_at")) or at,
    )


FORMAT = ForeignFormat("letta", "an agent file of Letta", _files, _read)
