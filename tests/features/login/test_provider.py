"""A team's identity provider: people log in there, or bring its tokens."""

import math
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest

from memoryd.errors import InvalidInputError
from memoryd.features.login import identities
from memoryd.features.login.identities import ProviderDocument, rules_of
from memoryd.features.login.logins import logins_of
from tests.clients import PATIENCE, environment, until
from tests.features.login.kit import Browser, Plain, parameters_of, published
from tests.features.login.oidc import CLIENT, SECRET, FakeProvider
from tests.http import NO_AUTHORITIES, WORKSPACE, HttpServer, HttpThread, bearer, beside, granted

RULES = "mail:ann@example.org=admin; group:cn=engineers,ou=x=write@team; mail:*@example.org=read@team"


@pytest.fixture(scope="module")
def running() -> Iterator[FakeProvider]:
    made = FakeProvider()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identities, "COOL", 0.0)
        yield made
    made.stop()


@pytest.fixture
def fake(running: FakeProvider) -> FakeProvider:
    """The provider with its default behaviour."""
    running.reset()
    return running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, running: FakeProvider) -> Iterator[HttpServer]:
    """A server whose people log in at the provider."""
    with published(tmp_path_factory.mktemp("oidc"), **logging_in_at(running)) as server:
        yield server


def logging_in_at(fake: FakeProvider) -> Any:
    return {
        "MEMORY_LOGIN": "oidc",
        "MEMORY_OIDC_ISSUER": fake.issuer,
        "MEMORY_OIDC_CLIENT_ID": CLIENT,
        "MEMORY_OIDC_CLIENT_SECRET": SECRET,
        "MEMORY_LOGIN_RULES": RULES,
    }


def relying_on(fake: FakeProvider) -> Any:
    return {"MEMORY_LOGIN": "jwt", "MEMORY_OIDC_ISSUER": fake.issuer, "MEMORY_LOGIN_RULES": RULES}


@pytest.fixture(scope="module")
def relying(tmp_path_factory: pytest.TempPathFactory, running: FakeProvider) -> Iterator[HttpServer]:
    """A server that accepts the provider's tokens."""
    with published(tmp_path_factory.mktemp("jwt"), **relying_on(running)) as server:
        yield server


def sent_on(away: httpx2.Response) -> str:
    """Return the address to which the provider sends a browser back."""
    return str(httpx2.get(away.headers["location"], verify=NO_AUTHORITIES).headers["location"])


def logged_in(browser: Browser, url: str) -> httpx2.Response:
    """Return the answer after the login at the provider."""
    away = browser.opens(url)
    assert away.status_code == 303, away.text
    back = sent_on(away)
    answer = browser.asks("GET", back)
    return browser.asks("GET", answer.headers["location"]) if answer.is_redirect else answer


# login at the provider -----------------------------------------------------------------------------------------------


def test_people_of_the_provider_log_in(server: HttpServer, fake: FakeProvider) -> None:
    client, browser = Plain(server), Browser(server, level="admin")
    consent = logged_in(browser, client.asks())
    assert "ann@example.org" in consent.text
    assert "plain" in consent.text, "the provider's login alone lets no client in"
    issued = client.exchanges(parameters_of(browser.allows(consent).headers["location"])["code"]).json()
    assert issued["scope"] == "read write admin"
    assert server.tool("memory_inspect", bearer(issued["access_token"])).status_code == 200
    assert server.request("POST", "/oauth/login", data={"password": "x"}).status_code == 405
    with beside(server) as engine:
        (login,) = logins_of(engine).all()
        assert login.person == "ann@example.org"
        assert login.expires_at < engine.clock.ago(-timedelta(days=31))
        files = [p for p in Path(server.environ["MEMORY_DATA_DIR"]).rglob("*") if p.is_file()]
    assert not any(b"upstream" in path.read_bytes() for path in files), "the provider's tokens are not kept"


def test_a_rule_limits_what_they_grant(server: HttpServer, fake: FakeProvider) -> None:
    fake.who = {"sub": "2", "email": "bob@example.org", "email_verified": False}
    fake.more = {"groups": ["staff", "cn=engineers,ou=x"]}
    browser = Browser(server)
    consent = logged_in(browser, Plain(server).asks())
    assert "default" not in consent.text
    assert browser.allows(consent, level="admin").status_code == 400
    assert browser.allows(consent).status_code == 303


@pytest.mark.parametrize(
    "who",
    [
        {"sub": "3", "email": "eve@evil.example", "email_verified": True},
        {"sub": "3", "email": "ann@example.org"},
        {"sub": "3", "email": "ann@example.org", "email_verified": False},
        {"sub": "3", "groups": "engineers"},
    ],
)
def test_other_people_are_not_admitted(server: HttpServer, fake: FakeProvider, who: dict[str, Any]) -> None:
    fake.who = who
    answer = logged_in(Browser(server), Plain(server).asks())
    assert (answer.status_code, "No rule admits" in answer.text) == (403, True)


