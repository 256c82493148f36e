"""Turn the messages of a conversation into turns: a prompt, with the reasoning and answers until the next one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from memoryd.features.imports.formats.fields import folder_name, joined, tagged, text
from memoryd.features.imports.formats.items import SourceTurn

IDS = ("id", "messageId", "message_id", "uuid")
_PARENTS = ("parent", "parentId", "parentMessageId", "parent_id", "parentUuid", "parent_message_uuid")


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message, or a part of one. `id` identifies it in the source."""

    role: Literal["user", "assistant"]
    text: str
    id: str
    at: str = ""
    thought: str = ""


def turns(
    messages: Iterable[SourceMessage], session: str, project: str = "", *, folder: Any = "", title: Any = ""
) -> Iterator[SourceTurn]:
    """Yield the turns of a conversation; consecutive messages of one side belong together.

    The path of a `folder` names the project; the `title` becomes a tag.
    """
    found: list[list[SourceMessage]] = []
    for message in (one for one in messages if one.text or one.thought):
        if not found or (message.role == "user" and found[-1][-1].role == "assistant"):
            found.append([])
        found[-1].append(message)
    for held in found:
        yield SourceTurn(
            id=held[0].id,
            session_id=session,
            created_at=next((one.at for one in held if one.at), ""),
            project=project or folder_name(folder),
            tags=tagged("title", title),
            prompt=joined(one.text for one in held if one.role == "user"),
            thought=joined(one.thought for one in held),
            response=joined(one.text for one in held if one.role == "assistant"),
        )


def branch(values: list[dict[str, Any]], leaf: str = "") -> list[dict[str, Any]]:
    """Return the messages from the first to the leaf, or to the last one, if each names the one before it; else all."""
    if not any(text(one, *_PARENTS) for one in values):
        return values
    by_id = {text(one, *IDS): one for one in values}
    at = leaf if leaf in by_id else text(values[-1], *IDS)
    found: dict[str, dict[str, Any]] = {}
    while at in by_id and at not in found:
        found[at] = by_id[at]
        at = text(by_id[at], *_PARENTS)
    return list(found.values())[::-1] if text(values[0], *IDS) in found else values
