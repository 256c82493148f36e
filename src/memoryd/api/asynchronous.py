"""The same memory for asynchronous programs: each method of Memory in a thread."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memoryd.api.memory import Memory
from memoryd.api.parts import MemoryPart


class AsyncPart:
    """The methods of an object, each in a thread; they are made when they are first used."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._part, name)
        return AsyncPart(found) if isinstance(found, MemoryPart) else in_thread(found)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._part) if not name.startswith("_")]


def in_thread(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """Return a method that runs in a thread, so that the event loop goes on."""

    @wraps(method)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


class AsyncMemory(AsyncPart):
    """A Memory whose methods are awaited: `await memory.recall(...)`, `await memory.vault.set(...)`.

    An asynchronous context manager. A call that is cancelled ends in its thread all the same.
    """

    def __init__(
        self, workspace: str | None = None, *, data_dir: str | Path | None = None, session: str = "", **settings: Any
    ) -> None:
        """Open a memory; see Memory."""
        super().__init__(Memory(workspace, data_dir=data_dir, session=session, **settings))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
