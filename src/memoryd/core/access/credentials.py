"""Credentials for access over HTTP, tokens and logins alike, and what they allow."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from memoryd.core.access.tokens import Grant, Tokens
from memoryd.core.base.clock import FOREVER, Clock, moment
from memoryd.errors import NotFoundError
from memoryd.store.base import Queries, Store


class AdmittedClient(Protocol):
    """A client that a person has admitted."""

    @property
    def id(self) -> str: ...
    @property
    def person(self) -> str: ...
    @property
    def client_name(self) -> str: ...
    @property
    def grant(self) -> Grant: ...
    @property
    def used_at(self) -> str: ...


class Admissions(Protocol):
    """The clients that people have admitted, if a slice lets people log in."""

    def check(self, presented: str) -> AdmittedClient | None:
        """Return the client of a credential, or None if the credential is unknown, revoked or expired.

        Its grant ends with the credential, even if the client may get another one.
        """

    def holds(self, queries: Queries, credential: str) -> bool:
        """Return whether a credential with this id exists."""

    def all(self) -> Sequence[AdmittedClient]:
        """Return all of them, the oldest first."""

    def revoke(self, which: str) -> Sequence[AdmittedClient]:
        """End the one with an id, or those of a name; return them. Raise NotFoundError."""


class Credentials:
    """The credentials of a registry."""

    def __init__(self, store: Store, clock: Clock, tokens: Tokens, admissions: Callable[[], Admissions | None]) -> None:
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self._admissions = admissions

    def check(self, presented: str) -> Grant | None:
        """Return what a credential allows, or None if it is unknown, revoked or expired."""
        admissions = self._admissions()
        known = (admissions.check(presented) if admissions else None) or self._tokens.check(presented)
        return known.grant if known else None

    def admits(self, grant: Grant) -> bool:
        """Return whether a grant is still valid; without a token, whether such requests are still allowed."""
        if not grant.principal:
            return not self._tokens.any()
        if not grant.credential:
            return grant.expires_at > self._clock.now()
        admissions = self._admissions()

        def known(queries: Queries) -> bool:
            is_token = queries.one("tokens.by_id", id=grant.credential) is not None
            return is_token or (admissions is not None and admissions.holds(queries, grant.credential))

        return grant.expires_at > self._clock.now() and self._store.read(None, known)

    def seconds_left(self, grant: Grant) -> float:
        """Return the seconds until a grant expires; infinity if it does not."""
        if grant.expires_at == FOREVER:
            return math.inf
        return (moment(grant.expires_at) - moment(self._clock.now())).total_seconds()

    def admitted(self) -> Sequence[AdmittedClient]:
        """Return the clients that people have admitted, the oldest first."""
        admissions = self._admissions()
        return admissions.all() if admissions else []

    def revoke(self, which: str) -> Sequence[AdmittedClient]:
        """End the admission with an id, or those of a name; return them. Raise NotFoundError."""
        admissions = self._admissions()
        if admissions is None:
            raise NotFoundError("People cannot log in here, so no client was admitted.")
        return admissions.revoke(which)
