"""People of an identity provider: they log in there (OpenID Connect), or bring a token that it signed."""

import hmac
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, Literal
from urllib.parse import quote_plus, urlencode

import httpx2
import jwt

from memoryd.core.access.hashes import derived, pkce_challenge
from memoryd.core.access.tokens import LEVELS, NAME_LENGTH, Grant, Level
from memoryd.core.base.clock import timestamp
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, NotFoundError, ProviderAwayError
from memoryd.features.login.accounts import Person, subject_of
from memoryd.features.login.metadata import CALLBACK, resource_of
from memoryd.proxies import reaching
from memoryd.settings import Settings
from memoryd.text import storable

log = logging.getLogger(__name__)

STAYS = timedelta(days=30)  # until a person has to log in at the provider again, since they may have left the team
SCOPE = "openid email profile"
SCOPES = ("scope", "scp")
"""The claims with the scopes of a token: of RFC 9068, and of Okta and Entra; a text or a list."""
OF_PEOPLE = frozenset({"openid", "profile", "email", "address", "phone", "offline_access"})
"""The scopes of OpenID Connect, which are about the person and not about what a client may do."""
EXAMPLE = "mail:ann@example.org=admin; group:engineers=write@team; mail:*@example.org=read@team"
MAIL = frozenset({"email", "email_verified"})  # claims

# the provider: its description, its keys, and the tokens that it signed (JWT) ----------------------------------------

ALGORITHMS = ("RS256", "ES256")
TYPES = ("jwt", "at+jwt", "application/at+jwt")
SECONDS = 10.0  # that a provider may take to answer
FRESH = 600.0  # seconds before keys and the provider's description are fetched again
COOL = 30.0  # seconds between fetches for an unknown key, or after a failure
LEEWAY = 30  # seconds by which clocks may differ
LARGEST = 512 * 1024  # bytes of an answer

Claims = Mapping[str, Any]


class ProviderDocument:
    """A document of a provider: fetched again after FRESH, and reused while the provider is unreachable."""

    def __init__(self, fetch: Callable[[], Claims]) -> None:
        self._fetch = fetch
        self._lock = Lock()
        self._document: Claims | None = None
        self._tried = 0.0

    def get(self, age: float = FRESH) -> Claims:
        """Return the document, not older than `age` seconds if that is possible. Raise ProviderAwayError.

        While one caller fetches it again, which may take long, the others get the old one.
        """
        known = self._document
        if not self._lock.acquire(blocking=known is None):
            assert known is not None, "a caller waits only without a document"
            return known
        try:
            since = time.monotonic() - self._tried if self._tried else None
            if since is None or since >= (age if self._document else COOL):
                self._tried = time.monotonic()
                self._renew()
            if self._document is None:
                raise ProviderAwayError
            return self._document
        finally:
            self._lock.release()

    def _renew(self) -> None:
        try:
            self._document = self._fetch()
        except ProviderAwayError as error:
            log.warning("%s", error)


