"""pydantic-ai's memory store: the same random operations give the same results as in its own stores."""

import asyncio
import random
from typing import Any

import pytest
from pydantic_ai_harness.memory import InMemoryStore, MemoryOperation, MemoryStore, SearchableMemoryStore

from memoryd.pydantic_ai import MemorydStore

PATHS = ("a.md", "users/ann.md", "users/bob.md", "users/ann/notes.md", "../x")
TEXTS = ("tea", "", "line\nbreak", "naïve 𝄞" * 20)


async def _outcome(work: Any) -> Any:
    try:
        return await work
    except (RuntimeError, ValueError) as error:
        return type(error).__name__, str(error)


async def _compare(operations: int) -> None:
    chance, reference, store = random.Random(7), InMemoryStore(), MemorydStore("conformance")
    versions: list[tuple[str | None, str | None]] = [(None, None)]  # the same versions, as each store names them
    for number in range(operations):
        path, (of_one, of_other) = chance.choice(PATHS), chance.choice(versions[-6:])
        if chance.random() < 0.6:
            found = [await _outcome(one.read(path, max_chars=50)) for one in (reference, store)]
            of_one, of_other = (getattr(one, "version", None) for one in found)
        known = chance.randrange(max(1, number))
        operation = chance.choice((None, MemoryOperation(str(number), "f"), MemoryOperation(str(known), "f")))
        pair: list[Any] = []
        for one, version in ((reference, of_one), (store, of_other)):
            many: Any = one
            pair.append(await _outcome(_work(random.Random(number), many, path, version, operation)))
        assert _plain(pair[1]) == _plain(pair[0]), f"{number}: {path}"
        if getattr(pair[0], "version", None):
            versions.append((pair[0].version, pair[1].version))
    store.memory.close()


def _work(
    chance: random.Random, store: MemoryStore, path: str, version: str | None, operation: MemoryOperation | None
) -> Any:
    match chance.randrange(8):
        case 0 | 1 | 2:
            return store.write(path, chance.choice(TEXTS), expected_version=version, operation=operation)
        case 3:
            return store.delete(path, expected_version=version, operation=operation)
        case 4:
            return store.list_paths(chance.choice(("", "users/")), limit=chance.choice((2, 10)))
        case 5:
            return store.get_operation(operation or MemoryOperation("x", "f"))
    return store.read(path, max_chars=chance.choice((3, 1_000)))


def _plain(result: Any) -> Any:
    """Return a result without its version, which is opaque."""
    fields = (
        {name: value for name, value in vars(result).items() if name != "version"}
        if hasattr(result, "__dict__")
        else result
    )
    return fields | {"version": bool(result.version)} if isinstance(fields, dict) else result


def test_it_does_what_the_store_in_memory_does(operations: int) -> None:
    asyncio.run(_compare(operations))


def test_it_is_found_by_the_capability_and_searches() -> None:
    async def work() -> None:
        store = MemorydStore("a")
        assert isinstance(store, MemoryStore)
        assert isinstance(store, SearchableMemoryStore)
        await store.write("users/ann.md", "Prefers green tea.", expected_version=None)
        await store.write("users/deep/bob.md", "Prefers black tea.", expected_version=None)
        found = await store.search("users/", "green tea", limit=5, max_files=10, max_chars=100, max_file_chars=100)
        assert [(one.path, one.snippet) for one in found.matches] == [("users/ann.md", "Prefers green tea.")]

    asyncio.run(work())


def test_of_two_writers_of_one_version_one_is_refused() -> None:
    async def work() -> None:
        one, other = MemorydStore("a"), MemorydStore("a")
        version = (await one.write("a.md", "first", expected_version=None)).version
        await other.write("a.md", "second", expected_version=version)
        with pytest.raises(RuntimeError, match="changed before it could be written"):
            await one.write("a.md", "third", expected_version=version)
        found = await one.read("a.md", max_chars=100)
        assert found is not None
        assert found.content == "second"

    asyncio.run(work())
