"""The MCP server: lists tools, resources and prompts, runs calls, and turns results and errors into answers."""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

from anyio import move_on_after, to_thread
from mcp import MCPError, types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions

from memoryd import __version__
from memoryd.core.base.results import compact, counted
from memoryd.core.security import secrets
from memoryd.core.security.prompt_injection import note_on
from memoryd.errors import InvalidInputError, InvalidParamsError, MemorydError, NotFoundError, OverloadedError
from memoryd.model import Workspace
from memoryd.prompts import build_instructions
from memoryd.server.apps import ClientApp, client_app
from memoryd.server.calls import Calls
from memoryd.server.connection import DISCOVER, HELLO, Callers, is_lasting, is_modern, on_close, progress_to
from memoryd.server.notices import Notices
from memoryd.toolsets import prompts, resources
from memoryd.toolsets.registry import Answer, Call, Tool
from memoryd.toolsets.registry.arguments import shortened

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
JOINING = 1.0  # seconds that a connecting client waits for a database that is slow or unreachable
RESOURCE_NOT_FOUND = -32002  # until 2025-11-25
SEARCH = "search_memories"  # the vault's resources are offered if this tool, which searches them, is offered
MASKED = "The rest was stored unchanged. Store where a secret is kept instead of the secret."
META = "memoryd/"
"""The prefix of each name in `_meta`, which programs read and no client shows to a model."""
RETRY_AFTER = f"{META}retry_after"  # seconds
APP_METHODS = ("resources/list", "resources/templates/list", "resources/read")
"""The requests of a client that shows the app but may not search."""

T = TypeVar("T")


