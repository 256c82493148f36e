"""The requests of hooks to a service, one per line."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio

from memoryd.errors import InvalidInputError, MemorydError
from memoryd.features.agents.hooks import ASKING, PROMPTED, READING, Hooks, parse
from memoryd.server.calls import Calls
from memoryd.server.requests import Json, answered

T = TypeVar("T")
START, PROMPT = "session-start", "prompt-submit"


class HookRequests:
    """The requests of an agent's hook: for a briefing, or to store turns."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._hooks: Hooks | None = None

    async def answer(self, request: Mapping[str, Any]) -> Json:
        """Return what to print, or an error; a second request reports that a briefing was delivered."""
        return await answered(self._delivered() if self._hooks else self._answer(request))

    async def _answer(self, request: Mapping[str, Any]) -> Json:
        try:
            event, client, budget = str(request["event"]), str(request["client"]), int(request["budget"])
            given, home = parse(str(request["input"]).encode("utf-8", "surrogateescape")), Path(str(request["home"]))
        except (KeyError, ValueError, TypeError):
            raise InvalidInputError("This is not the request of a hook. Update memoryd, then start again.") from None
        hooks = Hooks(self._calls.engine, given)
        if event not in (START, PROMPT):
            store = partial(hooks.run, home, client, ended=event == "session-end", bounded=lambda *_: nullcontext())
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
