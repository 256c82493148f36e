"""Notices of changed resources, on the bus of `subscriptions/listen` and to each legacy connection."""

import asyncio
from functools import partial
from typing import Any

from mcp import types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from memoryd.core.changes import Changed
from memoryd.errors import InvalidParamsError
from memoryd.server.connection import connection_of, on_close
from memoryd.toolsets import resources

MOST = 1_000  # subscriptions of a connection


class Notices:
    """Who wants to hear of changes, and tells them."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._wanted: dict[Any, dict[str, str]] = {}
        """The subscriptions of each legacy connection: the URI as it was given, by the one way to write it."""
        self._sessions: dict[Any, Any] = {}
        """What the SDK sends by, of each legacy connection."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self.listen = ListenHandler(self._bus)

    def connected(self, ctx: Any) -> None:
        """A connection that lasts: it hears of changes of the list."""
        connection = connection_of(ctx)
        self._wanted[connection], self._sessions[connection] = {}, ctx.session
        on_close(ctx, partial(self._ended, connection))

    def _ended(self, connection: Any) -> None:
        self._wanted.pop(connection, None)
        self._sessions.pop(connection, None)

    async def subscribe(self, ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """resources/subscribe."""
        place = resources.parse(params.uri)
        wanted = self._wanted.get(connection_of(ctx), {})
        if len(wanted) >= MOST and place.uri not in wanted:
            raise InvalidParamsError(f"A connection has {MOST} subscriptions at most. Unsubscribe from one first.")
        wanted[place.uri] = params.uri
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """resources/unsubscribe."""
        self._wanted.get(connection_of(ctx), {}).pop(resources.parse(params.uri).uri, None)
        return types.EmptyResult()

    def here(self) -> None:
        """Notices are sent from this event loop."""
        self._loop = asyncio.get_running_loop()

    def heard(self, changed: Changed) -> None:
        """Send notices of what changed. From any thread."""
        if self._loop is not None:
            sending = self._send(changed)
            try:
                asyncio.run_coroutine_threadsafe(sending, self._loop)
            except RuntimeError:  # the loop is closed: nobody is there to be told
                sending.close()

    async def _send(self, changed: Changed) -> None:
        uris = resources.changed(changed.keys)
        if changed.listed:
            await self._bus.publish(ResourcesListChanged())
        for uri in uris:
            await self._bus.publish(ResourceUpdated(uri=uri))
        for connection, session in list(self._sessions.items()):  # sending to one that is just ending does nothing
            if changed.listed:
                await session.send_resource_list_changed()
            wanted = self._wanted.get(connection, {})
            for uri in uris:
                if uri in wanted:
                    await session.send_resource_updated(wanted[uri])
