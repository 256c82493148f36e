"""Notices of changed resources, to each `subscriptions/listen` and each legacy connection."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from anyio import move_on_after, to_thread
from mcp import types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from memoryd.core.records.change_feed import Changed, CurrentWorkspace
from memoryd.errors import InvalidParamsError, MemorydError
from memoryd.model import Workspace
from memoryd.server.calls import Calls
from memoryd.server.connection import Callers, connection_of, on_close
from memoryd.toolsets import resources

MOST = 1_000  # maximum subscriptions of a connection
TOO_MANY = f"A connection can have {MOST} subscriptions."
PATIENCE = 1.0  # seconds that a client waits for a database that is slow or unreachable
MOMENT = 0.05  # seconds within which several changes become one notice

Wanted = dict[str, str]
"""The subscribed resources: the URI as it was given, and its normal form."""
Send = Callable[[bool, list[str]], Coroutine[Any, Any, None]]
"""A function that sends notices: whether the list has changed, and the URIs of changed resources, as given."""


class _Gathered:
    """The pending notices of a client: changes within a moment, e.g. of a large deletion, are sent together.

    Its methods are called in the thread of the loop only.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Send) -> None:
        self._loop = loop
        self._send = send
        self._listed = False
        self._uris: dict[str, None] = {}
        self._waiting = False
        self._sending: set[asyncio.Task[None]] = set()

    def add(self, listed: bool, uris: list[str]) -> None:
        self._listed |= listed
        self._uris |= dict.fromkeys(uris)
        if not self._waiting and (self._listed or self._uris):
            self._waiting = True
            self._loop.call_later(MOMENT, self._flush)

    def _flush(self) -> None:
        sending = self._loop.create_task(self._send(self._listed, list(self._uris)))
        self._listed, self._uris, self._waiting = False, {}, False
        self._sending.add(sending)  # the loop itself holds tasks weakly
        sending.add_done_callback(self._sent)

    def _sent(self, sending: asyncio.Task[None]) -> None:
        self._sending.discard(sending)
        if not sending.cancelled():
            sending.exception()  # a client that is gone needs no notice


class Notices:
    """Watches for each client the resources that it may see, and notifies it of changes."""

    def __init__(self, calls: Calls, callers: Callers) -> None:
        self._calls = calls
        self._callers = callers
        self._wanted: dict[Any, Wanted] = {}
        """The subscriptions of each legacy connection."""
        self._heard: dict[Any, Callable[[Changed], None]] = {}
        """The callback of each legacy connection and of each open `subscriptions/listen`."""
        self._listening: set[ListenHandler] = set()
        calls.ending.append(self._end)

    # legacy connections ----------------------------------------------------------------------------------------------

    async def connected(self, ctx: Any) -> None:
        """Send notices of changes to a lasting connection from now on."""
        connection, session = connection_of(ctx), ctx.session
        wanted = self._wanted[connection] = {}

        async def send(listed: bool, uris: list[str]) -> None:
            if listed:
                await session.send_resource_list_changed()
            for uri in uris:
                await session.send_resource_updated(uri)

        end = await self._watch(ctx, connection, wanted, send)

        async def ended() -> None:
            self._wanted.pop(connection, None)
            end()

        on_close(ctx, ended)

    async def subscribe(self, ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Handle resources/subscribe."""
        place = resources.parse(params.uri)
        wanted = self._wanted.get(connection_of(ctx), {})
        _drop(wanted, place.uri)
        if len(wanted) >= MOST:
            raise InvalidParamsError(f"{TOO_MANY} Unsubscribe from one first.")
        wanted[params.uri] = place.uri
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Handle resources/unsubscribe."""
        _drop(self._wanted.get(connection_of(ctx), {}), resources.parse(params.uri).uri)
        return types.EmptyResult()

    # subscriptions/listen --------------------------------------------------------------------------------------------

    async def listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """Handle subscriptions/listen, which is answered when it ends, at the latest when its token expires."""
        if len(params.notifications.resource_subscriptions or ()) > MOST:
            raise InvalidParamsError(f"{TOO_MANY} Listen for fewer.")
        bus = InMemorySubscriptionBus()
        wanted = {uri: _normal_form(uri) for uri in params.notifications.resource_subscriptions or ()}

        async def send(listed: bool, uris: list[str]) -> None:
            if listed:
                await bus.publish(ResourcesListChanged())
            for uri in uris:
                await bus.publish(ResourceUpdated(uri=uri))

        end = await self._watch(ctx, object(), wanted, send)
        handler = ListenHandler(bus)
        self._listening.add(handler)
        left = self._calls.engine.credentials.seconds_left(self._callers.caller(ctx).grant)
        expiry = asyncio.get_running_loop().call_later(left, handler.close) if left < math.inf else None
        try:
            return await handler(ctx, params)
        finally:
            self._listening.discard(handler)
            if expiry:
                expiry.cancel()
            end()

    def _end(self) -> None:
        """Answer every `subscriptions/listen`, because the server ends."""
        for handler in list(self._listening):
            handler.close()

    # both ------------------------------------------------------------------------------------------------------------

    def announce(self, ctx: Any) -> None:
        """Notify the client of this request that its list of resources has changed; over stdio the only client."""
        for whose, heard in list(self._heard.items()):
            if ctx.request is None or whose is connection_of(ctx):
                heard(Changed(listed=True))

    async def _watch(self, ctx: Any, whose: object, wanted: Wanted, send: Send) -> Callable[[], None]:
        """Send changes in the sender's current workspace and own session; return a function that ends this."""
        loop = asyncio.get_running_loop()
        gathered = _Gathered(loop, send)

        def heard(changed: Changed) -> None:
            caller = self._callers.caller(ctx)
            own = self._calls.session(caller)
            keys = [(caller.session_id if scope else "", key) for scope, key in changed.keys if scope in ("", own)]
            listed = changed.listed and (bool(keys) or not changed.keys or changed.unknown)
            now = resources.changed(keys)
            uris = [given for given, uri in wanted.items() if changed.unknown or uri in now]  # as they were given
            with suppress(RuntimeError):  # the loop is closed, since the client is gone
                loop.call_soon_threadsafe(gathered.add, listed, uris)

        def where() -> Workspace | None:
            return self._calls.watched(self._callers.listener(ctx))

        end = self._calls.engine.changes.watch(where, heard, await _place(where))
        self._heard[whose] = heard

        def ended() -> None:
            self._heard.pop(whose, None)
            end()

        return ended


async def _place(where: CurrentWorkspace) -> str | None:
    """Return the id of the current workspace; None if there is none, or a slow or unreachable database did not tell.

    In the latter case the client is soon notified that its resources may have changed.
    """
    with suppress(MemorydError), move_on_after(PATIENCE):
        workspace = await to_thread.run_sync(where, abandon_on_cancel=True)
        return workspace.id if workspace else None
    return None


def _drop(wanted: Wanted, uri: str) -> None:
    for given in [given for given, one in wanted.items() if one == uri]:
        del wanted[given]


def _normal_form(uri: str) -> str:
    """Return the normal form of a URI; one that is not a resource stays as it is, and never gets a notice."""
    try:
        return resources.parse(uri).uri
    except MemorydError:
        return uri
