"""A langchain agent with memoryd. Usage: langchain_agent.py MODEL_URL PROMPT COMMAND."""

import asyncio
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def main(url: str, prompt: str, command: str) -> None:
    model = ChatOpenAI(model="scripted", base_url=f"{url}/v1", api_key="not-a-key")
    memory = MultiServerMCPClient({"memory": {"transport": "stdio", "command": command, "args": []}})
    agent = create_agent(model, await memory.get_tools())
    answer = await agent.ainvoke({"messages": [("user", prompt)]})
    print(answer["messages"][-1].content)


asyncio.run(main(*sys.argv[1:]))
