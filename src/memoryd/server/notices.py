"""Notices of changed resources, on the bus of `subscriptions/listen` and to each legacy connection."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from mcp import types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from memoryd.core.changes import Changed
from memoryd.errors import InvalidParamsError, MemorydError
from memoryd.server.connection import connection_of, on_close
from memoryd.toolsets import resources

MOST = 1_000  # subscriptions of a connection

Wanted = dict[str, str]
"""The resources of which somebody wants to hear: the URI as it was given, and the one way to write it."""


class Notices:
    """Who wants to hear of changes, and tells them."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._listening: dict[Any, Wanted] = {}
        """Of each request of `subscriptions/listen` that is open."""
        self._wanted: dict[Any, Wanted] = {}
        """Of each legacy connection."""
        self._sessions: dict[Any, Any] = {}
        """What the SDK sends by, of each legacy connection."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handler = ListenHandler(self._bus)

    def connected(self, ctx: Any) -> None:
        """A connection that lasts: it hears of changes of the list."""
        connection = connection_of(ctx)
        self._wanted[connection], self._sessions[connection] = {}, ctx.session
        on_close(ctx, partial(self._ended, connection))

    def _ended(self, connection: Any) -> None:
        self._wanted.pop(connection, None)
        self._sessions.pop(connection, None)

    async def listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """subscriptions/listen: answered when it ends."""
        given = params.notifications.resource_subscriptions or ()
        mine = object()
        self._listening[mine] = {uri: _one_way(uri) for uri in given}
        try:
            return await self._handler(ctx, params)
        finally:
            del self._listening[mine]

    async def subscribe(self, ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """resources/subscribe."""
        place = resources.parse(params.uri)
        wanted = self._wanted.get(connection_of(ctx), {})
        _drop(wanted, place.uri)
        if len(wanted) >= MOST:
            raise InvalidParamsError(f"A connection has {MOST} subscriptions at most. Unsubscribe from one first.")
        wanted[params.uri] = place.uri
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """resources/unsubscribe."""
        _drop(self._wanted.get(connection_of(ctx), {}), resources.parse(params.uri).uri)
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
        if changed.listed:
            await self._bus.publish(ResourcesListChanged())
        for uri in _concerned(changed, self._listening.values()):
            await self._bus.publish(ResourceUpdated(uri=uri))
        for connection, session in list(self._sessions.items()):  # sending to one that is just ending does nothing
            if changed.listed:
                await session.send_resource_list_changed()
            for uri in _concerned(changed, [self._wanted.get(connection, {})]):
                await session.send_resource_updated(uri)


def _concerned(changed: Changed, every: Iterable[Mapping[str, str]]) -> list[str]:
    """The URIs that are to be told of a change, each once, as they were given."""
    uris = set(resources.changed(changed.keys))
    return list(dict.fromkeys(
        given for wanted in every for given, uri in wanted.items() if changed.unknown or uri in uris
    ))  # fmt: skip


def _drop(wanted: Wanted, uri: str) -> None:
    for given in [given for given, one in wanted.items() if one == uri]:
        del wanted[given]


def _one_way(uri: str) -> str:
    """The one way to write a URI; of no resource, it is never told of."""
    try:
        return resources.parse(uri).uri
    except MemorydError:
        return uri
