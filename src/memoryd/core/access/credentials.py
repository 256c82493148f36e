"""Credentials for access over HTTP, tokens and logins alike, and what they allow."""

from memoryd.core.access.logins import Logins
from memoryd.core.access.tokens import Grant, Tokens
from memoryd.core.base.clock import Clock
from memoryd.store.base import Queries, Store


class Credentials:
    """The credentials of a registry."""

    def __init__(self, store: Store, clock: Clock, tokens: Tokens, logins: Logins) -> None:
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self._logins = logins

    def check(self, presented: str) -> Grant | None:
        """Return what a credential allows, or None if it is unknown, revoked or expired."""
        known = self._logins.check(presented) or self._tokens.check(presented)
        return known.grant if known else None

    def admits(self, grant: Grant) -> bool:
        """Return whether a grant is still valid; without a token, whether such requests are still allowed."""
        if not grant.principal:
            return not self._tokens.any()
        if not grant.credential:
            return grant.expires_at > self._clock.now()

        def known(queries: Queries) -> bool:
            which = grant.credential
            return (queries.one("tokens.by_id", id=which) or queries.one("logins.by_id", id=which)) is not None

        return grant.expires_at > self._clock.now() and self._store.read(None, known)
