"""The size of an answer as a client shows it to its model, in estimated tokens, compared with the requested budget.

    python -m bench.shown

Some clients show only the structured content, if there is any, others only the text. No models are needed.
"""

import asyncio
import json
import sys
import tempfile
from typing import Any

from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from bench.tables import show
from memoryd.environment import current
from memoryd.text import estimate_tokens

BUDGET = 500
FACTS = 200
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    **{form: ("memory_recall", {"query": "Which ports are open?", "format": form})
       for form in ("summary", "list", "raw", "answer")},
    "nothing found": ("memory_recall", {"query": "zebra"}),
    "memory_context": ("memory_context", {"task": "open a port"}),
    "search_nodes": ("search_nodes", {"query": "port"}),
}  # fmt: skip


def shown(result: types.CallToolResult) -> tuple[int, int]:
    """Return the tokens in a client that prefers structured content, and in one that shows the text."""
    text = "".join(block.text for block in result.content if isinstance(block, types.TextContent))
    body = result.structured_content
    data = text if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return estimate_tokens(data), estimate_tokens(text)


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        off = {"MEMORY_DATA_DIR": home, "MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none"}
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "memoryd", "--toolsets", "recall,graph"],
            env=current() | off,
        )  # fmt: skip
        async with Client(stdio_client(server)) as client:
            for n in range(FACTS):
                fact = f"Service {n} of the shop listens on port {5000 + n}, open to the office."
                await client.call_tool("memory_store", {"content": fact})
                node = {"name": f"service {n}", "entity_type": "service", "observations": [fact]}
                await client.call_tool("create_entities", {"entities": [node]})
            rows = []
            for label, (tool, arguments) in ASKED.items():
                data, text = shown(await client.call_tool(tool, arguments | {"token_budget": BUDGET}))
                rows.append([label, str(data), f"{data / BUDGET:.2f}", str(text), f"{text / BUDGET:.2f}"])
    show(f"Shown of {BUDGET} tokens", ["answer", "structured", "of budget", "text", "of budget"], rows)


if __name__ == "__main__":
    asyncio.run(main())
