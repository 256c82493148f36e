"""Requests from a server to its client: on the answer's stream until 2025-11-25, since then in results."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp import MCPError, types
from mcp.shared.message import ServerMessageMetadata

Round = Mapping[str, types.InputRequest]
"""The questions that are asked at once, by the names under which their answers come back."""
R = TypeVar("R", types.ElicitResult, types.CreateMessageResult)

MAX_TOKENS = 100
_NEEDED: Mapping[type, types.ClientCapabilities] = {
    types.ElicitRequest: types.ClientCapabilities(elicitation=types.ElicitationCapability()),
    types.CreateMessageRequest: types.ClientCapabilities(sampling=types.SamplingCapability()),
    types.ListRootsRequest: types.ClientCapabilities(roots=types.RootsCapability()),
}
"""The capability that a client needs for each kind of request."""


def form(message: str, properties: Mapping[str, Any], required: list[str] | None = None) -> types.ElicitRequest:
    """Return a request to the user. All fields are required unless `required` names some."""
    fields = list(properties) if required is None else required
    schema = {"type": "object", "properties": dict(properties), **({"required": fields} if fields else {})}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str) -> types.CreateMessageRequest:
    """Return a request to the client's model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=MAX_TOKENS)
    )


async def answer(ctx: Any, request: types.ElicitRequest | types.CreateMessageRequest, kind: type[R]) -> R:
    """Send the client a request and return its answer; raise MCPError if it lacks the capability."""
    _require(ctx, request)
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    result: R = await ctx.session.send_request(request, kind, metadata=related)
    return result


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Rounds of questions, each asked in the result of a request that the client then repeats with its answers."""

    rounds: tuple[Round, ...]
    closing: str
    """The final text; `{name}` stands for an answer."""
    stateful: bool = False
    """Whether the client sends back the earlier answers as a state; an answer without the state is ignored."""

    def turn(self, ctx: Any, params: Any) -> types.InputRequiredResult | str:
        """Return the next questions, or the closing text if all are answered; raise MCPError."""
        known: dict[str, str] = json.loads(params.request_state or "{}")
        started = params.request_state is not None or not self.stateful
        given = (params.input_responses or {}) if started else {}
        for questions in self.rounds:
            able = {name: one for name, one in questions.items() if _can(ctx, one)}
            if not able:
                _require(ctx, *questions.values())
            known |= {name: text for name in able if (text := _text_of(able[name], given.get(name))) is not None}
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


def _text_of(request: types.InputRequest, response: object) -> str | None:
    """Return the text of an answer; None if it is not an answer to this kind of request."""
    match request, response:
        case types.ElicitRequest(), types.ElicitResult(action="accept", content=dict(content)):
            return ", ".join(map(str, content.values()))
        case types.CreateMessageRequest(), types.CreateMessageResult(content=types.TextContent(text=text)):
            return text
        case types.ListRootsRequest(), types.ListRootsResult(roots=roots):
            return ", ".join(str(root.uri) for root in roots)
    return None
