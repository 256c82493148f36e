"""Tokens signed by an identity provider (JWT), and the keys that sign them."""

import logging
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import httpx2
import jwt

from memoryd.certificates import trusted
from memoryd.errors import InvalidInputError, ProviderAwayError
from memoryd.proxies import uses_proxies

log = logging.getLogger(__name__)

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
        options |= {"timeout": SECONDS, "verify": trusted(), "trust_env": uses_proxies(url)}
        with httpx2.stream(method, url, follow_redirects=False, **options) as answer:
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
