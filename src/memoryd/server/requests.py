"""The requests of commands to a service, one per line."""

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from memoryd.core.records.records import written_by
from memoryd.core.scope import together
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.model import Workspace
from memoryd.server.calls import Calls
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Answer, Call

Json = dict[str, Any]


class Requests(Protocol):
    """The requests of one connection."""

    async def answer(self, request: Mapping[str, Any]) -> Json:
        """Return the answer to a request, or an error."""


class ToolRequests:
    """A command's calls of the recall tools, in the workspace of its settings."""

    def __init__(self, calls: Calls, hello: Mapping[str, Any]) -> None:
        self._calls, self._engine = calls, calls.engine
        self._tools = chosen(["recall"], read_only=self._engine.settings.read_only)
        self._make = bool(hello.get("make")) and not self._engine.settings.read_only
        self._origin = hello.get("origin") or ""
        self._workspace: Workspace

    async def begin(self) -> Json:
        """Return the name of the workspace, or an error."""
        return await answered(self._begin())

    async def _begin(self) -> Json:
        self._workspace = await self._calls.hop(partial(self._engine.workspace, make=self._make))
        return {"workspace": self._workspace.name}

    async def answer(self, request: Mapping[str, Any]) -> Json:
        """Return the answer to `{"tool", "arguments"}` field by field, to `{"shorten"}` short ids, or an error."""
        if "shorten" in request:
            return await answered(self._shortened(request["shorten"]))
        return await answered(self._answer(request.get("tool"), request.get("arguments") or {}))

    async def _answer(self, name: object, arguments: object) -> Json:
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise InvalidInputError("This is not a request: it has no tool, or no arguments by name.")
        if name not in self._tools:
            raise InvalidInputError(f"{name} changes the memory, which --read-only (MEMORY_READ_ONLY) forbids.")
        writing = self._tools[name].capability != "read"
        answer = await self._calls.hop(partial(self._run, name, arguments), writing=writing)
        return {name: getattr(answer, name) for name in ("result", "text", "masked", "figures", "notes")}

    async def _shortened(self, ids: Sequence[str]) -> Json:
        return {"named": await self._calls.hop(lambda: together(self._engine, self._workspace).shortened(ids))}

    def _run(self, name: str, arguments: Mapping[str, Any]) -> Answer[Any]:
        call = Call(self._engine, self._workspace, self._engine.settings.session_id or "")
        with written_by("", self._origin):
            return self._tools[name].run(call, arguments)


async def answered(work: Awaitable[Json]) -> Json:
    """Return the answer, or an error as an answer."""
    try:
        return await work
    except MemorydError as error:
        return {"failed": str(error), "kind": type(error).__name__, "carries": vars(error)}
    except OSError as error:  # e.g. the spool cannot be written
        return {"failed": str(error), "kind": "StoreError", "carries": {}}
