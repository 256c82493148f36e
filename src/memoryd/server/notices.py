"""Notices of changed resources, to each `subscriptions/listen` and each legacy connection."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from memoryd.core.changes import Changed
from memoryd.errors import InvalidParamsError
from memoryd.server.calls import Calls
from memoryd.server.connection import Sessions, connection_of, on_close
from memoryd.toolsets import resources

MOST = 1_000  # subscriptions of a connection


class Notices:
    """Watches for each client what it may see, and tells it."""

    def __init__(self, calls: Calls, sessions: Sessions) -> None:
        self._calls = calls
        self._sessions = sessions
        self._wanted: dict[Any, dict[str, str]] = {}
        """The subscriptions of each legacy connection: the URI as it was given, by the one way to write it."""

    # legacy connections ----------------------------------------------------------------------------------------------

    def connected(self, ctx: Any) -> None:
        """A connection that lasts: from now on it hears of changes."""
        connection, session = connection_of(ctx), ctx.session
        wanted = self._wanted[connection] = {}

        async def send(listed: bool, uris: list[str]) -> None:
            if listed:
                await session.send_resource_list_changed()
            for uri in uris:
                if uri in wanted:
                    await session.send_resource_updated(wanted[uri])

        end = self._watch(ctx, send)

        async def ended() -> None:
            self._wanted.pop(connection, None)
            end()

        on_close(ctx, ended)

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

    # subscriptions/listen --------------------------------------------------------------------------------------------

    async def listen(self, ctx: Any, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        """subscriptions/listen."""
        bus = InMemorySubscriptionBus()

        async def send(listed: bool, uris: list[str]) -> None:
            if listed:
                await bus.publish(ResourcesListChanged())
            for uri in uris:
                await bus.publish(ResourceUpdated(uri=uri))

        end = self._watch(ctx, send)
        try:
            return await ListenHandler(bus)(ctx, params)
        finally:
            end()

    def _watch(self, ctx: Any, send: Callable[[bool, list[str]], Awaitable[None]]) -> Callable[[], None]:
        """Send what changes where the sender of this request is at the time; of sessions, only of his own."""
        loop, caller = asyncio.get_running_loop(), self._sessions.caller(ctx)

        async def sent(listed: bool, uris: list[str]) -> None:
            await send(listed, uris)

        def heard(changed: Changed) -> None:
            session = self._calls.call(caller, "nothing").session
            seen = [(caller.session_id if scope else "", key) for scope, key in changed.keys if scope in ("", session)]
            sending = sent(changed.listed, resources.changed(seen))
            try:
                asyncio.run_coroutine_threadsafe(sending, loop)
            except RuntimeError:  # the loop is closed: nobody is there to be told
                sending.close()

        return self._calls.engine.changes.watch(lambda: self._calls.watched(caller), heard)
