"""Logins: clients that a person has admitted, and their tokens. Only hashes of codes and tokens are stored.

An authorization request is a row, so that any process can continue it; it then holds a code, and the code becomes a
login with tokens.
"""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta

from memoryd.core.access import access_log
from memoryd.core.access.hashes import derived, hashed, pkce_challenge
from memoryd.core.access.tokens import LEVELS, PREFIX, Grant, Level
from memoryd.core.base.background import Chore
from memoryd.core.engine import Engine
from memoryd.core.workspaces.registry import from_registry
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.features.login.accounts import Person
from memoryd.store.base import Queries, Row, of_row

REQUEST_TIME = timedelta(minutes=10)  # for a person to log in and consent
MOST = 5_000  # maximum requests for which no one has logged in yet
CODE_TIME = timedelta(seconds=60)
ACCESS_TIME = timedelta(hours=1)
REFRESH_TIME = timedelta(days=90)  # since the last use
GRACE = timedelta(seconds=120)  # for which a used refresh token still works: clients send requests in parallel
REMEMBERED = timedelta(days=1)  # after which ended requests, and clients that were never admitted, are deleted
UNUSED = timedelta(days=365)  # after which an unused client that was admitted once is deleted
ACCESS, REFRESH = f"{PREFIX}_access_", f"{PREFIX}_refresh_"
"""The prefixes of tokens, by which secret scanners recognize them."""


class LetInError(NotFoundError):
    """You have already admitted this client. Continue there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The authorization request of a client."""

    client: str
    client_name: str
    redirect_uri: str
    challenge: str
    """PKCE's, S256."""
    state: str = ""
    level: Level = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """A pending request of a client, on which a person decides."""

    id: str
    asked: Asked
    person: Person | None
    """The person who has logged in."""
    login: str
    """The login for which a code was issued; '' if there is none yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """The tokens issued to a client."""

    access: str
    refresh: str
    level: Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A client that a person has admitted."""

    id: str
    person: str
    client: str
    client_name: str
    grant: Grant
    created_at: str
    used_at: str
    """When the client last fetched tokens."""
    expires_at: str


