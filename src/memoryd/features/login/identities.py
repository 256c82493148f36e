"""People of an identity provider: they log in there (OpenID Connect), or bring a token that it signed."""

import hmac
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_plus, urlencode

from memoryd.core.access.hashes import derived, pkce_challenge
from memoryd.core.access.tokens import LEVELS, NAME_LENGTH, Grant, Level
from memoryd.core.base.clock import timestamp
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.features.login import login_rules
from memoryd.features.login.accounts import Person, subject_from
from memoryd.features.login.metadata import CALLBACK, resource_of
from memoryd.features.login.signed import Claims, Provider, fetched
from memoryd.settings import Settings
from memoryd.text import storable

STAYS = timedelta(days=30)  # until a person has to log in at the provider again, since they may have left the team
SCOPE = "openid email profile"
SCOPES = ("scope", "scp")
"""The claims with the scopes of a token: of RFC 9068, and of Okta and Entra; a text or a list."""
OF_PEOPLE = frozenset({"openid", "profile", "email", "address", "phone", "offline_access"})
"""The scopes of OpenID Connect, which are about the person and not about what a client may do."""
MAIL = frozenset({"email", "email_verified"})  # claims


class Identities:
    """The people of the configured provider."""

    def __init__(self, engine: Engine) -> None:
        settings = engine.settings
        self._engine = engine
        self._public, issuer = _needed(settings, "public_url"), _needed(settings, "oidc_issuer")
        self._rules = login_rules.parsed(_needed(settings, "login_rules"))
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
        return Person(
            subject=person.subject,
            name=person.name,
            level=person.level,
            workspace=person.workspace,
            until=self._engine.clock.ago(-STAYS),
        )

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
        rule = login_rules.first_fitting(self._rules, mail, [str(group) for group in groups])
        subject = str(claims["sub"])
        if rule is None:
            raise NotFoundError(f"No rule admits {mail or subject}. Add one to MEMORY_LOGIN_RULES.")
        workspace = self._engine.workspaces.active(rule.workspace).id if rule.workspace else ""
        return Person(
            subject=subject_from(self.provider.issuer, subject),
            name=storable(mail or subject)[:NAME_LENGTH],
            level=rule.level,
            workspace=workspace,
        )


def _level_of(scopes: Any) -> Level:
    """Return the highest level that a token's scopes name; the lowest if they have another meaning, or none."""
    given = scopes if isinstance(scopes, list) else [scopes]
    words = {word for one in given if isinstance(one, str) for word in one.split()}
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
