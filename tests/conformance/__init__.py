"""The official conformance suite: a server of what it calls, and what runs it."""
