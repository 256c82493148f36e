"""memoryd as the memory service of Google ADK agents: `pip install 'memoryd[adk]'`."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from typing_extensions import override

from memoryd.api.keyed import KeyedTexts, folder, label, path_of, tagged
from memoryd.api.memory import Memory
from memoryd.core.memories.vault import KeyedChange
from memoryd.core.records.records import ITEM
from memoryd.extras import Needing
from memoryd.model import Record

with Needing("adk"):
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai import types

ROOT = "adk"
"""The first part of the keys of all events, and a tag of each."""
AUTHOR, TIME = "author=", "time="
"""Tags with what a MemoryEntry has beside its text."""
FOUND = 10
"""The most memories of a search: as many as InMemoryMemoryService returns."""
UNKNOWN = "-"
"""The session of events that are added without one, and of memories."""


class MemorydMemoryService(BaseMemoryService):
    """A memory service that keeps the texts of events, and finds them by words and by meaning, offline.

    Users of an app see their own memories alone. Parts of an event that are not text are not kept. A deleted memory
    comes back if its session is added again.
    """

    def __init__(self, memory: Memory | str | None = None) -> None:
        """Keep texts in a memory, or in the workspace of that name."""
        self._texts = KeyedTexts(memory, "adk")
        self.memory = self._texts.memory

    @override
    async def add_session_to_memory(self, session: Session) -> None:
        """Keep the texts of a session, in place of what was kept of it."""
        await asyncio.to_thread(self._add, session.app_name, session.user_id, session.id, session.events, whole=True)

    @override
    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the texts of some events; `custom_metadata` is ignored."""
        await asyncio.to_thread(self._add, app_name, user_id, session_id or UNKNOWN, events, whole=False)

    @override
    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the texts of memories; `custom_metadata` is ignored."""
        events = [
            Event(author=one.author or "user", content=one.content, **({"id": one.id} if one.id else {}))
            for one in memories
        ]
        await asyncio.to_thread(self._add, app_name, user_id, UNKNOWN, events, whole=False)

    @override
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what bears on a query, best first."""
        found = await asyncio.to_thread(self._found, folder(ROOT, app_name, user_id), query)
        return SearchMemoryResponse(memories=list(map(_entry, found)))

    @override
    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory by its id."""
        if memory_id:
            await asyncio.to_thread(self._delete, folder(ROOT, app_name, user_id), memory_id)

    def _add(self, app: str, user: str, session: str, events: Sequence[Event], *, whole: bool) -> None:
        begins = folder(ROOT, app, user, session)
        texts = {begins + label(event.id): event for event in events if _text(event.content)}
        known = set(self._texts.keys(begins))
        changes = [_kept(key, event) for key, event in texts.items() if whole or key not in known]
        gone = [KeyedChange(key=key, content=None) for key in sorted(known - texts.keys()) if whole]
        self._texts.change([*changes, *gone])

    def _found(self, begins: str, query: str) -> list[Record]:
        ids = [record.id for record in self._texts.under(begins)]
        return [hit.record for hit in self._texts.meant(query, ids)][:FOUND]

    def _delete(self, begins: str, memory_id: str) -> None:
        keys = [key for key in self._texts.keys(begins) if key.endswith(f"/{label(memory_id)}")]
        self._texts.change([KeyedChange(key=key, content=None) for key in keys])


def _text(content: types.Content | None) -> str:
    parts = content.parts if content else None
    return "\n".join(part.text for part in parts or () if part.text and part.text.strip())


def _kept(key: str, event: Event) -> KeyedChange:
    time = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    tags = [ROOT, AUTHOR + event.author, TIME + time]
    return KeyedChange(key=key, content=_text(event.content), tags=tags, type=ITEM)


def _entry(record: Record) -> MemoryEntry:
    author = tagged(record, AUTHOR)
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=record.body)])
    return MemoryEntry(
        id=path_of(record.name or "")[-1],
        content=content,
        author=author,
        timestamp=tagged(record, TIME) or record.created_at,
    )
