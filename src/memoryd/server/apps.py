"""Apps within a client (MCP Apps): pages that it shows next to the conversation, in a separate frame."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp import types

from memoryd import features
from memoryd.toolsets.registry import Tool, Toolset


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ClientApp:
    """The app that a slice provides, for clients that show apps."""

    uri: str
    resource: types.Resource
    """Its page."""
    opened_by: str
    """The tool whose result a client shows in the app. Without it there is no app."""
    tools: Toolset
    """The tools of the app itself; a client that shows no apps does not see them."""
    lists: str
    """The tool without which the app has nothing to show."""
    shown_by: Callable[[Any], bool]
    """Returns whether the sender of a request shows apps."""
    declare: Callable[[dict[str, Any]], None]
    """Adds the app to a server's capabilities."""
    meta_of: Callable[[str], dict[str, Any] | None]
    """Returns a tool's metadata for the app."""
    read: Callable[[str], types.ReadResourceResult]
    """Returns the page; raises NotFoundError for any other URI."""


@cache
def client_app() -> ClientApp | None:
    """Return the app, if a slice provides one."""
    return next(features.hooked("client_app"), None)


def of_app(tools: Mapping[str, Tool], *, read_only: bool) -> dict[str, Tool]:
    """Return the tools of the app if one of these tools opens it, else none."""
    app = client_app()
    if app is None or app.opened_by not in tools:
        return {}
    return {tool.name: tool for tool in app.tools if tool.capability == "read" or not read_only}
