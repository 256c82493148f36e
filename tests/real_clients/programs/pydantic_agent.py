"""A pydantic-ai agent with memoryd. Usage: pydantic_agent.py MODEL_URL PROMPT COMMAND."""

import asyncio
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main(url: str, prompt: str, command: str) -> None:
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="not-a-key"))
    agent = Agent(model, toolsets=[MCPToolset(StdioTransport(command, []), init_timeout=60)])
    async with agent:
        print((await agent.run(prompt)).output)


asyncio.run(main(*sys.argv[1:]))