class MemoryServer(Server[Any]):
    """The MCP server. With `remote` (HTTP), a request without a session gets no default session."""

    def __init__(self, calls: Calls, *, remote: bool = False) -> None:
        settings = calls.engine.settings
        self._calls = calls
        self.callers = (
            Callers("")
            if remote
            else Callers(settings.session_id or calls.engine.sessions.new(), settings.client_sessions)
        )
        self._has_resources = SEARCH in calls.tools
        self._notices = Notices(calls, self.callers)
        self._joined = False
        self._app = client_app()
        subscriptions: Any = {
            "on_subscribe_resource": self._notices.subscribe,
            "on_unsubscribe_resource": self._notices.unsubscribe,
            "on_subscriptions_listen": self._notices.listen,
        }
        super().__init__(
            "memoryd",
            version=__version__,
            title="memoryd",
            instructions=build_instructions(calls.tools),
            get_tool_input_schema=lambda _name: None,  # it would list all tools to check headers
            cache_hints={"tools/list": CacheHint(ttl_ms=DAY_MS, scope="private")},
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            **(subscriptions if self._has_resources else {}),
        )
        self.middleware += [self.callers.remember, self._explained, self._allowed, self._begun, self._with_app]

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **more: Any
    ) -> InitializationOptions:
        """Return the SDK's options with notifications of changed resources, which the SDK would omit."""
        changing = notification_options or NotificationOptions(resources_changed=self._has_resources)
        return super().create_initialization_options(changing, *arguments, **more)

    def get_capabilities(self, *arguments: Any, **more: Any) -> types.ServerCapabilities:
        """Return the SDK's capabilities; since 2026-07-28 it would declare all lists as changing if one is.

        Resources are declared if the vault is offered; for the app, `_with_app` declares them.
        """
        declared = super().get_capabilities(*arguments, **more)
        declared.resources = declared.resources if self._has_resources else None
        for fixed in (declared.tools, declared.prompts):
            if fixed:
                fixed.list_changed = False
        return declared

    # middleware ------------------------------------------------------------------------------------------------------

    async def _explained(self, ctx: Any, call_next: Any) -> Any:
        """Turn an error outside a tool into a protocol error."""
        try:
            return await call_next(ctx)
        except InvalidInputError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except NotFoundError as error:
            named = {key: value for key, value in (ctx.params or {}).items() if key == "uri"}
            code = RESOURCE_NOT_FOUND if named and not is_modern(ctx) else types.INVALID_PARAMS
            raise MCPError(code, str(error), named or None) from None
        except MemorydError as error:
            log.warning("%s: %s", ctx.method, error)
            raise MCPError(types.INTERNAL_ERROR, str(error), _again(error) or None) from None

    async def _allowed(self, ctx: Any, call_next: Any) -> Any:
        """Refuse requests for resources by a caller who may use neither the vault's nor the app's."""
        if not ctx.method.startswith(("resources/", "subscriptions/")) or self._may_search(ctx):
            return await call_next(ctx)
        if ctx.method in APP_METHODS and self._app_for(ctx):
            return await call_next(ctx)
        if self._has_resources:
            raise InvalidParamsError(f"This token does not allow resources. Use a token that allows {SEARCH}.")
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method)

    async def _with_app(self, ctx: Any, call_next: Any) -> Any:
        """Declare the app among the capabilities to a client that shows it."""
        answer = await call_next(ctx)
        if ctx.method in (HELLO, DISCOVER) and (app := self._app_for(ctx)):
            app.declare(answer["capabilities"])
        return answer

    async def _begun(self, ctx: Any, call_next: Any) -> Any:
        """Let a lasting connection hold its session from the first request on, and receive notices of changes."""
        if not self._has_resources:
            return await call_next(ctx)
        begins = ctx.method == "initialize" and is_lasting(ctx)
        first = ctx.request is None and not self._joined
        if begins or first:
            self._joined = True
            await self._join(ctx)
        answer = await call_next(ctx)
        if begins:
            await self._notices.connected(ctx)
        return answer

    async def _join(self, ctx: Any) -> None:
        """Hold the session of a connection. A slow or unreachable database does not keep a client from connecting."""
        caller, sessions = self.callers.caller(ctx), self._calls.engine.sessions
        session = self._calls.session(caller)

        if session:
            with suppress(MemorydError), move_on_after(JOINING):  # the first call that needs the session reports it
                await to_thread.run_sync(sessions.join, session, abandon_on_cancel=True)
            if caller.remote:
                on_close(ctx, partial(to_thread.run_sync, sessions.end, session))

    # requests --------------------------------------------------------------------------------------------------------

    async def _within(self, ctx: Any, work: Callable[[Call], T]) -> T:
        """Run work for a request that is not a tool call."""
        caller = self.callers.caller(ctx)
        return await self._calls.hop(lambda: work(self._calls.call(caller)))

    def _offered(self, ctx: Any) -> dict[str, Tool]:
        return self._calls.offered(self.callers.caller(ctx).grant, app=self._shows_apps(ctx))

    def _may_search(self, ctx: Any) -> bool:
        return self._calls.tool(SEARCH, self.callers.caller(ctx).grant) is not None

    def _shows_apps(self, ctx: Any) -> bool:
        return self._app is not None and self._app.shown_by(ctx)

    def _app_for(self, ctx: Any) -> ClientApp | None:
        """Return the app if the sender of a request shows apps and may use it, else None."""
        grant, app = self.callers.caller(ctx).grant, self._app
        return app if app and app.shown_by(ctx) and self._calls.tool(app.lists, grant, app=True) else None

    async def _list_tools(self, ctx: Any, _params: Any) -> types.ListToolsResult:
        app = self._app_for(ctx)
        return types.ListToolsResult(tools=[declaration(tool, app) for tool in self._offered(ctx).values()])

    async def _call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        caller = self.callers.caller(ctx)
        if (tool := self._calls.tool(params.name, caller.grant, app=self._shows_apps(ctx))) is None:
            known = ", ".join(self._calls.offered(caller.grant))
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {shortened(params.name)}. There are: {known}.")
        try:
            answer, call = await self._calls.run(caller, tool, params.arguments or {}, progress_to(ctx))
            if answer.session:
                self._choose(ctx, answer.session)
        except InvalidParamsError:
            raise
        except MemorydError as error:
            return failed(tool.error_text(error), _again(error))
        return succeeded(tool, answer, call.place)

    def _choose(self, ctx: Any, session: str) -> None:
        if not self.callers.choose(ctx, session):
            raise InvalidInputError(
                "This connection ends with the request. Send the session in the _meta of each request: memoryd/session."
            )
        self._notices.announce(ctx)

    # resources, prompts, completions ----------------------------------------------------------------------------------

    async def _list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        app = self._app_for(ctx)
        pages = [app.resource] if app and not cursor else []
        if not self._may_search(ctx):
            return types.ListResourcesResult(resources=pages)
        found, following = await self._within(ctx, lambda call: resources.listed(call, cursor))
        return types.ListResourcesResult(resources=[*found, *pages], next_cursor=following)

    async def _list_templates(self, ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
        known = list(resources.TEMPLATES) if self._may_search(ctx) else []
        return types.ListResourceTemplatesResult(resource_templates=known)

    async def _read_resource(self, ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        app = self._app_for(ctx)
        if app and (params.uri == app.uri or not self._may_search(ctx)):
            return app.read(params.uri)
        text, meta = await self._within(ctx, lambda call: resources.read(call, params.uri))
        content = types.TextResourceContents(uri=params.uri, mime_type=resources.JSON, text=text, _meta=meta or None)
        return types.ReadResourceResult(contents=[content])

    async def _list_prompts(self, ctx: Any, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(prompts.offered(self._offered(ctx)).values()))

    async def _get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        tools, given = self._offered(ctx), params.arguments or {}
        prompt = prompts.named(params.name, tools)
        text = await self._within(ctx, lambda call: prompts.rendered(prompt, tools, call, given))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def _complete(self, ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        name, value = params.argument.name, params.argument.value

        def work(call: Call) -> tuple[list[str], bool]:
            if isinstance(params.ref, types.PromptReference):
                prompt = prompts.named(params.ref.name, self._offered(ctx))
                return prompts.completed(prompt, call, name, value), False
            if not self._may_search(ctx):
                raise InvalidParamsError("This server offers no resources.")
            return resources.completed(call, params.ref.uri, name, value)

        values, more = await self._within(ctx, work)
        return types.CompleteResult(completion=types.Completion(values=values, has_more=more))


def _again(error: MemorydError) -> dict[str, Any]:
    """Return the `_meta` that tells programs when to retry a refused call.

    The refusal is a result, not an HTTP status: an MCP client shows its model nothing of a 503, and many clients take
    the server for broken and reconnect.
    """
    return {RETRY_AFTER: error.seconds} if isinstance(error, OverloadedError) else {}


@cache
def declaration(tool: Tool, app: ClientApp | None) -> types.Tool:
    """Return the declaration of a tool; with `app`, including its metadata for the app."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=None if tool.text else tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.capability == "read",
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.capability == "read",
            open_world_hint=False,
        ),
        _meta=app.meta_of(tool.name) if app else None,
    )


# answers as an MCP client gets them: each field alone contains the whole answer, once ---------------------------------


def succeeded(tool: Tool, answer: Answer[Any], place: Workspace | None) -> types.CallToolResult:
    """Return an answer as text only if it is a text, else as the same JSON in text and structured content.

    Notes say that the workspace is new, which secrets were masked, and which of the shown texts read like instructions,
    unless the text marks them itself.
    """
    meta: dict[str, Any] = {"workspace": place.name} if place else {}
    meta |= {"masked": list(answer.masked)} if answer.masked else {}
    meta |= answer.figures or {}
    named = {f"{META}{name}": value for name, value in meta.items()} or None
    if answer.figures:
        return _result(answer.text or "", None, named)
    body: Any = answer.shown
    notes = [*answer.notes, *([f"{secrets.masked_notice(answer.masked)} {MASKED}"] if answer.masked else [])]
    if tool.capability == "read" and not answer.marked and (warning := note_on(body)):
        notes.append(warning)
    if notes:
        body = {**body, "notes": notes}
        body = counted(body) if "tokens_used" in body else body
    return _result(compact(body) if answer.text is None else " ".join([answer.text, *notes]), body, named)


def failed(text: str, meta: dict[str, Any]) -> types.CallToolResult:
    """Return an error as the result of a tool."""
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True, _meta=meta or None)


def _result(text: str, body: dict[str, Any] | None, meta: dict[str, Any] | None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=body, _meta=meta)
