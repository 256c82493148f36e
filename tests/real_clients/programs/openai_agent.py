"""An openai-agents agent with memoryd. Usage: openai_agent.py MODEL_URL PROMPT COMMAND."""

import asyncio
import sys

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI


async def main(url: str, prompt: str, command: str) -> None:
    set_tracing_disabled(disabled=True)
    model = OpenAIResponsesModel("scripted", AsyncOpenAI(base_url=f"{url}/v1", api_key="not-a-key"))
    async with MCPServerStdio({"command": command}, client_session_timeout_seconds=60) as memory:
        agent = Agent("assistant", model=model, mcp_servers=[memory])
        print((await Runner.run(agent, prompt)).final_output)


asyncio.run(main(*sys.argv[1:]))
