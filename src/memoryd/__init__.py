"""memoryd: the memory of LLM agents, as one MCP server over one store."""

__version__ = "0.1.0"
