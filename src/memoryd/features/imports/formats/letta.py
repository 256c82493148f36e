"""Agent files of Letta (.af): the blocks of an agent's memory. Tools and their environment are never read."""

from collections.abc import Iterator

from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import turns
from memoryd.features.imports.formats.fields import digest, mappings, text, texts, when
from memoryd.features.imports.formats.items import SourceMemory, Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, each_file, having, that


def _is_agent(file: SourceFile) -> bool:
    agents = mappings(parsing.first_object(file).get("agents"))
    is_long = having(b'"agents"', b'"block_ids"')(file)
    return file.base.endswith(".af") or is_long or any("block_ids" in one for one in agents)


def _agents(file: SourceFile) -> Iterator[Yielded]:
    whole = parsing.loaded(file)
    agents = mappings(whole.get("agents"))
    names = {block: text(one, "name") for one in agents for block in texts(one.get("block_ids"))}
    for one in mappings(whole.get("blocks")):
        place, label, content = text(one, "id"), text(one, "label"), text(one, "value")
        agent = names.get(place, "")
        key = f"{agent}/{label}" if agent else label
        yield SourceMemory(
            id=place or digest(key, content),
            text=content,
            key=key,
            tags=("type:block",),
            project=agent,
            created_at=when(one.get("created_at")) or when(whole.get("created_at")),
        )
    for one in agents:
        spoken = chat.messages(mappings(one.get("messages")))
        yield from turns(spoken, f"letta:{text(one, 'id', 'name')}", text(one, "name"))


FORMAT = ForeignFormat("letta", "an agent file of Letta", that(_is_agent, "*.af", "*.json"), each_file(_agents))
