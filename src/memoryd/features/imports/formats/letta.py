"""Agent files of Letta (.af): the blocks of an agent's memory. Tools and their environment are never read."""

from collections.abc import Iterator

from memoryd.features.imports.formats import chat, parsing
from memoryd.features.imports.formats.conversations import turns
from memoryd.features.imports.formats.fields import Fields, digest, mappings, text, texts, when
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
        yield _block(one, names.get(text(one, "id"), ""), when(whole.get("created_at")))
    for agent in agents:
        place = text(agent, "id", "name")
        yield from turns(chat.messages(mappings(agent.get("messages"))), f"letta:{place}", text(agent, "name"))


def _block(one: Fields, agent: str, at: str) -> SourceMemory:
    label, content = text(one, "label"), text(one, "value")
    key = f"{agent}/{label}" if agent else label
    return SourceMemory(
        id=text(one, "id") or digest(key, content),
        text=content,
        key=key,
        tags=("type:block",),
        project=agent,
        created_at=when(one.get("created_at")) or at,
    )


FORMAT = ForeignFormat("letta", "an agent file of Letta", that(_is_agent, "*.af", "*.json"), each_file(_agents))
