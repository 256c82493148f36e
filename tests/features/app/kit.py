"""Clients that show apps, and those that do not."""

from typing import Any

from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from tests.clients import LEGACY, Json
from tests.wires import Wire, envelope

SHOWS = {EXTENSION_ID: {"mimeTypes": [APP_MIME_TYPE]}}
"""The capabilities of a client that shows apps."""
ADVERTISED = advertise(EXTENSION_ID, SHOWS[EXTENSION_ID])
"""The same for the SDK's client."""
PAGE = "ui://memoryd/memories.html"
HELPERS = ("memory_browse", "memory_correct", "memory_restore")


class Talk:
    """A client in one era of the protocol, with or without extensions."""

    def __init__(self, wire: Wire, era: str, extensions: Json | None = None) -> None:
        self.wire = wire
        known = {"extensions": extensions} if extensions is not None else {}
        self._meta: Json = {}
        declared: Json = {"io.modelcontextprotocol/clientCapabilities": known}
        if era == LEGACY:
            hello = {"protocolVersion": LEGACY, "capabilities": known, "clientInfo": {"name": "talk", "version": "1"}}
            self.capabilities = wire.result("initialize", hello)["capabilities"]
            wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            self._meta = {"_meta": envelope() | declared}
            self.capabilities = wire.result("server/discover", dict(self._meta))["capabilities"]

    def request(self, method: str, **params: Any) -> Json:
        return self.wire.request(method, params | self._meta)

    def result(self, method: str, **params: Any) -> Json:
        return self.wire.result(method, params | self._meta)

    def call(self, tool: str, **arguments: Any) -> Json:
        """Call a tool, which must succeed; return its data."""
        result = self.result("tools/call", name=tool, arguments=arguments)
        assert not result["isError"], result
        data: Json = result["structuredContent"]
        return data

    def tools(self) -> dict[str, Json]:
        return {tool["name"]: tool for tool in self.result("tools/list")["tools"]}
