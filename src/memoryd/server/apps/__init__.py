"""Apps within a client (MCP Apps): pages that it shows next to the conversation, in a separate frame."""
