"""memoryd: the memory of LLM agents, as one MCP server over one store. For Python programs: `Memory`, `AsyncMemory`."""

from memoryd import extras

__version__ = "0.2.0"

PUBLIC = {"Memory": "memoryd.api:Memory", "AsyncMemory": "memoryd.api:AsyncMemory"}
"""The names that Python programs may import from here, and where they are; each is loaded on first use."""


def __getattr__(name: str) -> object:
    if name in PUBLIC:
        return extras.named(PUBLIC[name])
    raise AttributeError(f"module 'memoryd' has no attribute {name!r}")
