"""The words of this API in place of those of tools and commands, for messages of errors."""

import re
from collections.abc import Mapping

SAYINGS = {
    "find ids with memory_recall in the format list": "find ids with recall()",
    "confirm=true": "confirm=True",
    "dry_run=true": "dry_run=True",
    "MEMORY_READ_ONLY": "read_only",
    "List deleted ones with `memoryd history`": "List deleted ones with history()",
    "List what can be restored with `memoryd history`": "List what can be restored with history()",
    "delete it with the graph's tools": "delete it with delete_entities()",
    "Replace observations with the graph's tools": "Change observations through the graph's tools",
}
"""What core says to callers of tools and commands, and the same for callers of a method."""


def worded(message: str, method: str, tool: str) -> str:
    """Return a message about a method, which may run a tool of another name."""
    for old, new in SAYINGS.items():
        message = message.replace(old, new)
    return re.sub(rf"\b{re.escape(tool)}\b", method, message) if tool != method else message


def given(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return arguments as tools take them: lists in place of other sequences; a text is not one."""
    return {
        name: list(value) if isinstance(value, tuple | set | frozenset) else value for name, value in arguments.items()
    }