def test_one_address_is_not_verified_by_another(server: HttpServer, fake: FakeProvider) -> None:
    fake.who = {"sub": "3", "email": "ann@example.org"}
    fake.more = {"email": "eve@evil.example", "email_verified": True}
    answer = logged_in(Browser(server), Plain(server).asks())
    assert (answer.status_code, "No rule admits eve@evil.example" in answer.text) == (403, True)
    fake.who = {"sub": "3", "email_verified": True}
    fake.more = {"email": "ann@example.org", "email_verified": False}
    assert logged_in(Browser(server), Plain(server).asks()).status_code == 403
    fake.who, fake.more = {"sub": "1"}, {"email": "ann@example.org", "email_verified": True}
    assert "ann@example.org" in logged_in(Browser(server), Plain(server).asks()).text


@pytest.mark.parametrize("methods", [None, ["client_secret_basic"]])
def test_a_provider_that_takes_secrets_only_in_a_header(
    tmp_path: Path, fake: FakeProvider, methods: list[str] | None
) -> None:
    fake.methods = methods
    with published(tmp_path, **logging_in_at(fake)) as server:
        assert "ann@example.org" in logged_in(Browser(server), Plain(server).asks()).text


@pytest.mark.parametrize(
    "changed",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"iss": "https://evil.example"},
        {"azp": "another"},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
    ],
)
def test_a_wrong_answer_of_the_provider(server: HttpServer, fake: FakeProvider, changed: dict[str, Any]) -> None:
    client, browser = Plain(server), Browser(server)
    away = browser.opens(client.asks())
    back = sent_on(away)
    fake.changed = changed
    assert browser.asks("GET", back).status_code == 400


def test_another_browser_cannot_finish_a_login(server: HttpServer, fake: FakeProvider) -> None:
    victim, thief = Browser(server), Browser(server)
    client = Plain(server)
    back = sent_on(thief.opens(client.asks()))
    assert victim.asks("GET", back).status_code == 403, "without a cookie"
    victim.opens(client.asks())
    assert victim.asks("GET", back).is_error, "with that of another login"


def test_while_the_provider_is_away(tmp_path: Path, fake: FakeProvider) -> None:
    fake.away = True
    with published(tmp_path, **logging_in_at(fake)) as server:
        answer = Browser(server).opens(Plain(server).asks())
    assert (answer.status_code, "provider cannot be reached" in answer.text) == (503, True)


# tokens of the provider ----------------------------------------------------------------------------------------------


def status(server: HttpServer, token: str) -> int:
    return server.tool("memory_inspect", bearer(token) | {WORKSPACE: "team"}).status_code


def test_tokens_of_the_provider(relying: HttpServer, fake: FakeProvider) -> None:
    resource = f"{relying.url}/mcp"
    about = relying.request("GET", "/.well-known/oauth-protected-resource/mcp").json()
    assert (about["resource"], about["authorization_servers"]) == (resource, [fake.issuer])
    assert relying.request("GET", "/.well-known/oauth-authorization-server").status_code == 404
    assert relying.request("POST", "/oauth/register", json={}).status_code == 404
    assert "scope" not in relying.request("POST", "/mcp", json={}).headers["WWW-Authenticate"]
    assert status(relying, fake.token(resource)) == 200
    assert status(relying, fake.token([resource, "else"])) == 200  # type: ignore[arg-type]
    assert status(relying, granted(relying, "a token of ours")) == 200
    wrong: list[dict[str, Any]] = [
        {"aud": "https://memory.example.org/mcp"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"exp": time.time() - 60},
        {"exp": None},
        {"sub": None},
        {"email": "eve@evil.example"},
        {"email_verified": None},
        {"nbf": time.time() + 600},
        {"exp": 1e20},
        {"exp": math.inf},
    ]
    assert [status(relying, fake.token(resource, **changed)) for changed in wrong] == [401] * len(wrong)


def test_tokens_with_invalid_signatures(relying: HttpServer, fake: FakeProvider) -> None:
    claims = {"iss": fake.issuer, "aud": f"{relying.url}/mcp", "exp": time.time() + 600, **fake.who}
    ((_, key),) = fake.keys.values()
    other = FakeProvider()
    other.stop()
    for token in (
        jwt.encode(claims, "", "none", {"kid": "one"}),
        jwt.encode(claims, "a secret of thirty-two characters", "HS256", {"kid": "one"}),
        jwt.encode(claims, key, "RS512", {"kid": "one"}),
        jwt.encode(claims, key, "RS256", {"kid": "unknown"}),
        jwt.encode(claims, key, "RS256"),
        fake.signed(claims, typ="logout+jwt"),
        other.signed(claims),
        fake.signed(claims)[:-4],
        "a.b.c",
        "..",
        "e30.e30.",
    ):
        assert status(relying, token) == 401, token
    assert status(relying, fake.signed(claims, typ="at+jwt")) == 200


def test_scopes_of_the_provider_narrow_a_rule(relying: HttpServer, fake: FakeProvider) -> None:
    token = fake.token(f"{relying.url}/mcp", scope="openid read")
    assert status(relying, token) == 200
    assert relying.tool("memory_store", bearer(token) | {WORKSPACE: "team"}, content="x").status_code == 403
    fake.who = {"sub": "2", "email": "bob@example.org", "email_verified": True}
    token = fake.token(f"{relying.url}/mcp", scope="admin")
    assert relying.tool("memory_store", bearer(token), content="x").status_code == 403
    assert relying.tool("memory_inspect", bearer(token) | {WORKSPACE: "default"}).status_code == 403


