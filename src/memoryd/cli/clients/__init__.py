"""What `memoryd install` does with the configurations of MCP clients."""
