"""The requests of commands and hooks to a service, one per line."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio

from memoryd.core.agents.hooks import ASKING, PROMPTED, READING, Hooks, parse
from memoryd.core.records.records import written_by
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.model import Workspace
from memoryd.server.calls import Calls
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Answer, Call

T = TypeVar("T")
Json = dict[str, Any]
START, PROMPT = "session-start", "prompt-submit"


class ToolRequests:
    """A command's calls of the recall tools, in the workspace of its settings."""

    def __init__(self, calls: Calls, hello: Mapping[str, Any]) -> None:
        self._calls, self._engine = calls, calls.engine
        self._tools = chosen(["recall"], read_only=self._engine.settings.read_only)
        self._make = bool(hello.get("make")) and not self._engine.settings.read_only
        self._origin = str(hello.get("origin", ""))
        self._workspace: Workspace

    async def begin(self) -> Json:
        """Return the name of the workspace, or an error."""
        return await _answered(self._begin())

    async def _begin(self) -> Json:
        self._workspace = await self._calls.hop(partial(self._engine.workspace, make=self._make))
        return {"workspace": self._workspace.name}

    async def answer(self, request: Mapping[str, Any]) -> Json:
        """Return the answer to `{"tool", "arguments"}` field by field, or an error."""
        return await _answered(self._answer(str(request.get("tool")), request.get("arguments") or {}))

    async def _answer(self, name: str, arguments: Mapping[str, Any]) -> Json:
        if name not in self._tools:
            raise InvalidInputError(f"{name} changes the memory, which --read-only (MEMORY_READ_ONLY) forbids.")
        writing = self._tools[name].capability != "read"
        answer = await self._calls.hop(partial(self._run, name, arguments), writing=writing)
        return {
            "result": answer.result,
            "text": answer.text,
            "masked": answer.masked,
            "figures": answer.figures,
        }

    def _run(self, name: str, arguments: Mapping[str, Any]) -> Answer[Any]:
        call = Call(self._engine, self._workspace, self._engine.settings.session_id or "")
        with written_by("", self._origin):
            return self._tools[name].run(call, arguments)


class HookRequests:
    """The requests of an agent's hook: for a briefing, or to store turns."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._hooks: Hooks | None = None

    async def answer(self, request: Mapping[str, Any]) -> Json:
        """Return what to print, or an error; a second request reports that a briefing was delivered."""
        return await _answered(self._delivered() if self._hooks else self._answer(request))

    async def _answer(self, request: Mapping[str, Any]) -> Json:
        hooks = Hooks(self._calls.engine, parse(str(request["input"]).encode("utf-8", "surrogateescape")))
        event, client, budget = request["event"], str(request["client"]), int(request["budget"])
        if event not in (START, PROMPT):
            store = partial(
                hooks.run, Path(request["home"]), client, ended=event == "session-end", bounded=lambda *_: nullcontext()
            )
            await self._within(READING + ASKING, store, "The turns are not stored yet", writing=True)
            return {"print": ""}
        self._hooks = hooks
        if event == PROMPT:
            return {"print": await self._recalled(partial(hooks.answer_prompt, budget, client))}
        brief = partial(hooks.answer, budget, client)
        return {"print": await self._within(ASKING, brief, "The session starts without a briefing")}

    async def _recalled(self, work: Callable[[], str]) -> str:
        """Return what to add to a prompt; '' if that takes too long, since the user waits for it."""
        with anyio.move_on_after(PROMPTED):
            return await self._calls.hop(work)
        return ""

    async def _delivered(self) -> Json:
        assert self._hooks
        await self._calls.hop(self._hooks.delivered, writing=True)
        return {"print": ""}

    async def _within(self, seconds: float, work: Callable[[], T], otherwise: str, *, writing: bool = False) -> T:
        with anyio.move_on_after(seconds):
            return await self._calls.hop(work, writing=writing)
        raise MemorydError(f"{self._calls.engine.store.place} does not answer. {otherwise}.")


async def _answered(work: Awaitable[Json]) -> Json:
    try:
        return await work
    except MemorydError as error:
        return {"failed": str(error), "kind": type(error).__name__}
    except OSError as error:  # e.g. the spool cannot be written
        return {"failed": str(error), "kind": "StoreError"}
