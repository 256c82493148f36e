"""The same memory for asynchronous programs: each method of Memory in a thread."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memoryd.api.memory import Memory
from memoryd.api.parts import MemoryGraph, MemoryPart, MemoryTurns, MemoryVault

GivenP = ParamSpec("GivenP")
ResultT = TypeVar("ResultT")


def in_thread(
    method: Callable[Concatenate[Any, GivenP], ResultT],
) -> Callable[Concatenate[Any, GivenP], Coroutine[Any, Any, ResultT]]:
    """Return a method to be awaited, which runs in a thread, so that the event loop goes on."""

    @wraps(method)
    async def call(self: Any, /, *args: GivenP.args, **kwargs: GivenP.kwargs) -> ResultT:
        return await asyncio.to_thread(method, self._own, *args, **kwargs)

    return call


class AsyncPart:
    """A part of a Memory whose methods are awaited."""

    def __init__(self, own: MemoryPart) -> None:
        self._own = own


class AsyncVault(AsyncPart):
    """Texts under keys: the methods of `Memory.vault`, to be awaited."""

    set = in_thread(MemoryVault.set)
    get = in_thread(MemoryVault.get)
    delete = in_thread(MemoryVault.delete)
    keys = in_thread(MemoryVault.keys)
    search = in_thread(MemoryVault.search)


class AsyncTurns(AsyncPart):
    """Turns of conversations: the methods of `Memory.turns`, to be awaited."""

    add = in_thread(MemoryTurns.add)
    list = in_thread(MemoryTurns.list)


class AsyncGraph(AsyncPart):
    """The graph: the methods of `Memory.graph`, to be awaited."""

    create_entities = in_thread(MemoryGraph.create_entities)
    add_observations = in_thread(MemoryGraph.add_observations)
    create_relations = in_thread(MemoryGraph.create_relations)
    open_nodes = in_thread(MemoryGraph.open_nodes)
    search_nodes = in_thread(MemoryGraph.search_nodes)
    delete_entities = in_thread(MemoryGraph.delete_entities)


class AsyncMemory:
    """A Memory whose methods are awaited: `await memory.recall(...)`, `await memory.vault.set(...)`.

    An asynchronous context manager. A call that is cancelled ends in its thread all the same.
    """

    def __init__(
        self, workspace: str | None = None, *, data_dir: str | Path | None = None, session: str = "", **settings: Any
    ) -> None:
        """Open a memory; see Memory."""
        self._own = Memory(workspace, data_dir=data_dir, session=session, **settings)
        self.vault = AsyncVault(self._own.vault)
        """Texts under keys."""
        self.turns = AsyncTurns(self._own.turns)
        """Turns of conversations."""
        self.graph = AsyncGraph(self._own.graph)
        """Entities, observations and relations."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    store = in_thread(Memory.store)
    correct = in_thread(Memory.correct)
    recall = in_thread(Memory.recall)
    context = in_thread(Memory.context)
    get = in_thread(Memory.get)
    edit = in_thread(Memory.edit)
    list = in_thread(Memory.list)
    forget = in_thread(Memory.forget)
    history = in_thread(Memory.history)
    restore = in_thread(Memory.restore)
    inspect = in_thread(Memory.inspect)
    workspaces = in_thread(Memory.workspaces)
    tools = in_thread(Memory.tools)
    call = in_thread(Memory.call)
    export = in_thread(Memory.export)
    close = in_thread(Memory.close)
