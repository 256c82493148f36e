"""The server of the conformance suite: `python -m tests.conformance.server`, on a free port.

It offers each feature of the protocol once, over the transports of the real server.
"""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import MCPError, types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from starlette.applications import Starlette

from memoryd import __version__
from memoryd.core.engine import Engine
from memoryd.server import logs
from memoryd.server.app import RESOURCE_NOT_FOUND
from memoryd.server.calls import Calls
from memoryd.server.connection import Callers, connection_of, is_modern
from memoryd.server.http import app
from memoryd.settings import Settings
from tests.conformance.asking import Dialogue, form
from tests.conformance.tools import LEVEL, PNG, embedded, fixtures, image

NAME = "memoryd-conformance"
TEMPLATE = "test://template/{id}/data"
_PLAIN, _JSON = "text/plain", "application/json"
_BY_ID = re.compile(r"test://template/([^/]+)/data")


def main() -> None:
    """Print the address and serve until a signal ends it."""
    with TemporaryDirectory(prefix=f"{NAME}-") as home:
        settings = Settings.read({}, data_dir=Path(home), workspace="default", embedder="none", reranker="none", port=0)
        logs.set_up(settings.log_level)
        app.serve(Engine(settings), made=application)


def application(engine: Engine) -> Starlette:
    """Return the application of the real server with other handlers; these ask the client, so answers are streams."""
    sessions = Callers("")
    return app.assembled(Calls(engine), ConformanceServer(sessions), sessions, streams=True)


class ConformanceServer(Server[Any]):
    """Tools, resources, prompts and completions that exist only for the suite."""

    def __init__(self, sessions: Callers) -> None:
        bus = InMemorySubscriptionBus()
        self._tools = fixtures(bus)
        super().__init__(
            NAME,
            version=__version__,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=_list_resources,
            on_list_resource_templates=_list_templates,
            on_read_resource=_read_resource,
            on_subscribe_resource=_subscribed,
            on_unsubscribe_resource=_subscribed,
            on_subscriptions_listen=ListenHandler(bus),
            on_list_prompts=_list_prompts,
            on_get_prompt=_get_prompt,
            on_completion=_complete,
        )
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
        sealed = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)
        self.middleware += [sessions.remember, sealed]

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **more: Any
    ) -> InitializationOptions:
        """Return the SDK's options, with change notifications for all lists."""
        changing = notification_options or NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        return super().create_initialization_options(changing, *arguments, **more)

    async def _list_tools(self, ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=tool.description, input_schema=dict(tool.schema))
                for name, tool in self._tools.items()
                if tool.offered(ctx)
            ]
        )

    async def _call_tool(
        self, ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None or not tool.offered(ctx):
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await tool.run(ctx, params)


# resources -----------------------------------------------------------------------------------------------------------

_TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "This is the content of the watched resource.",
}
_BINARY = "test://static-binary"


async def _list_resources(_ctx: Any, _params: Any) -> types.ListResourcesResult:
    listed = [(uri, "A text.", _PLAIN) for uri in _TEXTS] + [(_BINARY, "A picture.", "image/png")]
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=uri.removeprefix("test://"), description=description, mime_type=kind)
            for uri, description, kind in listed
        ]
    )


async def _list_templates(_ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=TEMPLATE, name="template", description="Data with the id in its URI.", mime_type=_JSON
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri, content = params.uri, _content(params.uri)
    if content is None:
        code = types.INVALID_PARAMS if is_modern(ctx) else RESOURCE_NOT_FOUND
        raise MCPError(code, f"Resource not found: {uri}", {"uri": uri})
    return types.ReadResourceResult(contents=[content])


def _content(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    if uri in _TEXTS:
        return types.TextResourceContents(uri=uri, mime_type=_PLAIN, text=_TEXTS[uri])
    if uri == _BINARY:
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    if found := _BY_ID.fullmatch(uri):
        body = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
        return types.TextResourceContents(uri=uri, mime_type=_JSON, text=json.dumps(body))
    return None


async def _subscribed(_ctx: Any, params: types.SubscribeRequestParams | types.UnsubscribeRequestParams) -> Any:
    if _content(params.uri) is None:
        raise MCPError(RESOURCE_NOT_FOUND, f"Resource not found: {params.uri}", {"uri": params.uri})
    return types.EmptyResult()


# prompts, completion and logging -------------------------------------------------------------------------------------

_PROMPTS = {
    "test_simple_prompt": ("A text.", ()),
    "test_prompt_with_arguments": ("A text with two arguments.", ("arg1", "arg2")),
    "test_prompt_with_embedded_resource": ("A resource within the prompt.", ("resourceUri",)),
    "test_prompt_with_image": ("A picture.", ()),
    "test_input_required_result_prompt": ("Asks for what it should be about.", ()),
}
_CONTEXT = Dialogue(
    ({"user_context": form("What context should the prompt use?", {"context": {"type": "string"}})},),
    "The context: {user_context}",
)


async def _list_prompts(_ctx: Any, _params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=description,
                arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, (description, arguments) in _PROMPTS.items()
        ]
    )


async def _get_prompt(
    ctx: Any, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    if params.name not in _PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    if missing := [name for name in _PROMPTS[params.name][1] if name not in given]:
        raise MCPError(types.INVALID_PARAMS, f"Missing arguments: {', '.join(missing)}")
    content: list[types.ContentBlock]
    match params.name:
        case "test_simple_prompt":
            content = [_text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            content = [_text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(given["resourceUri"], _PLAIN, "Embedded resource content for testing.")
            content = [resource, _text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            content = [image(), _text("Please analyze the image above.")]
        case _:
            turn = _CONTEXT.turn(ctx, params)
            if not isinstance(turn, str):
                return turn
            content = [_text(turn)]
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in content])


def _text(text: str) -> types.TextContent:
    return types.TextContent(text=text)


async def _complete(_ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [value for value in ("paris", "park", "party", "test") if value.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def _set_level(ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    connection_of(ctx).state[LEVEL] = params.level
    return types.EmptyResult()


if __name__ == "__main__":
    main()