@pytest.mark.parametrize(
    ("claims", "stores"),
    [
        ({}, True),
        ({"scope": "openid email"}, True),
        ({"scope": ["openid", "write"]}, True),
        ({"scp": "access write"}, True),
        ({"scp": ["admin"]}, True),
        ({"scope": ["read"]}, False),
        ({"scp": ["read"]}, False),
        ({"scp": "read"}, False),
        ({"scp": ["openid read"]}, False),
        ({"scope": "admin", "scp": ["read"]}, False),
        ({"scope": "memory.use"}, False),
        ({"scope": ""}, False),
        ({"scope": []}, False),
        ({"scope": {"write": True}}, False),
        ({"scp": [["write"], 7]}, False),
        ({"scp": True}, False),
        ({"scope": ["openid", {"read": True}]}, False),
        ({"scp": ["openid", ["read"]]}, False),
    ],
)
def test_scopes_have_several_forms_and_none_gives_more(
    relying: HttpServer, fake: FakeProvider, claims: dict[str, Any], stores: bool
) -> None:
    token = bearer(fake.token(f"{relying.url}/mcp", **claims)) | {WORKSPACE: "team"}
    assert relying.tool("memory_inspect", token).status_code == 200
    assert relying.tool("memory_store", token, content="x").status_code == (200 if stores else 403)


def test_a_slow_provider_keeps_only_one_request_waiting() -> None:
    goes_on, fetched = threading.Event(), list[int]()

    def fetch() -> dict[str, int]:
        fetched.append(len(fetched) + 1)
        assert len(fetched) == 1 or goes_on.wait(PATIENCE)
        return {"time": len(fetched)}

    document = ProviderDocument(fetch)
    assert document.get() == {"time": 1}
    renewing = threading.Thread(target=document.get, args=(0.0,))
    renewing.start()
    until(lambda: len(fetched) == 2, "the provider, which is slow")
    assert document.get(0.0) == {"time": 1}
    goes_on.set()
    renewing.join(PATIENCE)
    assert document.get() == {"time": 2}


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_keys_are_kept_and_change(tmp_path: Path, fake: FakeProvider, algorithm: str) -> None:
    with published(tmp_path, **relying_on(fake)) as relying:
        keys_change(relying, fake, algorithm)


def keys_change(relying: HttpServer, fake: FakeProvider, algorithm: str) -> None:
    resource = f"{relying.url}/mcp"
    fake.away = True
    assert status(relying, fake.token(resource)) == 503, "it is not known whether this is one"
    fake.away = False
    assert [status(relying, fake.token(resource)) for _ in range(5)] == [200] * 5
    assert fake.fetches.count("/keys") == 1
    fake.away = True
    assert status(relying, fake.token(resource)) == 200
    fake.away = False
    fake.rotate("two", algorithm)
    assert status(relying, fake.token(resource)) == 200


# settings and rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "mail", "groups", "found"),
    [
        (RULES, "ann@example.org", [], ("admin", "")),
        (RULES, "ANN@Example.org", [], ("admin", "")),
        (RULES, "x@example.org", [], ("read", "team")),
        (RULES, "x@example.org", ["cn=engineers,ou=x"], ("write", "team")),
        (RULES, "x@example.org.evil.example", ["engineers"], None),
        (RULES, "", ["mail:ann@example.org"], None),
        ("mail:*=write", "", [], None),
    ],
)
def test_the_first_rule_that_fits_counts(
    rules: str, mail: str, groups: list[str], found: tuple[str, str] | None
) -> None:
    rule = next((one for one in rules_of(rules) if one.fits(mail, groups)), None)
    assert (rule and (rule.level, rule.workspace)) == found


@pytest.mark.parametrize("rules", ["x", "mail:=read", "mail:a@b=root", "who:a=read", "=read", "group:x"])
def test_invalid_rules(rules: str) -> None:
    with pytest.raises(InvalidInputError, match="MEMORY_LOGIN_RULES"):
        rules_of(rules)


@pytest.mark.parametrize(
    ("settings", "lacks"),
    [
        ({"MEMORY_LOGIN": "oidc"}, "MEMORY_PUBLIC_URL"),
        ({"MEMORY_LOGIN": "jwt", "MEMORY_PUBLIC_URL": "http://127.0.0.1:1"}, "MEMORY_OIDC_ISSUER"),
        (
            {
                "MEMORY_LOGIN": "jwt",
                "MEMORY_PUBLIC_URL": "http://127.0.0.1:1",
                "MEMORY_OIDC_ISSUER": "https://x.example",
            },
            "MEMORY_LOGIN_RULES",
        ),
    ],
)
def test_settings_that_are_missing(tmp_path: Path, settings: Any, lacks: str) -> None:
    with pytest.raises(InvalidInputError, match=lacks):
        HttpThread(environment(tmp_path, **settings))
