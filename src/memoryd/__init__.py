"""memoryd: the memory of LLM agents, as one MCP server over one store. For Python programs: `Memory`."""

from memoryd import extras

__version__ = "0.1.0"

PUBLIC = {"Memory": "memoryd.api:Memory"}
"""What Python programs may import from here, and where it is: it is loaded when it is used."""


def __getattr__(name: str) -> object:
    if name in PUBLIC:
        return extras.named(PUBLIC[name])
    raise AttributeError(f"module 'memoryd' has no attribute {name!r}")
