"""The MCP server: lists tools and resources, runs calls, and turns errors into answers."""

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
from memoryd.errors import InvalidInputError, InvalidParamsError, MemorydError, NotFoundError, OverloadedError
from memoryd.prompts import build_instructions
from memoryd.server import answers
from memoryd.server.apps import ClientApp, client_app
from memoryd.server.calls import Calls
from memoryd.server.connection import DISCOVER, HELLO, Callers, is_lasting, is_modern, on_close, progress_to
from memoryd.server.notices import Notices
from memoryd.server.resources import Completions, Prompts, Resources
from memoryd.toolsets.registry import Call, Tool
from memoryd.toolsets.registry.invalid import shortened

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
JOINING = 1.0  # seconds that a connecting client waits for a database that is slow or unreachable
RESOURCE_NOT_FOUND = -32002  # until 2025-11-25
SEARCH = "search_memories"  # the vault's resources are offered if this tool, which searches them, is offered
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
        prompts = Prompts(self._within, self._offered)
        completions = Completions(self._within, prompts, self._may_search)
        super().__init__(
            "memoryd",
            version=__version__,
            title="memoryd",
            instructions=build_instructions(calls.tools),
            get_tool_input_schema=lambda _name: None,  # it would list all tools to check headers
            cache_hints={"tools/list": CacheHint(ttl_ms=DAY_MS, scope="private")},
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=prompts.list,
            on_get_prompt=prompts.get,
            on_completion=completions.complete,
            **self._resources(),
        )
        self.middleware += [self.callers.remember, self._explained, self._allowed, self._begun, self._with_app]

    def _resources(self) -> dict[str, Any]:
        resources = Resources(self._within, self._may_search, self._app_for)
        subscriptions = {
            "on_subscribe_resource": self._notices.subscribe,
            "on_unsubscribe_resource": self._notices.unsubscribe,
            "on_subscriptions_listen": self._notices.listen,
        }
        return {
            "on_list_resources": resources.list,
            "on_list_resource_templates": resources.templates,
            "on_read_resource": resources.read,
            **(subscriptions if self._has_resources else {}),
        }

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

        def join() -> None:
            with suppress(MemorydError):  # the first call that needs the session reports it
                sessions.join(session)

        if session:
            with move_on_after(JOINING):
                await to_thread.run_sync(join, abandon_on_cancel=True)
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
            return answers.failed(tool.error_text(error), _again(error))
        return answers.succeeded(tool, answer, call.place)

    def _choose(self, ctx: Any, session: str) -> None:
        if not self.callers.choose(ctx, session):
            raise InvalidInputError(
                "This connection ends with the request. Send the session in the _meta of each request: memoryd/session."
            )
        self._notices.announce(ctx)


def _again(error: MemorydError) -> dict[str, Any]:
    """Return the `_meta` that tells programs when to retry a refused call.

    The refusal is a result, not an HTTP status: an MCP client shows its model nothing of a 503, and many clients take
    the server for broken and reconnect.
    """
    return {answers.RETRY_AFTER: error.seconds} if isinstance(error, OverloadedError) else {}


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
