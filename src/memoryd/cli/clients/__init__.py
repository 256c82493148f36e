"""The changes that `memoryd install` makes to the configurations of MCP clients."""
