"""The registry as an MCP server: lists the tools, validates and runs calls, and turns what goes wrong into answers."""

import json
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread
from mcp import MCPError, types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server

from memoryd import __version__
from memoryd.core.engine import Engine
from memoryd.errors import MemorydError, NotFoundError, StoreError
from memoryd.model import Workspace
from memoryd.prompts import build_instructions
from memoryd.server.connection import Sessions
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Answer, Call, Tool

log = logging.getLogger(__name__)

THREADS = 16  # calls that run at the same time; SQLite and the models block a thread each
DAY_MS = 86_400_000
WORKSPACE_META = "memoryd/workspace"
SWITCH = "switch_project"


class MemoryServer(Server[Any]):
    """The MCP server of one engine."""

    def __init__(self, engine: Engine) -> None:
        settings = engine.settings
        self._engine = engine
        self._tools = chosen(settings.toolsets, read_only=settings.read_only)
        self._sessions = Sessions(settings.session_id or engine.sessions.new())
        self._threads = CapacityLimiter(THREADS)
        super().__init__(
            "memoryd",
            version=__version__,
            title="memoryd",
            instructions=build_instructions(self._tools),
            cache_hints={"tools/list": CacheHint(ttl_ms=DAY_MS, scope="private")},
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self.middleware.append(self._sessions.remember)

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
            place = self._place(tool, session)
            answer = tool.run(Call(self._engine, place, session), arguments)
        except MemorydError as error:
            if isinstance(error, StoreError):
                log.warning("%s: %s", tool.name, error)
            return _failed(str(error))
        except Exception:  # the one boundary: whatever else goes wrong is logged here and told without internals
            log.exception("%s failed", tool.name)
            return _failed(
                f"{tool.name} failed unexpectedly; the server's log has the details. Look whether it took effect."
            )
        return _succeeded(answer, place)

    def _place(self, tool: Tool[Any], session: str) -> Workspace | None:
        """Where a tool runs: the session's active project where projects are offered, else the workspace in force."""
        if tool.needs == "nothing":
            return None
        if SWITCH in self._tools:
            if active := self._engine.sessions.active(session):
                return active
            if tool.needs == "project":
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
