"""The tools that the suite calls by name. Each shows one way to answer, to report, or to ask the client."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import anyio
from mcp import types
from mcp.server.subscriptions import PromptsListChanged, ServerEvent, SubscriptionBus, ToolsListChanged

from memoryd.server.connection import connection_of, is_modern
from tests.conformance import asking
from tests.conformance.asking import Dialogue, form, sampling

Result = types.CallToolResult | types.InputRequiredResult
Run = Callable[[Any, types.CallToolRequestParams], Awaitable[Result]]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"  # a red pixel
WAV = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA"  # four samples of silence
PAUSE = 0.05  # seconds between two notifications, as the suite specifies
LEVEL = "memoryd/level"  # in a connection's state: the lowest level of log messages that it wants
_LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)  # from debug on


@dataclass(frozen=True, slots=True)
class Fixture:
    """A tool that exists only for the suite."""

    description: str
    run: Run
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    modern: bool | None = None
    """The tool's era: the one without handshakes (True), the one before (False), or both (None)."""

    def offered(self, ctx: Any) -> bool:
        """Return whether the protocol of a request has the tool's feature."""
        return self.modern in (None, is_modern(ctx))


def text(*lines: str, is_error: bool = False) -> types.CallToolResult:
    """Return a result of texts."""
    return types.CallToolResult(content=[types.TextContent(text=line) for line in lines], is_error=is_error)


def embedded(uri: str, mime_type: str, content: str) -> types.EmbeddedResource:
    """Return a resource as part of an answer."""
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=content))


def image() -> types.ImageContent:
    """Return the smallest picture."""
    return types.ImageContent(data=PNG, mime_type="image/png")


def fixtures(bus: SubscriptionBus) -> dict[str, Fixture]:
    """Return all tools by name; they publish changes on the bus."""
    return {**_ANSWERS, **_REPORTS, **_REQUESTS, **_DIALOGUES, **_triggers(bus)}


# answers -------------------------------------------------------------------------------------------------------------


def _always(*content: types.ContentBlock, is_error: bool = False) -> Run:
    async def run(_ctx: Any, _params: types.CallToolRequestParams) -> Result:
        return types.CallToolResult(content=list(content), is_error=is_error)

    return run


async def _echoed(_ctx: Any, params: types.CallToolRequestParams) -> Result:
    return text(json.dumps(params.arguments or {}))


_MIXED = (
    types.TextContent(text="Multiple content types test:"),
    image(),
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
)
_EMBEDDED = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
_RICH_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_MIRRORED_SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

_ANSWERS = {
    "test_simple_text": Fixture(
        "A text.", _always(types.TextContent(text="This is a simple text response for testing."))
    ),
    "test_image_content": Fixture("A picture.", _always(image())),
    "test_audio_content": Fixture("A sound.", _always(types.AudioContent(data=WAV, mime_type="audio/wav"))),
    "test_embedded_resource": Fixture("A resource within the answer.", _always(_EMBEDDED)),
    "test_multiple_content_types": Fixture("A text, a picture and a resource.", _always(*_MIXED)),
    "test_error_handling": Fixture(
        "An error.",
        _always(types.TextContent(text="This tool intentionally returns an error for testing"), is_error=True),
    ),
    "json_schema_2020_12_tool": Fixture("Tool with JSON Schema 2020-12 features", _echoed, _RICH_SCHEMA),
    "test_mirrored_argument": Fixture("An argument that a header repeats.", _echoed, _MIRRORED_SCHEMA, modern=True),
}


# reports while a tool runs -------------------------------------------------------------------------------------------


async def _logging(ctx: Any, _params: types.CallToolRequestParams) -> Result:
    for number, line in enumerate(("started", "processing data", "completed")):
        if number:
            await anyio.sleep(PAUSE)
        await _log(ctx, "info", f"Tool {'' if number == 1 else 'execution '}{line}")
    return text("Logged.")


async def _log(ctx: Any, level: types.LoggingLevel, line: str) -> None:
    """Send a log message if the client wants it; since 2026-07-28 each request says so itself."""
    if is_modern(ctx):
        wanted = ((ctx.params or {}).get("_meta") or {}).get(types.LOG_LEVEL_META_KEY)
    else:
        wanted = connection_of(ctx).state.get(LEVEL, _LEVELS[0])
    if wanted in _LEVELS and _LEVELS.index(level) >= _LEVELS.index(wanted):
        message = types.LoggingMessageNotificationParams(level=level, data=line)
        await ctx.session.send_notification(types.LoggingMessageNotification(params=message), ctx.request_id)


async def _progressing(ctx: Any, _params: types.CallToolRequestParams) -> Result:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(PAUSE)
    return text("Done.")


_REPORTS = {
    "test_tool_with_logging": Fixture("Logs while it runs.", _logging),
    "test_logging_tool": Fixture("Logs while it runs.", _logging),
    "test_tool_with_progress": Fixture("Reports its progress.", _progressing),
}


# requests to the client, until 2025-11-25 ----------------------------------------------------------------------------


def _of(argument: str) -> Mapping[str, Any]:
    return {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}


