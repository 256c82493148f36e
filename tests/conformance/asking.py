"""How a server asks back: on the answer's stream until 2025-11-25, and by answers that ask for input since then."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp import MCPError, types
from mcp.shared.message import ServerMessageMetadata

Round = Mapping[str, types.InputRequest]
"""What is asked at a time, by the name under which the answer comes back."""
R = TypeVar("R", types.ElicitResult, types.CreateMessageResult)

MAX_TOKENS = 100
_NEEDED: Mapping[type, types.ClientCapabilities] = {
    types.ElicitRequest: types.ClientCapabilities(elicitation=types.ElicitationCapability()),
    types.CreateMessageRequest: types.ClientCapabilities(sampling=types.SamplingCapability()),
    types.ListRootsRequest: types.ClientCapabilities(roots=types.RootsCapability()),
}
"""What a client must be capable of, to be asked."""


def form(message: str, properties: Mapping[str, Any], required: list[str] | None = None) -> types.ElicitRequest:
    """Ask the user. All fields are required unless some are named."""
    fields = list(properties) if required is None else required
    schema = {"type": "object", "properties": dict(properties), **({"required": fields} if fields else {})}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str) -> types.CreateMessageRequest:
    """Ask the client's model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=MAX_TOKENS)
    )


async def answer(ctx: Any, request: types.ElicitRequest | types.CreateMessageRequest, kind: type[R]) -> R:
    """What the client answers to a request of the server's own. Raises MCPError where it cannot."""
    _require(ctx, request)
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    result: R = await ctx.session.send_request(request, kind, metadata=related)
    return result


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Questions in rounds, each asked by the result of a request that the client then sends again with its answers."""

    rounds: tuple[Round, ...]
    closing: str
    """What is said in the end; `{name}` stands for an answer."""
    stateful: bool = False
    """Whether the client carries what was said so far; an answer without that counts as none."""

    def turn(self, ctx: Any, params: Any) -> types.InputRequiredResult | str:
        """Ask what was not answered yet; say the closing words where all was. Raises MCPError."""
        known: dict[str, str] = json.loads(params.request_state or "{}")
        started = params.request_state is not None or not self.stateful
        given = (params.input_responses or {}) if started else {}
        for questions in self.rounds:
            able = {name: one for name, one in questions.items() if _can(ctx, one)}
            if not able:
                _require(ctx, *questions.values())
            known |= {name: said for name in able if (said := _said(able[name], given.get(name))) is not None}
            if missing := {name: one for name, one in able.items() if name not in known}:
                state = json.dumps(known) if self.stateful else None
                return types.InputRequiredResult(input_requests=missing, request_state=state)
        return self.closing.format_map(defaultdict(str, known))


def _can(ctx: Any, request: types.InputRequest) -> bool:
    return bool(ctx.session.check_client_capability(_NEEDED[type(request)]))


def _require(ctx: Any, *requests: types.InputRequest) -> None:
    lacking: dict[str, Any] = {}
    for request in requests:
        if not _can(ctx, request):
            lacking |= _NEEDED[type(request)].model_dump(mode="json", by_alias=True, exclude_none=True)
    if lacking:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"The client did not declare what this needs: {', '.join(lacking)}.",
            {"requiredCapabilities": lacking},
        )


def _said(request: types.InputRequest, response: object) -> str | None:
    """The answer in words, where it is one to this question."""
    match request, response:
        case types.ElicitRequest(), types.ElicitResult(action="accept", content=dict(content)):
            return ", ".join(map(str, content.values()))
        case types.CreateMessageRequest(), types.CreateMessageResult(content=types.TextContent(text=text)):
            return text
        case types.ListRootsRequest(), types.ListRootsResult(roots=roots):
            return ", ".join(str(root.uri) for root in roots)
    return None
