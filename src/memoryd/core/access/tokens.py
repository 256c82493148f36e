"""Tokens for access over HTTP and what they allow. Only the hash of a token is stored."""

import hmac
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from memoryd.core.access import access_log
from memoryd.core.access.hashes import hashed
from memoryd.core.base.clock import FOREVER, Clock
from memoryd.core.security.secrets import Secrets, cleaned
from memoryd.core.workspaces.registry import Workspaces, from_registry
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.store.base import Queries, Row, Store

PREFIX = "memoryd"
NAME_LENGTH = 100
LONGEST = 36_500  # maximum days that a token is valid: a hundred years
SECRET_BYTES = 32  # random, so that a plain SHA-256 is a sufficient hash

Level = Literal["read", "write", "admin"]
LEVELS: tuple[Level, ...] = ("read", "write", "admin")
"""In ascending order: each level includes those before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The rights of a caller: the tools up to a level, or named tools, in one workspace or in all."""

    principal: str = ""
    """The owner of the caller's sessions; '' if the process has one user."""
    credential: str = ""
    """The id of the token or login that gave it; '' if nothing can revoke it."""
    expires_at: str = FOREVER
    level: Level = "admin"
    tools: frozenset[str] = frozenset()
    """The allowed tools; if empty, the level decides."""
    workspace: str = ""
    """The id of the only allowed workspace; '' for all."""

    @property
    def is_persons(self) -> bool:
        """Whether it comes from a person's login rather than a token, so that the client can ask for more."""
        return self.principal != self.credential

    def allows(self, tool: str, capability: Level) -> bool:
        """Return whether a tool with this capability may be called."""
        return tool in self.tools if self.tools else LEVELS.index(capability) <= LEVELS.index(self.level)

    def sees(self, workspace_id: str) -> bool:
        """Return whether a workspace may be used."""
        return self.workspace in ("", workspace_id)


EVERYTHING = Grant()


def session_of(principal: str, session: str) -> str:
    """Return the session of a name; the same name means different sessions for different principals."""
    return f"{principal}/{session}" if principal else session


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret."""

    id: str
    name: str
    grant: Grant
    created_at: str
    expires_at: str


class Tokens:
    """The tokens of a registry."""

    def __init__(self, store: Store, workspaces: Workspaces, clock: Clock, masking: Secrets) -> None:
        self.secrets = masking
        self._store = store
        self._workspaces = workspaces
        self._clock = clock

    @cleaned
    def create(
        self, name: str, level: Level = "write", tools: Sequence[str] = (), workspace: str = "", days: float = 0
    ) -> str:
        """Create a token, valid for `days` (0: forever), and return it; it cannot be shown again.

        Raise InvalidInputError, or NotFoundError for the workspace.
        """
        if not is_name(name):
            raise InvalidInputError(f"{name[:50]!r} is not a valid token name: use 1 to {NAME_LENGTH} characters.")
        if not 0 <= days <= LONGEST:
            raise InvalidInputError(f"A token can be valid for at most {LONGEST:,} days, or forever (0).")
        bound = self._workspaces.active(workspace).id if workspace else ""
        token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(SECRET_BYTES)
        row = {
            "id": token_id,
            "name": name,
            "hash": hashed(secret),
            "level": level,
            "project": bound,
            "tools": json.dumps(sorted(set(tools))),
            "now": self._clock.now(),
            "until": self._clock.ago(-timedelta(days=days)) if days else FOREVER,
        }

        def add(queries: Queries) -> None:
            if not queries.changed("tokens.add", **row):
                raise InvalidInputError(f"Token {name!r} already exists. Choose another name, or revoke it first.")
            access_log.note(queries, self._clock, "token created", name, detail=level)

        self._store.placement.create(None)
        self._store.write(None, add)
        return f"{PREFIX}_{token_id}_{secret}"

    def all(self) -> list[Token]:
        """Return all tokens, the oldest first."""
        return [_token(row) for row in from_registry(self._store, lambda q: q.all("tokens.all"), ())]

    def any(self) -> bool:
        """Return whether a token exists: if so, every request needs one."""
        return from_registry(self._store, lambda q: q.one("tokens.some"), None) is not None

    def revoke(self, name: str) -> Token:
        """Revoke a token by its name or id, and return it. Raise NotFoundError."""
        found = next((token for token in self.all() if name in (token.name, token.id)), None)
        if found is None:
            there = ", ".join(token.name for token in self.all()) or "none"
            raise NotFoundError(f"There is no token {name[:NAME_LENGTH]!r}. There are: {there}.")

        def remove(queries: Queries) -> None:
            queries.run("tokens.remove", id=found.id)
            access_log.note(queries, self._clock, "token revoked", found.name)

        self._store.write(None, remove)
        return found

    def check(self, presented: str) -> Token | None:
        """Return the token that was presented, or None if it is unknown or expired."""
        begins, token_id, secret = [*presented.split("_", 2), "", ""][:3]
        known = from_registry(self._store, lambda q: q.one("tokens.by_id", id=token_id), None)
        row = known or {"hash": hashed(""), "expires_at": ""}  # an unknown id takes the same time
        same = hmac.compare_digest(hashed(secret), row["hash"])
        valid = same and begins == PREFIX and bool(known) and row["expires_at"] > self._clock.now()
        return _token(row) if valid else None


def is_name(text: str) -> bool:
    """Return whether a token or a person may have this name."""
    return bool(text.strip()) and text.isprintable() and len(text) <= NAME_LENGTH


def _token(row: Row) -> Token:
    tools = frozenset(json.loads(row["tools"]))
    grant = Grant(
        principal=row["id"],
        credential=row["id"],
        level=row["level"],
        tools=tools,
        workspace=row["workspace"],
        expires_at=row["expires_at"],
    )
    return Token(
        id=row["id"], name=row["name"], grant=grant, created_at=row["created_at"], expires_at=row["expires_at"]
    )
