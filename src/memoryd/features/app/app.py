"""The memories app, after SEP-1865 of 2026-01-26: its page, and its declaration to clients that show apps."""

from functools import cache
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from memoryd.errors import NotFoundError
from memoryd.features.app.tools import TOOLS
from memoryd.server.apps import ClientApp
from memoryd.server.connection import HELLO

URI = "ui://memoryd/memories.html"
OPENS_APP = "memory_inspect"
"""The tool whose result a client shows in the app: it is for looking. Recall is for answers, and used far more."""
LIST = "memory_browse"
"""The tool without which the app has nothing to show."""

RESOURCE = types.Resource(
    uri=URI,
    name="memories",
    title="Memories",
    description="Browse, correct and forget memories.",
    mime_type=APP_MIME_TYPE,
)
_META: dict[str, Any] = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
_OWN = {tool.name for tool in TOOLS}


def shown_by(ctx: Any) -> bool:
    """Return whether the sender of a request shows apps: whether it declares the extension and the pages' type."""
    declared = _capabilities(ctx)
    settings = ((declared.extensions if declared else None) or {}).get(EXTENSION_ID) or {}
    known = settings.get("mimeTypes")
    return isinstance(known, list) and APP_MIME_TYPE in known


def _capabilities(ctx: Any) -> types.ClientCapabilities | None:
    """Return the capabilities of a client; for `initialize` the SDK knows them only after its answer."""
    if ctx.method == HELLO:
        return types.InitializeRequestParams.model_validate(ctx.params, by_name=False).capabilities
    known: types.ClientCapabilities | None = ctx.session.client_capabilities
    return known


def declare(capabilities: dict[str, Any]) -> None:
    """Add the extension to a server's capabilities, and the resources that it needs."""
    capabilities["extensions"] = {**(capabilities.get("extensions") or {}), EXTENSION_ID: {}}
    capabilities.setdefault("resources", {})


def meta_of(tool: str) -> dict[str, Any] | None:
    """Return a tool's metadata for the app; None for a tool that does not belong to it."""
    if tool in _OWN:
        return {"ui": {"visibility": ["app"]}}
    return {"ui": {"resourceUri": URI}} if tool == OPENS_APP else None


def read(uri: str) -> types.ReadResourceResult:
    """Return the page. Raise NotFoundError for any other URI."""
    if uri != URI:
        raise NotFoundError(f"There is no resource {uri[:200]!r}. There is {URI}.")
    content = types.TextResourceContents(uri=uri, mime_type=APP_MIME_TYPE, text=_page(), _meta=_META)
    return types.ReadResourceResult(contents=[content])


@cache
def _page() -> str:
    return Path(__file__).with_name("memories.html").read_text(encoding="utf-8")


APP = ClientApp(
    uri=URI,
    resource=RESOURCE,
    opened_by=OPENS_APP,
    tools=TOOLS,
    lists=LIST,
    shown_by=shown_by,
    declare=declare,
    meta_of=meta_of,
    read=read,
)
