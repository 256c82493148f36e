"""Turns and summaries in the metadata of seed e, in files and in ChromaDB, written by memoryd or Neo.mjs."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal

from memoryd.core.base.clock import moment, timestamp
from memoryd.errors import InvalidInputError
from memoryd.model import AGENT_INTERACTION, Interaction, SessionSummary
from memoryd.settings import SESSION_LENGTH

CollectionName = Literal["memories", "summaries"]
"""A key of `store.journal.COLLECTIONS`: the collection of turns, or that of summaries."""

NAME, COUNT = 1_000, 1 << 31  # maximum characters of an id, and the exclusive upper bound of numbers
TEXTS = ("prompt", "thought", "response")
SCORES = ("quality", "productivity", "impact", "complexity")
_DOCUMENT = re.compile(r"\AUser Prompt: (.*?)\nAgent Thought: (.*?)\nAgent Response: (.*)\Z", re.DOTALL)


def numbered(key: str) -> Iterator[str]:
    """Yield an id, then id-2, id-3 and so on, of which the first one that is free is taken."""
    yield key
    yield from (f"{key}-{number}" for number in count(2))


def of_turn(kept: Interaction) -> dict[str, Any]:
    """Return the metadata of a turn."""
    return {
        "sessionId": kept.session_id,
        "timestamp": kept.created_at,
        "prompt": kept.prompt,
        "thought": kept.thought,
        "response": kept.response,
        "type": AGENT_INTERACTION,
    }


def of_summary(kept: SessionSummary) -> dict[str, Any]:
    """Return the metadata of a summary; its text is the document."""
    return {
        "sessionId": kept.session_id,
        "timestamp": kept.created_at,
        "title": kept.title,
        "category": kept.category,
        "memoryCount": kept.memory_count,
        "quality": kept.quality,
        "productivity": kept.productivity,
        "impact": kept.impact,
        "complexity": kept.complexity,
        "technologies": list(kept.technologies),
    }


def document(kept: Interaction) -> str:
    """Return the three texts of a turn as one document."""
    return f"User Prompt: {kept.prompt}\nAgent Thought: {kept.thought}\nAgent Response: {kept.response}"


def turn(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> Interaction:
    """Return the turn with the id and document in `value` and its metadata; raise InvalidInputError if malformed."""
    texts = [metadata.get(name) for name in TEXTS]
    document = _DOCUMENT.match(str(value.get("document") or ""))
    if document:  # Neo.mjs joins the three texts like this
        texts = [text if isinstance(text, str) else part for text, part in zip(texts, document.groups(), strict=True)]
    prompt, thought, response = (_text(text, name) for text, name in zip(texts, TEXTS, strict=True))
    return Interaction(
        id=_name(value, "id"),
        session_id=_name(metadata, "sessionId", SESSION_LENGTH),
        prompt=prompt,
        created_at=_time(metadata),
        thought=thought,
        response=response,
    )


def summary(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> SessionSummary:
    """Return the summary with the id and document in `value` and its metadata; raise InvalidInputError if malformed."""
    technologies = metadata.get("technologies") or ()
    if isinstance(technologies, str):  # ChromaDB's metadata holds no lists
        technologies = technologies.split(",")
    return SessionSummary(
        id=_name(value, "id"),
        session_id=_name(metadata, "sessionId", SESSION_LENGTH),
        created_at=_time(metadata),
        title=_text(metadata.get("title"), "title"),
        summary=_text(value.get("document"), "document"),
        category=_text(metadata.get("category", "other"), "category"),
        memory_count=_number(metadata, "memoryCount") or 0,
        **{name: _number(metadata, name) for name in SCORES},
        technologies=tuple(str(name).strip() for name in technologies if str(name).strip()),
    )


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is not a text")
    return value


def _name(within: Mapping[str, Any], name: str, most: int = NAME) -> str:
    value = _text(within.get(name), name)
    if not value.strip() or len(value) > most:
        raise InvalidInputError(f"{name} has {len(value)} characters; it must have 1 to {most}, and not only blanks")
    return value


def _time(metadata: Mapping[str, Any]) -> str:
    """Return the time in the metadata, ISO 8601 or milliseconds since 1970, in the format of the database."""
    value = metadata.get("timestamp")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return timestamp(datetime.fromtimestamp(value / 1000, UTC))
    return timestamp(moment(_text(value, "timestamp")))


def _number(metadata: Mapping[str, Any], name: str) -> int | None:
    value = metadata.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 < value < COUNT:
        raise InvalidInputError(f"{name} is not a number from 0 to {COUNT - 1}")
    return round(value)
