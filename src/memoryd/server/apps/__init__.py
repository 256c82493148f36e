"""Apps within a client (MCP Apps): pages that it shows beside the conversation, in a frame of its own."""
