"""ADK's memory service: the same random operations keep the same events as ADK's own service in memory."""

import asyncio
import random
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from memoryd.adk import MemorydMemoryService

WORDS = ("kettle", "harbour", "lantern", "orchard", "violin", "saddle")
USERS = (("app", "ann"), ("app", "bob"), ("app/x", "ann"))
FEW = 8
"""Events of each user: the service in memory returns at most ten."""


_WHO: Any = {"app_name": "app", "user_id": "ann"}


def _event(chance: random.Random, number: int) -> Event:
    part = types.Part(text=f"{chance.choice(WORDS)} {chance.choice(WORDS)}") if chance.random() < 0.9 else None
    content = types.Content(role="user", parts=[part] if part else None)
    return Event(id=f"e/{number}", author=chance.choice(("user", "agent")), content=content, timestamp=1e9 + number)


def _entries(found: Any) -> list[Any]:
    return sorted((one.id, one.author, one.content.parts[0].text) for one in found.memories)


async def _compare(operations: int) -> None:
    chance, service, reference = random.Random(7), MemorydMemoryService("conformance"), InMemoryMemoryService()
    deleted = set[tuple[str, str]]()
    for number in range(operations):
        app, user = chance.choice(USERS)
        who: Any = {"app_name": app, "user_id": user}
        session = chance.choice(("s1", "s2"))
        slot = [one for one in range(FEW // 2) if (f"{session}{one}", app + user) not in deleted]
        events = [_event(chance, one) for one in chance.sample(slot, chance.randint(0, len(slot)))]
        events = [one.model_copy(update={"id": f"{session}{one.id[2:]}"}) for one in events]
        match chance.randrange(8):
            case 0 | 1:
                whole = Session(id=session, events=events, **who)
                await asyncio.gather(*(one.add_session_to_memory(whole) for one in (service, reference)))
            case 2 | 3:
                for one in (service, reference):
                    await one.add_events_to_memory(events=events, session_id=session, **who)
            case 4 if len(deleted) < FEW:
                memory_id = f"{session}{chance.randrange(FEW // 2)}"
                deleted.add((memory_id, app + user))
                for one in (service, reference):
                    await one.delete_memory(memory_id=memory_id, **who)
            case _:
                query = chance.choice(WORDS)
                expected = await reference.search_memory(query=query, **who)
                found = await service.search_memory(query=query, **who)
                assert _entries(found) == _entries(expected), f"{number}: {query}"
    service.memory.close()


def test_it_keeps_what_the_service_in_memory_keeps(operations: int) -> None:
    asyncio.run(_compare(operations))


def test_a_memory_is_added_found_and_deleted() -> None:
    async def work() -> None:
        service, who = MemorydMemoryService("a"), _WHO
        found = await service.search_memory(query="tea", **who)
        assert found.memories == []
        entry = MemoryEntry(content=types.Content(role="user", parts=[types.Part(text="Prefers green tea.")]))
        await service.add_memory(memories=[entry], **who)
        (one,) = (await service.search_memory(query="tea", **who)).memories
        await service.delete_memory(memory_id=one.id, **who)
        assert (await service.search_memory(query="tea", **who)).memories == []

    asyncio.run(work())
