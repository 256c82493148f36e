"""The client of fastmcp: COMMAND CALLS, where CALLS is JSON. Prints the tools and the complete answer of each call."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main(command: str, calls: str) -> None:
    async with Client(StdioTransport(command, [])) as client:
        tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in await client.list_tools()]
        answers = [
            (await client.call_tool_mcp(name, arguments)).model_dump(mode="json", by_alias=True, exclude_none=True)
            for name, arguments in json.loads(calls)
        ]
    print(json.dumps({"tools": tools, "answers": answers}))


asyncio.run(main(*sys.argv[1:]))
