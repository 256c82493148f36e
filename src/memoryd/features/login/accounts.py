"""People who log in with a password, and what they may grant to a client."""

import base64
import hashlib
import hmac
import secrets
import unicodedata
from dataclasses import dataclass

from memoryd.core.access import access_log
from memoryd.core.access.hashes import derived
from memoryd.core.access.tokens import NAME_LENGTH, Level, is_name
from memoryd.core.base.clock import FOREVER
from memoryd.core.engine import Engine
from memoryd.core.workspaces.registry import from_registry
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.store.base import Queries, Row, of_row

SHORTEST, LONGEST = 10, 1_000  # characters of a password
COST = (15, 8, 3)  # scrypt's log2(N), r and p, as OWASP recommends for 32 MB; about 0.3 s
MEMORY = 64 * 1024 * 1024  # bytes that scrypt may use


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An authenticated person, and the most that they may grant."""

    subject: str
    """The owner of sessions: the same for all clients and tokens of the person."""
    name: str
    level: Level
    workspace: str = ""
    """The id of the only allowed workspace; '' for all."""
    until: str = FOREVER
    """The latest time at which they have to log in again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A person who logs in with a password; the password itself is not part of it."""

    name: str
    level: Level
    workspace: str
    created_at: str


class Accounts:
    """The accounts of a registry. Only a scrypt hash of each password is stored."""

    def __init__(self, engine: Engine) -> None:
        self.secrets = engine.secrets
        self._store = engine.store
        self._workspaces = engine.workspaces
        self._clock = engine.clock

    def all(self) -> list[Account]:
        """Return all accounts, sorted by name."""
        rows = from_registry(self._store, lambda q: q.all("accounts.all"), ())
        return [of_row(Account, row) for row in rows]

    def set(self, name: str, password: str, level: Level | None = None, workspace: str | None = None) -> bool:
        """Set the password of a person; return whether they had one before, in which case their logins end.

        A level or workspace of None stays unchanged; a new person gets `admin` and every workspace.

        Raise InvalidInputError, or NotFoundError for the workspace.
        """
        if not is_name(name) or self.secrets.clean(name).found:
            raise InvalidInputError(f"{name[:50]!r} is not a valid name: use 1 to {NAME_LENGTH} characters.")
        if not SHORTEST <= len(password) <= LONGEST:
            raise InvalidInputError(f"A password has {SHORTEST} to {LONGEST:,} characters. Choose a long one.")
        bound = self._workspaces.active(workspace).id if workspace else workspace
        salt = secrets.token_bytes(16)
        hashed = _stored(salt, _scrypt(password, salt, COST))

        def write(queries: Queries) -> bool:
            known = queries.one("accounts.by_name", name=name)
            before = known or {"level": "admin", "workspace": ""}
            rights = {"level": level or before["level"], "project": before["workspace"] if bound is None else bound}
            queries.run("accounts.set", name=name, hash=hashed, **rights, now=self._clock.now())
            if known:
                end_logins(queries, subject_of(name))
            access_log.note(queries, self._clock, "account set", name)
            return known is not None

        self._store.placement.create(None)
        return self._store.write(None, write)

    def remove(self, name: str) -> None:
        """Remove a person and end their logins. Raise NotFoundError."""

        def write(queries: Queries) -> bool:
            if not queries.changed("accounts.remove", name=name):
                return False
            end_logins(queries, subject_of(name))
            access_log.note(queries, self._clock, "account removed", name)
            return True

        if not (self._store.placement.exists() and self._store.write(None, write)):
            there = ", ".join(account.name for account in self.all()) or "no one"
            raise NotFoundError(f"{name[:NAME_LENGTH]!r} has no password. There is: {there}.")

    def check(self, name: str, password: str) -> Person | None:
        """Return the person if the password is theirs, else None; an unknown name takes the same time."""
        known = self._known(name)
        same = _is(password[: LONGEST + 1], known["hash"] if known else _stored(bytes(16), bytes(64)))  # no one's
        return of_row(Person, known, subject=subject_of(name)) if known and same else None

    def mark(self, name: str) -> str:
        """Return what a browser keeps that has logged in as a person, until the password changes; '' for no person."""
        known = self._known(name)
        return derived(known["hash"], "browser") if known else ""

    def _known(self, name: str) -> Row | None:
        return from_registry(self._store, lambda q: q.one("accounts.by_name", name=name), None)


def accounts_of(engine: Engine) -> Accounts:
    """Return the people of an engine who log in with a password, made on first use."""
    return engine.part(Accounts)


def subject_of(name: str, issuer: str = "") -> str:
    """Return the subject of a person with a password, or of an issuer's person: no token has it as its id.

    None of its characters separates anything.
    """
    text = f"{len(issuer)} {issuer} {name}".encode("utf-8", "surrogatepass")
    return f"person-{hashlib.sha256(text).hexdigest()[:32]}"


def end_logins(queries: Queries, subject: str) -> None:
    """End every login of a subject, including pending ones."""
    queries.run("login_tokens.remove_of_subject", subject=subject)
    queries.run("logins.remove_of_subject", subject=subject)
    queries.run("authorizations.remove_of", subject=subject)


def _stored(salt: bytes, made: bytes) -> str:
    return ":".join(("scrypt", *map(str, COST), *(base64.b64encode(part).decode() for part in (salt, made))))


def _is(password: str, hashed: str) -> bool:
    _, n, r, p, salt, known = hashed.split(":")
    made = _scrypt(password, base64.b64decode(salt), (int(n), int(r), int(p)))
    return hmac.compare_digest(made, base64.b64decode(known))


def _scrypt(password: str, salt: bytes, cost: tuple[int, int, int]) -> bytes:
    text = unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")  # keyboards differ in accents
    return hashlib.scrypt(text, salt=salt, n=1 << cost[0], r=cost[1], p=cost[2], maxmem=MEMORY)