async def _sampled(ctx: Any, params: types.CallToolRequestParams) -> Result:
    prompt = str((params.arguments or {}).get("prompt", ""))
    got = await asking.answer(ctx, sampling(prompt), types.CreateMessageResult)
    return text(f"LLM response: {got.content.text if isinstance(got.content, types.TextContent) else got.content.type}")


def _elicited(fields: Mapping[str, Any], message: str = "", required: list[str] | None = None) -> Run:
    async def run(ctx: Any, params: types.CallToolRequestParams) -> Result:
        asked = message or str((params.arguments or {}).get("message", ""))
        got = await asking.answer(ctx, form(asked, fields, required), types.ElicitResult)
        return text(f"User response: action={got.action}, content={json.dumps(got.content)}")

    return run


def _titled(**titles: str) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in titles.items()]


_OPTIONS = ["option1", "option2", "option3"]
_USER = {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "description": "User's email address"},
}
_DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_ENUMS = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {
        "type": "string",
        "oneOf": _titled(value1="First Option", value2="Second Option", value3="Third Option"),
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": _titled(value1="First Choice", value2="Second Choice", value3="Third Choice")},
    },
}

_REQUESTS = {
    "test_sampling": Fixture("Asks the client's model.", _sampled, _of("prompt"), modern=False),
    "test_elicitation": Fixture("Asks the user.", _elicited(_USER), _of("message"), modern=False),
    "test_elicitation_sep1034_defaults": Fixture(
        "Asks the user with a default for each kind of value.", _elicited(_DEFAULTS, "Who is it?", []), modern=False
    ),
    "test_elicitation_sep1330_enums": Fixture(
        "Asks the user to choose in each of five ways.", _elicited(_ENUMS, "Choose.", []), modern=False
    ),
}


# answers that ask for input, since 2026-07-28 ------------------------------------------------------------------------

_NAME = form("What is your name?", {"name": {"type": "string"}})
_CAPITAL = sampling("What is the capital of France?")
_CONFIRM = form("Please confirm", {"ok": {"type": "boolean"}})
_ROOTS = types.ListRootsRequest()


def _asks(description: str, dialogue: Dialogue) -> Fixture:
    async def run(ctx: Any, params: types.CallToolRequestParams) -> Result:
        turn = dialogue.turn(ctx, params)
        return text(turn) if isinstance(turn, str) else turn

    return Fixture(description, run, modern=True)


_INPUT = "test_input_required_result"
_DIALOGUES = {
    f"{_INPUT}_elicitation": _asks("Asks for a name.", Dialogue(({"user_name": _NAME},), "Hello, {user_name}!")),
    f"{_INPUT}_sampling": _asks("Asks a model.", Dialogue(({"capital_question": _CAPITAL},), "{capital_question}")),
    f"{_INPUT}_list_roots": _asks("Asks for roots.", Dialogue(({"client_roots": _ROOTS},), "Roots: {client_roots}")),
    f"{_INPUT}_request_state": _asks(
        "Asks with a state.", Dialogue(({"confirm": _CONFIRM},), "state-ok: {confirm}", stateful=True)
    ),
    f"{_INPUT}_tampered_state": _asks(
        "Asks with a state that must not be changed.", Dialogue(({"confirm": _CONFIRM},), "{confirm}", stateful=True)
    ),
    f"{_INPUT}_multiple_inputs": _asks(
        "Asks for three things at a time.",
        Dialogue(
            ({"user_name": _NAME, "greeting": sampling("Generate a greeting"), "client_roots": _ROOTS},),
            "{greeting}, {user_name}: {client_roots}",
            stateful=True,
        ),
    ),
    f"{_INPUT}_multi_round": _asks(
        "Asks twice.",
        Dialogue(
            (
                {"step1": form("Step 1: What is your name?", {"name": {"type": "string"}})},
                {"step2": form("Step 2: What is your favorite color?", {"color": {"type": "string"}})},
            ),
            "{step1} likes {step2}.",
            stateful=True,
        ),
    ),
    f"{_INPUT}_capabilities": _asks(
        "Asks for what the client can give.",
        Dialogue(({"user_name": _NAME, "capital_question": _CAPITAL},), "{user_name} {capital_question}"),
    ),
    "test_missing_capability": _asks(
        "Needs a client that can sample.", Dialogue(({"capital_question": _CAPITAL},), "{capital_question}")
    ),
    "test_streaming_elicitation": _asks(
        "Asks on an answer that may be a stream.", Dialogue(({"user_name": _NAME},), "Hello, {user_name}!")
    ),
}


# changes -------------------------------------------------------------------------------------------------------------


def _triggers(bus: SubscriptionBus) -> dict[str, Fixture]:
    def publishing(event: ServerEvent) -> Run:
        async def run(_ctx: Any, _params: types.CallToolRequestParams) -> Result:
            await bus.publish(event)
            return text("Published.")

        return run

    return {
        "test_trigger_tool_change": Fixture(
            "Reports that the tools changed.", publishing(ToolsListChanged()), modern=True
        ),
        "test_trigger_prompt_change": Fixture(
            "Reports that the prompts changed.", publishing(PromptsListChanged()), modern=True
        ),
    }
