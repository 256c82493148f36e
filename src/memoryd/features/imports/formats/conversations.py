"""Turn the messages of a conversation into turns: a prompt, with the reasoning and answers until the next one."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from memoryd.features.imports.formats.items import SourceTurn

ATTACHED = 10_000  # characters of an attached text that are kept
BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message, or a part of one. `id` identifies it in the source."""

    role: Literal["user", "assistant"]
    text: str
    id: str
    at: str = ""
    thought: str = ""


@dataclass(slots=True)
class _Open:
    """A turn being read."""

    id: str
    at: str
    prompts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def turns(
    messages: Iterable[SourceMessage], session: str, project: str = "", tags: tuple[str, ...] = ()
) -> Iterator[SourceTurn]:
    """Yield the turns of a conversation; consecutive messages of one side belong together."""
    opened: _Open | None = None
    for message in messages:
        if not (message.text or message.thought):
            continue
        if opened is None or (message.role == "user" and (opened.answers or opened.thoughts)):
            if opened:
                yield _turn(opened, session, project, tags)
            opened = _Open(message.id, message.at)
        opened.at = opened.at or message.at
        (opened.prompts if message.role == "user" else opened.answers).append(message.text)
        opened.thoughts += filter(None, [message.thought])
    if opened:
        yield _turn(opened, session, project, tags)


def _turn(opened: _Open, session: str, project: str, tags: tuple[str, ...]) -> SourceTurn:
    prompt, thought, response = (
        BETWEEN.join(filter(None, texts)) for texts in (opened.prompts, opened.thoughts, opened.answers)
    )
    return SourceTurn(
        id=opened.id,
        session_id=session,
        created_at=opened.at,
        project=project,
        tags=tags,
        prompt=prompt,
        thought=thought,
        response=response,
    )


def branch(
    messages: list[dict[str, Any]], leaf: str, own: Callable[[Any], str], parent: Callable[[Any], str]
) -> list[dict[str, Any]]:
    """Return the messages from the first to the leaf, by their ids; if the chain is broken, all in their order."""
    by_id = {own(one): one for one in messages}
    found: dict[str, dict[str, Any]] = {}
    while leaf in by_id and leaf not in found:
        found[leaf] = by_id[leaf]
        leaf = parent(by_id[leaf])
    return list(found.values())[::-1] if own(messages[0]) in found else messages


def attached(name: str, content: str) -> str:
    """Return an attachment as part of a message: its name and the beginning of its text."""
    cut = content if len(content) <= ATTACHED else f"{content[:ATTACHED]} ..."
    return f"[attached: {name}]\n{cut}".strip()
