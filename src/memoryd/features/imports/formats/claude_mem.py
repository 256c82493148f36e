"""claude-mem's SQLite file: observations, summaries of sessions and, if they are included, prompts."""

from collections.abc import Iterator

from memoryd.features.imports.foreign_sqlite import ForeignDatabase, databases, each_of
from memoryd.features.imports.formats import parsing
from memoryd.features.imports.formats.fields import Fields, first_time, joined, tagged, text, texts
from memoryd.features.imports.formats.items import LeftOut, SourceMemory, SourceSummary, SourceTurn, Yielded
from memoryd.features.imports.formats.source import ForeignFormat

FILES = 10  # files of an observation that become tags
PROMPTS = "prompts"
_SECTIONS = ("investigated", "learned", "completed", "next_steps", "notes")
"""The columns of a summary, which are also its headings."""


def _stored(database: ForeignDatabase, more: frozenset[str]) -> Iterator[Yielded]:
    sessions = _sessions(database)
    for row in database.rows("observations", "created_at_epoch", "id"):
        yield _observation(row, sessions)
    for row in database.rows("session_summaries", "created_at_epoch", "id"):
        yield _summary(row, sessions)
    for row in database.rows("user_prompts", "created_at_epoch", "id"):
        about: Fields = {"id": f"prompt:{row.get('id')}", "prompt": text(row, "prompt_text"), **_common(row, sessions)}
        yield SourceTurn(**about) if PROMPTS in more else LeftOut("prompts (--include prompts imports them)")


def _sessions(database: ForeignDatabase) -> dict[str, Fields]:
    """Return the sessions by both of their ids, whose columns had other names in older versions."""
    found: dict[str, Fields] = {}
    for row in database.rows("sdk_sessions"):
        content = text(row, "content_session_id", "claude_session_id")
        memory = text(row, "memory_session_id", "sdk_session_id")
        session = {"id": content or memory, "project": text(row, "project")}
        found |= dict.fromkeys(filter(None, (content, memory)), session)
    return found


def _common(row: Fields, sessions: dict[str, Fields]) -> Fields:
    place = text(row, "memory_session_id", "sdk_session_id", "content_session_id", "claude_session_id")
    session = sessions.get(place, {"id": place, "project": ""})
    return {
        "session_id": session["id"],
        "project": text(row, "merged_into_project", "project") or session["project"],
        "created_at": first_time(row, ("created_at_epoch", "created_at")),
    }


def _observation(row: Fields, sessions: dict[str, Fields]) -> SourceMemory:
    head = joined((row.get("title"), row.get("subtitle")), ". ")
    content = joined((head, row.get("narrative"), *(f"- {fact}" for fact in _list(row, "facts"))), "\n")
    files = dict.fromkeys((*_list(row, "files_modified"), *_list(row, "files_read")))
    return SourceMemory(
        id=f"observation:{row.get('id')}",
        text=content or text(row, "text"),
        tags=(*tagged("type", row.get("type")), *_list(row, "concepts"), *tagged("file", *list(files)[:FILES])),
        **_common(row, sessions),
    )


def _summary(row: Fields, sessions: dict[str, Fields]) -> SourceSummary:
    titles = {name: name.replace("_", " ").capitalize() for name in _SECTIONS}
    words = joined(f"{title}: {text(row, name)}" for name, title in titles.items() if text(row, name))
    return SourceSummary(
        id=f"summary:{row.get('id')}", title=text(row, "request"), text=words, **_common(row, sessions)
    )


def _list(row: Fields, name: str) -> tuple[str, ...]:
    """Return the texts of a column with a JSON list."""
    return texts(parsing.value_in(row, name))


FORMAT = ForeignFormat(
    "claude-mem",
    "a database of claude-mem",
    databases(lambda one: one.tables.keys() >= {"observations", "session_summaries", "sdk_sessions"}, "claude-mem.db"),
    each_of(_stored),
    {PROMPTS: "prompts, which have no answers there"},
)
