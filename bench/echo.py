"""The smallest MCP server that answers a tool call, over stdio or, given a port, over HTTP: the minimal cost."""

import sys
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ECHO = types.Tool(name="echo", input_schema={"type": "object", "properties": {"query": {"type": "string"}}})


async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[ECHO])


async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=(params.arguments or {}).get("query", ""))])


async def main() -> None:
    server = Server("echo", version="0", on_list_tools=list_tools, on_call_tool=call_tool)
    if sys.argv[1:]:
        app = server.streamable_http_app(json_response=True)
        config = uvicorn.Config(app, port=int(sys.argv[1]), log_level="warning", ws="none")
        await uvicorn.Server(config).serve()
        return
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
