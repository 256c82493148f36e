"""The requests of hooks to a service, one per line."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio

from memoryd.connect.hook import PROMPT, READING, SHOWING
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.features.agents.hooks import END, PROMPTED, START, Hooks, parse, printed, tell_slices
from memoryd.features.agents.spool import ASKING
from memoryd.server.calls import Calls
from memoryd.server.connection import Admission
from memoryd.server.requests import Json, answered

T = TypeVar("T")


def parts_of(request: Mapping[str, Any]) -> tuple[str, str, int, bytes]:
    """Return the event, the client, the budget and the input of a hook. Raise InvalidInputError."""
    try:
        data = str(request["input"]).encode("utf-8", "surrogateescape")
        return str(request["event"]), str(request["client"]), int(request["budget"]), data
    except (KeyError, ValueError, TypeError):
        raise InvalidInputError("This is not the request of a hook. Update memoryd, then start again.") from None


class HookRequests:
    """The requests of an agent's hook: for a briefing, or to store turns. `of`: those of a server over HTTP."""

    def __init__(self, calls: Calls, of: Admission | None = None) -> None:
        self._calls = calls
        self._of = of
        self._hooks: Hooks | None = None

    async def answer(self, request: Mapping[str, Any]) -> Json:
        """Return what to print, or an error; a second request reports that a briefing was delivered."""
        return await answered(self.delivered() if self._hooks else self._answer(request))

    async def _answer(self, request: Mapping[str, Any]) -> Json:
        event, client, budget, data = parts_of(request)
        if event in SHOWING:
            shown = await self.shown(event, client, budget, data)
            await self._tell(event)
            return {"print": shown}
        home, hooks = Path(str(request.get("home"))), Hooks(self._calls.engine, parse(data))
        store = partial(hooks.keeper().run, home, client, ended=event == END, bounded=lambda *_: nullcontext())
        await self._within(READING + ASKING, store, "The turns are not stored yet", writing=True)
        await self._tell(event)
        return {"print": ""}

    async def _tell(self, event: str) -> None:
        if event in (START, END):
            await self._calls.hop(partial(tell_slices, self._calls.engine.settings))

    async def shown(self, event: str, client: str, budget: int, data: bytes) -> str:
        """Return what the hook of an event in SHOWING prints. Raise MemorydError."""
        self._hooks = hooks = Hooks(
            self._calls.engine, parse(data), *((self._of.workspace, self._of.grant) if self._of else ())
        )
        if event == PROMPT:
            with anyio.move_on_after(PROMPTED):  # the user waits for it
                return printed(await self._calls.hop(partial(hooks.answer_prompt, budget, client)))
            return ""
        briefing = partial(hooks.answer, budget, client)
        return printed(await self._within(ASKING, briefing, "The session starts without a briefing"))

    async def delivered(self) -> Json:
        """Have what was printed noted as shown."""
        assert self._hooks
        await self._calls.hop(self._hooks.delivered, writing=True)
        return {"print": ""}

    async def _within(self, seconds: float, work: Callable[[], T], otherwise: str, *, writing: bool = False) -> T:
        with anyio.move_on_after(seconds):
            return await self._calls.hop(work, writing=writing)
        raise MemorydError(f"{self._calls.engine.store.place} does not answer. {otherwise}.")
