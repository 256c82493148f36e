"""Notices of changed resources, to each `subscriptions/listen` and each legacy connection."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from mcp import types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from memoryd.core.records.change_feed import Changed
from memoryd.errors import InvalidParamsError, MemorydError
from memoryd.server.calls import Calls
from memoryd.server.connection import Sessions, connection_of, on_close
from memoryd.toolsets import resources

MOST = 1_000  # subscriptions of a connection
MOMENT = 0.05  # seconds in which several changes are one notice

Wanted = dict[str, str]
"""The resources of which somebody wants to hear: the URI as it was given, and the one way to write it."""
Send = Callable[[bool, list[str]], Coroutine[Any, Any, None]]
"""Tells that the list has changed, and which resources, by their URIs as they were given."""


class _Gathered:
    """What a client is to be told. What changes within a moment, as when much is pruned at once, is told once."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._listed = False
        self._uris: dict[str, None] = {}
        self._waiting = False

    async def tell(self, listed: bool, uris: list[str]) -> None:
        self._listed |= listed
        self._uris |= dict.fromkeys(uris)
        if self._waiting or not (self._listed or self._uris):
            return
        self._waiting = True
        await asyncio.sleep(MOMENT)
        gathered = self._listed, list(self._uris)
        self._listed, self._uris, self._waiting = False, {}, False  # what changes from now on is another notice
        await self._send(*gathered)


class Notices:
    """Watches for each client what it may see, and tells it."""

    def __init__(self, calls: Calls, sessions: Sessions) -> None:
        self._calls = calls
        self._sessions = sessions
        self._wanted: dict[Any, Wanted] = {}
        """Of each legacy connection."""
        self._heard: dict[Any, Callable[[Changed], None]] = {}
        """Of each legacy connection, and of each open `subscriptions/listen`."""
        self._listening: set[ListenHandler] = set()
        calls.ending.append(self._end)

    # legacy connections ----------------------------------------------------------------------------------------------

    def connected(self, ctx: Any) -> None:
        """A connection that lasts: from now on it hears of changes."""
        connection, session = connection_of(ctx), ctx.session
        wanted = self._wanted[connection] = {}

        async def send(listed: bool, uris: list[str]) -> None:
            if listed:
                await session.send_resource_list_changed()
            for uri in uris:
                await session.send_resource_updated(uri)

        end = self._watch(ctx, connection, wanted, send)

        async def ended() -> None:
            self._wanted.pop(connection, None)
            end()

        on_close(ctx, ended)

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

    # subscriptions/listen --------------------------------------------------------------------------------------------

    async def listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """subscriptions/listen: answered when it ends."""
        bus = InMemorySubscriptionBus()
        wanted = {uri: _one_way(uri) for uri in params.notifications.resource_subscriptions or ()}

        async def send(listed: bool, uris: list[str]) -> None:
            if listed:
                await bus.publish(ResourcesListChanged())
            for uri in uris:
                await bus.publish(ResourceUpdated(uri=uri))

        end = self._watch(ctx, object(), wanted, send)
        handler = ListenHandler(bus)
        self._listening.add(handler)
        try:
            return await handler(ctx, params)
        finally:
            self._listening.discard(handler)
            end()

    def _end(self) -> None:
        """Answer every `subscriptions/listen`: the server ends."""
        for handler in list(self._listening):
            handler.close()

    # both ------------------------------------------------------------------------------------------------------------

    def announce(self, ctx: Any) -> None:
        """The client of this request has another list from now on. Over stdio it is the only one."""
        for whose, heard in list(self._heard.items()):
            if ctx.request is None or whose is connection_of(ctx):
                heard(Changed(listed=True))

    def _watch(self, ctx: Any, whose: object, wanted: Wanted, send: Send) -> Callable[[], None]:
        """Send what changes where the sender of this request is at the time; of sessions, only of his own.

        Returns what ends it.
        """
        loop, gathered = asyncio.get_running_loop(), _Gathered(send)

        def heard(changed: Changed) -> None:
            caller = self._sessions.caller(ctx)
            own = self._calls.session(caller)
            keys = [(caller.session_id if scope else "", key) for scope, key in changed.keys if scope in ("", own)]
            listed = changed.listed and (bool(keys) or not changed.keys or changed.unknown)
            sending = gathered.tell(listed, _concerned(resources.changed(keys), wanted, every=changed.unknown))
            try:
                asyncio.run_coroutine_threadsafe(sending, loop)
            except RuntimeError:  # the loop is closed: nobody is there to be told
                sending.close()

        end = self._calls.engine.changes.watch(lambda: self._calls.watched(self._sessions.caller(ctx)), heard)
        self._heard[whose] = heard

        def ended() -> None:
            self._heard.pop(whose, None)
            end()

        return ended


def _concerned(uris: list[str], wanted: Mapping[str, str], *, every: bool) -> list[str]:
    """The URIs that are to be told of, as they were given."""
    return [given for given, uri in wanted.items() if every or uri in uris]


def _drop(wanted: Wanted, uri: str) -> None:
    for given in [given for given, one in wanted.items() if one == uri]:
        del wanted[given]


def _one_way(uri: str) -> str:
    """The one way to write a URI; of no resource, it is never told of."""
    try:
        return resources.parse(uri).uri
    except MemorydError:
        return uri
