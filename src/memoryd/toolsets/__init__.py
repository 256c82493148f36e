"""The toolsets, each of which a server offers or leaves out."""

from collections.abc import Sequence

from memoryd.toolsets import graph, journal, projects, recall, vault
from memoryd.toolsets.registry import Tool, Toolset

TOOLSETS: dict[str, Toolset] = {
    "recall": recall.TOOLS,
    "vault": vault.TOOLS,
    "projects": projects.TOOLS,
    "graph": graph.TOOLS,
    "journal": journal.TOOLS,
}

PROJECT_TOOLS = frozenset(tool.name for tool in projects.TOOLS)
"""The tools that choose among workspaces."""


def chosen(names: Sequence[str], *, read_only: bool) -> dict[str, Tool]:
    """Return the tools of the named toolsets (`all`: every one) by name; with `read_only` those that change nothing."""
    groups = TOOLSETS.values() if "all" in names else [TOOLSETS[name] for name in dict.fromkeys(names)]
    return {tool.name: tool for group in groups for tool in group if not read_only or tool.capability == "read"}
