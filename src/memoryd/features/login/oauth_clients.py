"""OAuth clients that register themselves, and what is known of them when they ask for access."""

import hmac
import json
import re
import secrets
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from memoryd.core.access import access_log
from memoryd.core.access.hashes import hashed
from memoryd.core.engine import Engine
from memoryd.core.workspaces.registry import from_registry
from memoryd.hidden import shown
from memoryd.loopback import is_loopback
from memoryd.store.base import Queries, of_row
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

    def proves(self, secret: str) -> bool:
        """Return whether a secret is the client's; for a client without a secret, always true."""
        return self.method == "none" or hmac.compare_digest(hashed(secret), self.secret_hash)


class OAuthClients:
    """The registered clients. Only the hash of a client's secret is stored."""

    def __init__(self, engine: Engine) -> None:
        self.secrets = engine.secrets
        self._store = engine.store
        self._clock = engine.clock

    def get(self, client_id: str) -> OAuthClient | None:
        """Return a registered client, or None."""
        row = from_registry(self._store, lambda q: q.one("clients.by_id", id=client_id), None)
        if row is None:
            return None
        uris = tuple(json.loads(row["redirect_uris"]))
        return of_row(OAuthClient, row, redirect_uris=uris, secret_hash=row["secret"])

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
        row = {"id": made.id, "name": made.name, "secret": made.secret_hash, "method": method}

        def add(queries: Queries) -> None:
            uris = json.dumps(made.redirect_uris)
            queries.run("clients.add", **row, redirect_uris=uris, now=self._clock.now())
            if queries.changed("clients.make_room", most=MOST):
                queries.run("access_log.forget_clients")
            access_log.note(queries, self._clock, "client registered", client=made.name, detail=made.id)

        self._store.placement.create(None)
        self._store.write(None, add)
        return made, secret


def clients_of(engine: Engine) -> OAuthClients:
    """Return the clients that have registered themselves at an engine, made on first use."""
    return engine.part(OAuthClients)


def called(name: str) -> str:
    """Return the name of a client as it is stored and shown: one short line without invisible characters."""
    return storable(" ".join(shown(name).split())[:NAME_LENGTH]) or UNNAMED


# redirect URIs: which a client may register, and which of them a request refers to ------------------------------------

LENGTH = 2_000
EDITORS = frozenset(
    "antigravity cursor jetbrains kiro trae vscode vscode-insiders vscodium warp windsurf windsurf-next zed".split()
)
"""The schemes of applications that log in and whose scheme is no domain name. Any other could start a program that does
not expect it, or mount a share: `smb:` sends a person's password hash."""
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
"""The characters of RFC 3986 without `#`: none that a parser and a browser could read differently."""
_REVERSED_DOMAIN = re.compile(r"[a-z]{2,}(?:\.[a-z0-9-]+)+")
"""RFC 8252, 7.1: an application that has the domain example.com has the scheme `com.example` or `com.example.app`."""
_OF_SYSTEMS = ("ms.", "microsoft.", "windows.", "com.apple.", "com.microsoft.")
"""What schemes of systems begin with, such as `ms.search:`, though `ms` is a domain as well."""


def acceptable(uri: str) -> bool:
    """Return whether a client may use a redirect URI: https, this machine, or the scheme of an application."""
    parts = _parts(uri)
    if parts is None or "@" in parts.netloc:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return is_loopback(parts.hostname or "")
    if parts.scheme in EDITORS:
        return bool(parts.netloc)
    return bool(_REVERSED_DOMAIN.fullmatch(parts.scheme)) and not parts.scheme.startswith(_OF_SYSTEMS)


def matching(registered: Iterable[str], given: str) -> bool:
    """Return whether an address is registered: an equal one, or one on any port of the same loopback host."""
    return acceptable(given) and any(one == given or _same_but_port(one, given) for one in registered)


def host_of(uri: str) -> str:
    """Return the target of a redirect for people to read: the host, or the scheme of an application."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return parts.netloc
    return f"{parts.scheme}: (an application on your machine)"


def is_this_machine(uri: str) -> bool:
    """Return whether a redirect goes to a server on the machine of the browser, and not to an application."""
    parts = urlsplit(uri)
    return parts.scheme in ("http", "https") and is_loopback(parts.hostname or "")


def is_local(uri: str) -> bool:
    """Return whether a redirect stays on the machine of the browser."""
    parts = urlsplit(uri)
    return parts.scheme != "https" or is_loopback(parts.hostname or "")


def _same_but_port(registered: str, given: str) -> bool:
    """Compare loopback redirects without ports, since applications use any free port (RFC 8252, 7.3)."""
    one, other = _parts(registered), _parts(given)
    if one is None or other is None or not one.scheme == other.scheme == "http":
        return False
    ends = {(parts.hostname, parts.path or "/", parts.query) for parts in (one, other)}
    return is_loopback(one.hostname or "") and len(ends) == 1


def _parts(uri: str) -> SplitResult | None:
    if len(uri) > LENGTH or not _URI.fullmatch(uri):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts
