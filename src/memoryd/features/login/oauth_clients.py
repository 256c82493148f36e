"""OAuth clients that register themselves, and what is known of them when they ask for access."""

import hmac
import json
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.core.access import access_log
from memoryd.core.access.hashes import hashed
from memoryd.core.base.clock import Clock
from memoryd.core.security.secrets import Secrets
from memoryd.features.login.redirects import matching
from memoryd.hidden import shown
from memoryd.store.base import Queries, Store
from memoryd.text import storable

MOST = 2_000  # maximum registered clients that were never admitted
NAME_LENGTH = 100
UNNAMED = "an unnamed client"


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """A client, as it describes itself; nothing of this is verified."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    method: str = "none"
    """How the client authenticates at the token endpoint."""
    secret_hash: str = ""

    def redirects_to(self, uri: str) -> bool:
        """Return whether people may be redirected to an address for this client."""
        return matching(self.redirect_uris, uri)

    def proves(self, secret: str) -> bool:
        """Return whether a secret is the client's; for a client without a secret, always true."""
        return self.method == "none" or hmac.compare_digest(hashed(secret), self.secret_hash)


class OAuthClients:
    """The registered clients. Only the hash of a client's secret is stored."""

    def __init__(self, store: Store, clock: Clock, masking: Secrets) -> None:
        self.secrets = masking
        self._store = store
        self._clock = clock

    def get(self, client_id: str) -> OAuthClient | None:
        """Return a registered client, or None."""
        if not self._store.placement.exists():
            return None
        row = self._store.read(None, lambda q: q.one("clients.by_id", id=client_id))
        return (
            OAuthClient(
                id=row["id"],
                name=row["name"],
                redirect_uris=tuple(json.loads(row["redirect_uris"])),
                method=row["method"],
                secret_hash=row["secret"],
            )
            if row
            else None
        )

    def register(self, name: str, redirect_uris: Sequence[str], method: str) -> tuple[OAuthClient, str]:
        """Register a client; return it and its secret, which cannot be shown again ('' for the method `none`).

        Beyond MOST, the oldest clients that were never admitted are deleted, so that they cannot block new ones.
        """
        secret = "" if method == "none" else secrets.token_urlsafe(32)
        made = OAuthClient(
            id=str(uuid.uuid4()),
            name=called(self.secrets.masked(name)),
            redirect_uris=tuple(redirect_uris),
            method=method,
            secret_hash=hashed(secret) if secret else "",
        )
        row = {
            "id": made.id,
            "name": made.name,
            "secret": made.secret_hash,
            "method": method,
            "redirect_uris": json.dumps(made.redirect_uris),
        }

        def add(queries: Queries) -> None:
            queries.run("clients.add", **row, now=self._clock.now())
            if queries.changed("clients.make_room", most=MOST):
                queries.run("access_log.forget_clients")
            access_log.note(queries, self._clock, "client registered", client=made.name, detail=made.id)

        self._store.placement.create(None)
        self._store.write(None, add)
        return made, secret


def called(name: str) -> str:
    """Return the name of a client as it is stored and shown: one short line without invisible characters."""
    return storable(" ".join(shown(name).split())[:NAME_LENGTH]) or UNNAMED