class Logins:
    """The logins of a registry."""

    def __init__(self, engine: Engine) -> None:
        self._store = engine.store
        self._clock = engine.clock

    # a person decides ------------------------------------------------------------------------------------------------

    def begin(self, asked: Asked) -> str:
        """Store a request for REQUEST_TIME, and return its key.

        Anyone may make requests, so the oldest of those for which no one has logged in are deleted beyond MOST.
        """
        key = secrets.token_urlsafe(32)
        until = self._clock.ago(-REQUEST_TIME)

        def add(queries: Queries) -> None:
            queries.run("authorizations.add", id=hashed(key), **asdict(asked), until=until)
            queries.run("authorizations.make_room", most=MOST)

        self._store.placement.create(None)
        self._store.write(None, add)
        return key

    def pending(self, key: str) -> Authorization:
        """Return a request that waits for a decision. Raise NotFoundError."""
        row = from_registry(self._store, lambda q: self._waiting(q, key), None)
        if not row:
            raise _over()
        return _authorization(row)

    def _waiting(self, queries: Queries, key: str, code: str = "", *, denied: bool = False) -> Row | None:
        """Return a request without a code, or with this unused `code`, or with `denied` also one that was denied."""
        row = queries.one("authorizations.by_id", id=hashed(key), code=code and hashed(code), now=self._clock.now())
        return row if row and (denied or not row["used_at"]) else None

    def identify(self, key: str, browser: str, person: Person) -> None:
        """Note the person and browser deciding on a request; raise NotFoundError if it is over or someone else's."""
        row = {
            "id": hashed(key),
            "browser": hashed(browser),
            "subject": person.subject,
            "person": person.name,
            "level": person.level,
            "project": person.workspace,
            "until": person.until,
        }

        def write(queries: Queries) -> bool:
            done = queries.changed("authorizations.identify", **row, now=self._clock.now())
            if done:
                access_log.note(queries, self._clock, "logged in", person.name)
            return bool(done)

        if not self._store.write(None, write):
            raise _over()

    def refuse(self, name: str, sender: str) -> None:
        """Log a wrong password; only the newest of these entries are kept."""

        def write(queries: Queries) -> None:
            access_log.note(queries, self._clock, "login refused", name, detail=sender)
            queries.run("access_log.forget_refused", most=access_log.REFUSED)

        self._store.write(None, write)

    def decided(self, key: str, browser: str) -> Authorization:
        """Return the request decided on in this browser, until its code is used. Raise NotFoundError."""
        return self._store.read(None, lambda q: self._decided(q, key, browser))

    def consent(self, key: str, browser: str, level: Level, workspace: str) -> tuple[str, Asked]:
        """Admit the client with a level, to a workspace (its id; '' for all); return the code for the client.

        A double click or a browser that retries sends the form twice: until the code is used it is returned again, and
        the first choice counts. Raise NotFoundError if the request is over, InvalidInputError for more than the person
        may grant.
        """
        code, login = _code(key, browser), secrets.token_hex(6)

        def write(queries: Queries) -> Asked:
            found = self._decided(queries, key, browser)
            person, asked = found.person, found.asked
            assert person is not None, "a browser is stored together with its person"
            if LEVELS.index(level) > LEVELS.index(person.level) or person.workspace not in ("", workspace):
                raise InvalidInputError("This is more than you may grant.")
            now = self._clock.now()
            granted = {"id": found.id, "code": hashed(code), "login": login, "until": self._clock.ago(-CODE_TIME)}
            if not queries.changed("authorizations.grant", **granted, now=now):
                return asked
            queries.run(
                "logins.add",
                id=login,
                subject=person.subject,
                person=person.name,
                client=asked.client,
                client_name=asked.client_name,
                level=level,
                project=workspace,
                now=now,
                until=person.until,
            )
            queries.run("clients.use", id=asked.client, now=now)
            access_log.note(queries, self._clock, "consent given", person.name, asked.client_name, f"{level} {login}")
            return asked

        return code, self._store.write(None, write)

    def deny(self, key: str, browser: str) -> Asked:
        """Deny a request; a request that was already denied, as by a double click, is no error.

        Raise NotFoundError if it is over.
        """

        def write(queries: Queries) -> Asked:
            found = self._decided(queries, key, browser, denied=True)
            if queries.changed("authorizations.deny", id=found.id, now=self._clock.now()):
                self._end(queries, found.login, "login revoked")
                name = found.person.name if found.person else ""
                access_log.note(queries, self._clock, "consent denied", name, found.asked.client_name)
            return found.asked

        return self._store.write(None, write)

    def _decided(self, queries: Queries, key: str, browser: str, *, denied: bool = False) -> Authorization:
        code = _code(key, browser)
        done = queries.one("authorizations.by_code", code=hashed(code))
        if done and done["used_at"]:
            raise LetInError
        row = self._waiting(queries, key, code, denied=denied)
        if row is None or not row["browser"] or not hmac.compare_digest(row["browser"], hashed(browser)):
            raise _over()
        return _authorization(row)

    # a client fetches tokens -----------------------------------------------------------------------------------------

    def exchange(self, client: str, code: str, verifier: str, redirect_uri: str | None) -> Issued:
        """Return the tokens for a code. Raise InvalidInputError; a code that was used before ends its login."""

        def write(queries: Queries) -> Issued | None:
            row = queries.one("authorizations.by_code", code=hashed(code))
            if row is None or row["client"] != client:
                return None
            if not queries.changed("authorizations.use", code=hashed(code), now=self._clock.now()):
                self._end(queries, row["login"], "code replayed")
                return None
            right = hmac.compare_digest(pkce_challenge(verifier), row["challenge"])
            if not right or row["expires_at"] <= self._clock.now() or redirect_uri not in (None, row["redirect_uri"]):
                self._end(queries, row["login"], "code refused")
                return None
            return self._issue(queries, row["login"])

        return self._tokens(write, "The code is unknown, used or expired, or the verifier does not match it.")

    def refresh(self, client: str, token: str) -> Issued:
        """Return new tokens for a refresh token. Raise InvalidInputError; use after GRACE ends the login.

        Within GRACE every use returns the same refresh token: a thief who takes part gets no chain of their own.
        """
        secret = token.removeprefix(REFRESH)
        known, salt = hashed(secret), secrets.token_hex(16)

        def write(queries: Queries) -> Issued | None:
            now, grace = self._clock.now(), self._clock.ago(GRACE)
            done = queries.changed("login_tokens.rotate", hash=known, client=client, now=now, grace=grace, salt=salt)
            row = queries.one("login_tokens.by_hash", hash=known, client=client)
            if row and done:
                return self._issue(queries, row["login"], derived(secret, row["salt"]))
            if row and row["kind"] == "refresh" and row["rotated_at"]:
                self._end(queries, row["login"], "refresh token reused")
            return None

        return self._tokens(write, "The refresh token is unknown, used, revoked or expired.")

    def _tokens(self, write: Callable[[Queries], Issued | None], wrong: str) -> Issued:
        issued = self._store.write(None, write) if self._store.placement.exists() else None
        if issued is None:
            raise InvalidInputError(wrong)
        return issued

    def _issue(self, queries: Queries, login: str, refresh: str = "") -> Issued | None:
        row = queries.one("logins.by_id", id=login)
        if row is None:
            return None
        access, refresh = secrets.token_urlsafe(32), refresh or secrets.token_urlsafe(32)
        until = {"access": self._clock.ago(-ACCESS_TIME), "refresh": self._clock.ago(-REFRESH_TIME)}
        for kind, token in (("access", access), ("refresh", refresh)):
            queries.run("login_tokens.add", hash=hashed(token), login=login, kind=kind, until=until[kind])
        queries.run("logins.use", id=login, now=self._clock.now())
        return Issued(access=ACCESS + access, refresh=REFRESH + refresh, level=row["level"])

    def check(self, presented: str) -> Login | None:
        """Return the login of an access token, until the token's end; None if it is unknown, revoked or expired."""
        if not presented.startswith(ACCESS):
            return None
        known, now = hashed(presented.removeprefix(ACCESS)), self._clock.now()
        row = from_registry(self._store, lambda q: q.one("logins.by_token", hash=known, now=now), None)
        return _login(row) if row else None

    def admitted(self, client: str) -> bool:
        """Return whether a person has admitted a client, and the login has not ended."""
        return from_registry(self._store, lambda q: q.one("logins.of_client", client=client), None) is not None

    def holds(self, queries: Queries, credential: str) -> bool:
        """Return whether a login with this id exists."""
        return queries.one("logins.by_id", id=credential) is not None

    # list and revoke -------------------------------------------------------------------------------------------------

    def all(self) -> list[Login]:
        """Return all logins, the oldest first."""
        return [_login(row) for row in from_registry(self._store, lambda q: q.all("logins.all"), ())]

    def revoke_token(self, client: str, presented: str) -> None:
        """End the login of one of a client's tokens; an unknown token is no error (RFC 7009, 2.2)."""
        known = hashed(presented.removeprefix(ACCESS).removeprefix(REFRESH))

        def write(queries: Queries) -> None:
            if row := queries.one("login_tokens.by_hash", hash=known, client=client):
                self._end(queries, row["login"], "login revoked")

        if self._store.placement.exists():
            self._store.write(None, write)

    def revoke(self, which: str) -> list[Login]:
        """End the login with an id, or all those of a person or client by name; return them. Raise NotFoundError."""
        every = self.all()
        ended = [one for one in every if one.id == which]  # a client could have this id as its name
        ended = ended or [one for one in every if which in (one.person, one.client_name)]
        if not ended:
            raise NotFoundError(f"There is no login {which[:100]!r}. `memoryd access list` shows all.")

        def write(queries: Queries) -> None:
            for one in ended:
                self._end(queries, one.id, "login revoked")

        self._store.write(None, write)
        return ended

    def _end(self, queries: Queries, login: str, act: access_log.AccessAct) -> None:
        row = queries.one("logins.by_id", id=login)
        if row is None:
            return
        queries.run("login_tokens.remove_of", login=login)
        queries.run("logins.remove", id=login)
        access_log.note(queries, self._clock, act, row["person"], row["client_name"], login)

    def tidy(self, stopping: Callable[[], bool]) -> None:
        """Delete what has ended, and the oldest entries of the access log."""
        now, before, last = self._clock.now(), self._clock.ago(REMEMBERED), self._clock.ago(UNUSED)

        def write(queries: Queries) -> None:
            queries.run("authorizations.tidy", now=now, before=before)
            queries.run("login_tokens.tidy", now=now)
            queries.run("logins.tidy", now=now, before=before)
            queries.run("clients.tidy", before=before, last=last)
            queries.run("access_log.forget_clients")
            queries.run("access_log.tidy", before=self._clock.ago(access_log.KEPT))

        def ended(queries: Queries) -> bool:
            return queries.one("logins.ended", now=now, before=before) is not None

        if not stopping() and from_registry(self._store, ended, otherwise=False):
            self._store.write(None, write)


def logins_of(engine: Engine) -> Logins:
    """Return the logins of an engine, made on first use."""
    return engine.part(Logins)


def chores(engine: Engine) -> list[Chore]:
    """Return what a server does for logins now and then."""
    return [logins_of(engine).tidy]


def _code(key: str, browser: str) -> str:
    """Return the code of a request, derived from the key that only its browser has."""
    return derived(browser, f"code {key}")


def _over() -> NotFoundError:
    return NotFoundError("This login is over, or was started in another browser. Start again in your client.")


def _authorization(row: Row) -> Authorization:
    person = of_row(Person, row, name=row["person"]) if row["subject"] else None
    return of_row(Authorization, row, asked=of_row(Asked, row, level=row["asked"]), person=person)


def _login(row: Row) -> Login:
    return of_row(Login, row, grant=of_row(Grant, row, principal=row["subject"], credential=row["id"]))
