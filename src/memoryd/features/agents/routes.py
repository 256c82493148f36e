"""The route of the hooks of other machines: they ask for what they print, and post the turns that they keep."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, request_response

from memoryd.connect.hook import PROMPT, SHOWING
from memoryd.core.access.tokens import Level
from memoryd.core.base.clock import moment, timestamp
from memoryd.errors import InvalidInputError, MemorydError, StoreError
from memoryd.features.agents.hooks import START
from memoryd.features.agents.requests import HookRequests, parts_of
from memoryd.features.agents.spool import SpooledTurns, store
from memoryd.model import Interaction
from memoryd.server.calls import Calls
from memoryd.server.connection import ADMISSION, Admission
from memoryd.server.http.entry import Guard
from memoryd.server.http.openapi import WORKSPACE
from memoryd.server.http.tools import failed, object_of
from memoryd.settings import SESSION_LENGTH
from memoryd.text import storable

PATH = "/mcp/hooks"
TURNS = "turns"
RIGHTS: Mapping[str, tuple[str, Level]] = {
    START: ("memory_context", "read"),
    PROMPT: ("memory_recall", "read"),
    TURNS: ("add_memory", "write"),
}
"""The tool that a token must allow for what a hook wants."""
LARGEST = 32 << 20  # maximum bytes of a body: a transcript's line, of which a turn may be made, has about as many

HookText = Annotated[str, AfterValidator(storable)]
TurnId = Annotated[HookText, StringConstraints(min_length=1, max_length=2_000)]
SessionName = Annotated[HookText, StringConstraints(min_length=1, max_length=SESSION_LENGTH)]


class PostedTurn(BaseModel):
    """A turn as a hook has read it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: TurnId
    session_id: SessionName
    created_at: Annotated[str, AfterValidator(lambda text: timestamp(moment(text)))]
    prompt: HookText
    thought: HookText
    response: HookText


class PostedTurns(BaseModel):
    """What a hook posts."""

    model_config = ConfigDict(extra="forbid", strict=True)

    event: Literal["turns"]
    client: Annotated[HookText, StringConstraints(max_length=100)]
    turns: Annotated[list[PostedTurn], Field(min_length=1)]
    ended: list[SessionName] = []


def routes(calls: Calls) -> list[BaseRoute]:
    """Return the route of a server's hooks, below that of MCP, so that whatever leads there leads here."""
    answer = request_response(RemoteHooks(calls).answer)
    return [Route(PATH, Guard(answer, calls.engine.settings.public_url), methods=["POST"])]


class RemoteHooks:
    """The answers to the hooks of other machines. Nothing here reads a file that a request names."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def answer(self, request: Request) -> Response:
        """Answer a request: what to print, or that turns are stored."""
        admission: Admission = request.scope.get(ADMISSION, Admission())
        try:
            held = await object_of(request, LARGEST)
            wanted = str(held.get("event"))
            if wanted not in RIGHTS:
                raise InvalidInputError(f"There is no such hook here. There are: {', '.join(RIGHTS)}.")
            if not admission.grant.allows(*RIGHTS[wanted]):
                return JSONResponse({"error": f"This token does not allow {RIGHTS[wanted][0]}."}, 403)
            if admission.workspace is None:
                raise InvalidInputError(f"Missing required header: {WORKSPACE}")
            return await (self._shown if wanted in SHOWING else self._kept)(held, admission)
        except MemorydError as error:
            return failed(error, str(error))

    async def _shown(self, held: Mapping[str, Any], admission: Admission) -> Response:
        hook = HookRequests(self._calls, admission)
        text = await hook.shown(*parts_of(held))
        return JSONResponse({"print": text}, background=BackgroundTask(hook.delivered) if text else None)

    async def _kept(self, held: Mapping[str, Any], admission: Admission) -> Response:
        if self._calls.engine.settings.read_only:
            raise InvalidInputError("This server stores nothing: it was started with --read-only.")
        entry = _entry(held)
        await self._calls.hop(partial(self._store, entry, admission), writing=True)
        return JSONResponse({"print": ""})

    def _store(self, entry: SpooledTurns, admission: Admission) -> None:
        workspace = admission.workspace
        assert workspace
        tally = store(self._calls.engine, lambda: workspace, entry, Path(entry.client))
        if tally.first:
            raise StoreError(f"Turns were not stored: {tally.first.text}.")


def _entry(held: Mapping[str, Any]) -> SpooledTurns:
    """Return posted turns. Raise InvalidInputError."""
    try:
        posted = PostedTurns.model_validate(held)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInputError(f"These are no turns of a hook: {where}: {first['msg']}") from None
    turns = tuple(Interaction(**turn.model_dump()) for turn in posted.turns)
    return SpooledTurns("", posted.client, turns, tuple(posted.ended))