class Provider:
    """An identity provider, known by its issuer: its description, its keys, and the tokens that it signed."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer.rstrip("/")
        self._description = ProviderDocument(self._discovered)
        self._keys = ProviderDocument(lambda: fetched("GET", self.endpoint("jwks_uri")))

    def endpoint(self, name: str) -> str:
        """Return a URL from the provider's description. Raise ProviderAwayError."""
        found = self._description.get().get(name)
        if not isinstance(found, str):
            raise ProviderAwayError(f"The identity provider {self.issuer} has no {name}.")
        return found

    def has(self, name: str) -> bool:
        """Return whether the provider's description has a URL of that name."""
        return isinstance(self._description.get().get(name), str)

    def takes_secrets_in_forms(self) -> bool:
        """Return whether clients may send their secrets in forms: by default only in a header."""
        return "client_secret_post" in (self._description.get().get("token_endpoint_auth_methods_supported") or ())

    def _discovered(self) -> Claims:
        found = fetched("GET", f"{self.issuer}/.well-known/openid-configuration")
        if str(found.get("issuer", "")).rstrip("/") != self.issuer:
            raise ProviderAwayError(f"{self.issuer} describes another issuer. Correct MEMORY_OIDC_ISSUER.")
        return found

    def claims(self, token: str, audience: str) -> Claims:
        """Return a token's claims. Raise InvalidInputError if the provider did not issue it, or ProviderAwayError."""
        try:
            head = jwt.get_unverified_header(token)
            if head.get("alg") not in ALGORITHMS or str(head.get("typ", TYPES[0])).lower() not in TYPES:
                raise InvalidInputError("The token has another algorithm or type.")
            issuers = [self.issuer, f"{self.issuer}/"]
            claims: Claims = jwt.decode(
                token,
                self._key(head.get("kid")),
                algorithms=ALGORITHMS,
                audience=audience,
                issuer=issuers,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidInputError(f"The token is not valid: {type(error).__name__}.") from None
        return claims

    def _key(self, kid: object) -> jwt.PyJWK:
        """Return the key with an id. Raise InvalidInputError."""
        for age in (FRESH, COOL):
            for key in jwt.PyJWKSet.from_dict(dict(self._keys.get(age))).keys:
                signs = key.public_key_use in (None, "sig")
                if signs and key.key_id == kid:
                    return key
        raise InvalidInputError("The token is signed with an unknown key.")


def fetched(method: str, url: str, **options: Any) -> Claims:
    """Return a JSON object of the provider. Raise ProviderAwayError."""
    try:
        with httpx2.stream(method, url, follow_redirects=False, timeout=SECONDS, **reaching(url), **options) as answer:
            body = bytearray()
            for part in answer.iter_bytes():
                body += part
                if len(body) > LARGEST:
                    raise ProviderAwayError(f"The answer of {url} is larger than {LARGEST} bytes.")
        found = httpx2.Response(answer.status_code, content=bytes(body)).json()
    except (httpx2.HTTPError, InvalidInputError, ValueError) as error:
        raise ProviderAwayError(f"{url} cannot be fetched: {type(error).__name__}.") from None
    if answer.status_code != 200 or not isinstance(found, dict):
        raise ProviderAwayError(f"{url} was answered with {answer.status_code}.")
    return found


# people ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoginRule:
    """The people that a rule applies to, and the most that they may grant."""

    about: Literal["mail", "group"]
    who: str
    level: Level
    workspace: str
    """The name of the only allowed workspace; '' for all."""

    def fits(self, mail: str, groups: Collection[str]) -> bool:
        """Return whether the rule applies to a person. A rule may name mail addresses as `*@example.org`."""
        if self.about == "mail":
            return bool(mail) and fnmatchcase(mail.lower(), self.who.lower())
        return self.who in groups


def rules_of(text: str) -> tuple[LoginRule, ...]:
    """Parse rules written like EXAMPLE. Raise InvalidInputError."""
    return tuple(_rule(part.strip()) for part in text.replace("\n", ";").split(";") if part.strip())


def _rule(text: str) -> LoginRule:
    whom, _, what = text.rpartition("=")
    about, _, who = whom.partition(":")
    word, _, workspace = what.partition("@")
    level = next((one for one in LEVELS if one == word.strip()), None)
    match about.strip():
        case "mail" | "group" as kind if who.strip() and level:
            return LoginRule(kind, who.strip(), level, workspace.strip())
    raise InvalidInputError(f"MEMORY_LOGIN_RULES: {text[:100]!r} is not a valid rule. Write rules like `{EXAMPLE}`.")


class Identities:
    """The people of the configured provider."""

    def __init__(self, engine: Engine) -> None:
        settings = engine.settings
        self._engine = engine
        self._public, issuer = _needed(settings, "public_url"), _needed(settings, "oidc_issuer")
        self._rules = rules_of(_needed(settings, "login_rules"))
        self._client = _needed(settings, "oidc_client_id") if settings.login == "oidc" else ""
        self._secret = settings.oidc_client_secret or ""
        self._groups = settings.oidc_groups
        self.provider = Provider(issuer)

    # login ----------------------------------------------------------------------------------------------------------

    def begin(self, key: str, browser: str) -> str:
        """Return the provider's URL for a login, for a request and a browser. Raise ProviderAwayError."""
        asked = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": f"{self._public}{CALLBACK}",
            "scope": SCOPE,
            "state": key,
            "nonce": _derived(browser, key, "nonce"),
            "code_challenge_method": "S256",
            "code_challenge": pkce_challenge(_derived(browser, key, "verifier")),
        }
        address = self.provider.endpoint("authorization_endpoint")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    def finish(self, key: str, browser: str, code: str) -> Person:
        """Return the person who has logged in. Raise InvalidInputError; NotFoundError if no rule matches them."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": f"{self._public}{CALLBACK}",
            "client_id": self._client,
            "code_verifier": _derived(browser, key, "verifier"),
        }
        proof: dict[str, Any] = {"data": form}
        if self._secret and self.provider.takes_secrets_in_forms():
            form["client_secret"] = self._secret
        elif self._secret:  # each part is encoded: RFC 6749, 2.3.1
            proof["auth"] = (quote_plus(self._client), quote_plus(self._secret))
        answer = fetched("POST", self.provider.endpoint("token_endpoint"), **proof)
        claims = self.provider.claims(str(answer.get("id_token", "")), self._client)
        if not hmac.compare_digest(str(claims.get("nonce", "")), _derived(browser, key, "nonce")):
            raise InvalidInputError("The provider's answer belongs to another login. Begin again in your client.")
        if claims.get("azp", self._client) != self._client:
            raise InvalidInputError("The provider's answer is for another application.")
        person = self._person(self._with_more(claims, answer))
        return replace(person, until=self._engine.clock.ago(-STAYS))

    def _with_more(self, claims: Claims, answer: Claims) -> Claims:
        """Return claims, with those that the token lacks added from the provider's userinfo endpoint.

        An address and its verification come from the same place: one must not vouch for the other's address.
        """
        access = answer.get("access_token")
        verified = claims.keys() >= MAIL
        whole = verified and self._groups in claims
        if whole or not isinstance(access, str) or not self.provider.has("userinfo_endpoint"):
            return claims
        bearer = {"Authorization": f"Bearer {access}"}
        more = fetched("GET", self.provider.endpoint("userinfo_endpoint"), headers=bearer)
        if more.get("sub") != claims["sub"]:
            return claims
        return {**more, **claims} | {name: (claims if verified else more).get(name) for name in MAIL}

    # tokens ---------------------------------------------------------------------------------------------------------

    def check(self, token: str) -> Grant | None:
        """Return the grant of a token of the provider, or None for any other token. Raise ProviderAwayError."""
        try:
            claims = self.provider.claims(token, resource_of(self._public))
            person = self._person(claims)
            until = timestamp(datetime.fromtimestamp(float(claims["exp"]), UTC))
        except (InvalidInputError, NotFoundError, ValueError, OverflowError, OSError):  # the last three: not a time
            return None
        scopes = [_level_of(claims[name]) for name in SCOPES if name in claims]
        level = min(person.level, *scopes, key=LEVELS.index) if scopes else person.level
        return Grant(principal=person.subject, level=level, workspace=person.workspace, expires_at=until)

    # rights ---------------------------------------------------------------------------------------------------------

    def _person(self, claims: Claims) -> Person:
        """Return the person of some claims. Raise NotFoundError if no rule matches them."""
        verified = claims.get("email_verified") in (True, "true")
        mail = str(claims.get("email", "")) if verified else ""
        given = claims.get(self._groups)
        groups = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        rule = next((one for one in self._rules if one.fits(mail, list(map(str, groups)))), None)
        subject = str(claims["sub"])
        if rule is None:
            raise NotFoundError(f"No rule admits {mail or subject}. Add one to MEMORY_LOGIN_RULES.")
        workspace = self._engine.workspaces.active(rule.workspace).id if rule.workspace else ""
        return Person(
            subject=subject_of(subject, self.provider.issuer),
            name=storable(mail or subject)[:NAME_LENGTH],
            level=rule.level,
            workspace=workspace,
        )


def _level_of(scopes: Any) -> Level:
    """Return the highest level that a token's scopes name; the lowest if they have another meaning, or none."""
    given = scopes if isinstance(scopes, list) else [scopes]
    words = {word for one in given for word in (one.split() if isinstance(one, str) else [""])}
    named = [level for level in LEVELS if level in words]
    return named[-1] if named else LEVELS[-1] if words and words <= OF_PEOPLE else LEVELS[0]


def _needed(settings: Settings, field: str) -> str:
    value: Any = getattr(settings, field)
    if not value:
        raise InvalidInputError(f"MEMORY_LOGIN={settings.login} also needs MEMORY_{field.upper()}. Set it.")
    return str(value)


def _derived(browser: str, key: str, purpose: str) -> str:
    """Return a secret of one login that is derived from its browser's cookie."""
    return derived(browser, f"{purpose} {key}")
