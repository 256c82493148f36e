"""The registry as an MCP server: lists the tools, validates and runs calls, and turns what goes wrong into answers."""

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter, move_on_after, to_thread
from mcp import MCPError, types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions

from memoryd import __version__
from memoryd.core.changes import Changed
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, InvalidParamsError, MemorydError, NotFoundError, StoreError
from memoryd.model import Workspace
from memoryd.prompts import build_instructions
from memoryd.server.connection import Sessions, is_modern
from memoryd.server.notices import Notices
from memoryd.server.resources import Completions, Prompts, Resources
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Answer, Call, Needs, Tool

log = logging.getLogger(__name__)

THREADS = 16  # calls that run at the same time; SQLite and the models block a thread each
DAY_MS = 86_400_000
HOLDING = 1.0  # seconds that a client waits at first for a database that is slow or away
WORKSPACE_META = "memoryd/workspace"
SWITCH = "switch_project"
RESOURCE_NOT_FOUND = -32002  # until 2025-11-25
SEARCH = "search_memories"  # offered with the resources that it searches

T = TypeVar("T")


class MemoryServer(Server[Any]):
    """The MCP server of one engine."""

    def __init__(self, engine: Engine) -> None:
        settings = engine.settings
        self._engine = engine
        self._tools = chosen(settings.toolsets, read_only=settings.read_only)
        self._sessions = Sessions(settings.session_id or engine.sessions.new())
        self._threads = CapacityLimiter(THREADS)
        self._notices = Notices()
        self._watching: Callable[[], None] | None = None
        prompts = Prompts(self._within, self._tools)
        completions = Completions(self._within, prompts, with_resources=SEARCH in self._tools)
        super().__init__(
            "memoryd",
            version=__version__,
            title="memoryd",
            instructions=build_instructions(self._tools),
            cache_hints={"tools/list": CacheHint(ttl_ms=DAY_MS, scope="private")},
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=prompts.list,
            on_get_prompt=prompts.get,
            on_completion=completions.complete,
            **(self._resources() if SEARCH in self._tools else {}),
        )
        self.middleware.append(self._sessions.remember)
        self.middleware.append(self._explained)
        self.middleware.append(self._told)

    def _resources(self) -> dict[str, Any]:
        resources = Resources(self._within)
        return {
            "on_list_resources": resources.list,
            "on_list_resource_templates": resources.templates,
            "on_read_resource": resources.read,
            "on_subscribe_resource": self._notices.subscribe,
            "on_unsubscribe_resource": self._notices.unsubscribe,
            "on_subscriptions_listen": self._notices.listen,
        }

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **more: Any
    ) -> InitializationOptions:
        """The SDK's, with what this server tells of: it would say that lists never change."""
        changing = notification_options or NotificationOptions(resources_changed=SEARCH in self._tools)
        return super().create_initialization_options(changing, *arguments, **more)

    async def _explained(self, ctx: Any, call_next: Any) -> Any:
        """Middleware: what goes wrong outside of a tool is the protocol's error."""
        try:
            return await call_next(ctx)
        except InvalidInputError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except NotFoundError as error:
            uri = (ctx.params or {}).get("uri")
            code = RESOURCE_NOT_FOUND if uri and not is_modern(ctx) else types.INVALID_PARAMS
            raise MCPError(code, str(error), {"uri": uri} if uri else None) from None
        except MemorydError as error:
            log.warning("%s: %s", ctx.method, error)
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None

    async def _told(self, ctx: Any, call_next: Any) -> Any:
        """Middleware: with the first request this server begins to tell of changes, also by other processes.

        And it holds the session from then on, so that no other process ends it.
        """
        if SEARCH not in self._tools:
            return await call_next(ctx)
        first, begins = self._watching is None, ctx.method == "initialize"
        if first:
            self._notices.here()
            watched = partial(self._watched, self._sessions.of(ctx))
            self._watching = self._engine.changes.watch(watched, self._notices.heard)
        if first or begins:
            with move_on_after(HOLDING):
                hold = partial(self._hold, self._sessions.of(ctx))
                await to_thread.run_sync(hold, limiter=self._threads, abandon_on_cancel=True)
        answer = await call_next(ctx)
        if begins:
            self._notices.connected(ctx)
        return answer

    def _hold(self, session: str) -> None:
        with suppress(MemorydError):  # the first call that needs it tells
            self._engine.sessions.hold(session)

    def _watched(self, first: str) -> Workspace | None:
        """Where the resources are of the session that is in force, if they are anywhere yet."""
        if not self._engine.store.made():
            return None
        session = self._sessions.chosen or first
        active = self._engine.sessions.active(session) if SWITCH in self._tools else None
        return active or self._engine.workspaces.get(self._engine.settings.workspace)

    async def _within(self, ctx: Any, work: Callable[[Call], T]) -> T:
        """Run work for a request that is no tool's, in a thread; what goes wrong is the protocol's error."""
        session = self._sessions.of(ctx)

        def run() -> T:
            return work(Call(self._engine, self._place("workspace", session), session))

        return await to_thread.run_sync(run, limiter=self._threads, abandon_on_cancel=True)

    async def _list_tools(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_declared(tool) for tool in self._tools.values()])

    async def _call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}. There are: {', '.join(self._tools)}.")
        run = partial(self._run, tool, params.arguments or {}, self._sessions.of(ctx))
        return await to_thread.run_sync(run, limiter=self._threads, abandon_on_cancel=True)

    def _run(self, tool: Tool[Any], arguments: Mapping[str, Any], session: str) -> types.CallToolResult:
        try:
            place = self._place(tool.needs, session)
            answer = tool.run(Call(self._engine, place, session), arguments)
        except InvalidParamsError:
            raise
        except MemorydError as error:
            if isinstance(error, StoreError):
                log.warning("%s: %s", tool.name, error)
            return _failed(str(error))
        except Exception:  # the one boundary: whatever else goes wrong is logged here and told without internals
            log.exception("%s failed", tool.name)
            return _failed(
                f"{tool.name} failed unexpectedly; the server's log has the details. Look whether it took effect."
            )
        if answer.session:
            self._sessions.choose(answer.session)
            self._notices.heard(Changed(listed=True))
        return _succeeded(answer, place)

    def _place(self, needs: Needs, session: str) -> Workspace | None:
        """Where a tool runs: the session's active project where projects are offered, else the workspace in force."""
        if needs == "nothing":
            return None
        if SWITCH in self._tools:
            if active := self._engine.sessions.active(session):
                return active
            if needs == "project":
                raise NotFoundError(f"No active project. Use {SWITCH} to select one.")
        return self._engine.workspace(make=not self._engine.settings.read_only)


def _declared(tool: Tool[Any]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_schema(tool.arguments.model_json_schema()),
        output_schema=_schema(tool.result.model_json_schema()),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.capability == "read",
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.capability == "read",
            open_world_hint=False,
        ),
    )


def _schema(schema: Any) -> Any:
    """A JSON schema without the titles and class texts that pydantic adds: they cost a client's tokens."""
    if isinstance(schema, list):
        return [_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    noise = {"title"} if isinstance(schema.get("title"), str) else set()
    if schema.get("type") == "object":
        noise.add("description")
    return {name: _schema(part) for name, part in schema.items() if name not in noise}


def _succeeded(answer: Answer, place: Workspace | None) -> types.CallToolResult:
    body = answer.result.model_dump(mode="json", by_alias=True)
    text = answer.text if answer.text is not None else json.dumps(body, ensure_ascii=False)
    meta = {WORKSPACE_META: place.name} if place else None
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=body, _meta=meta)


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
