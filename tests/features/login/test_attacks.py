"""Attacks by strangers, thieves and other pages, and how they fail."""

from collections.abc import Iterator
from urllib.parse import parse_qs

import httpx2
import pytest

from memoryd.core.access import access_log
from memoryd.features.login.logins import logins_of
from tests.features.login.kit import (
    BACK,
    CHALLENGE,
    PASSWORD,
    VERIFIER,
    Browser,
    Plain,
    hidden,
    options,
    parameters_of,
    published,
    works,
)
from tests.http import WORKSPACE, HttpServer, beside


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with published(tmp_path_factory.mktemp("attacks")) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: HttpServer) -> Plain:
    return Plain(server)


def acts(server: HttpServer) -> list[str]:
    with beside(server) as engine:
        return [entry.act for entry in access_log.last(engine.store, 1_000)]


# without a login -----------------------------------------------------------------------------------------------------


def test_every_request_needs_credentials(server: HttpServer) -> None:
    for method, path in (("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/sse"), ("POST", "/tools/memory_inspect")):
        answer = server.request(method, path, headers={WORKSPACE: "team"}, json={})
        assert answer.status_code == 401, path
        about = f'resource_metadata="{server.url}/.well-known/oauth-protected-resource/mcp"'
        assert about in answer.headers["WWW-Authenticate"]
        assert 'scope="read write"' in answer.headers["WWW-Authenticate"]


def test_a_header_does_not_change_the_address(server: HttpServer) -> None:
    poisoned = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example"}
    for path in (
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ):
        answer = server.request("GET", path, headers=poisoned)
        assert (answer.status_code, "evil" in answer.text) == (200, False)
    assert "evil" not in server.request("POST", "/mcp", headers=poisoned, json={}).headers["WWW-Authenticate"]
    assert server.request("GET", "/.well-known/oauth-authorization-server", headers={"Host": "evil.example"}).is_error


@pytest.mark.parametrize(
    "path", ["/mcp", "/mcp/", "/oauth/token", "/oauth/register", "/.well-known/oauth-protected-resource"]
)
def test_web_clients_may_call_from_any_page(server: HttpServer, path: str) -> None:
    asked = {
        "Origin": "https://inspector.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,mcp-protocol-version",
    }
    preflight = server.request("OPTIONS", path, headers=asked)
    assert (preflight.status_code, preflight.headers["Access-Control-Allow-Origin"]) == (200, "*")
    assert "authorization" in preflight.headers["Access-Control-Allow-Headers"].lower()
    assert "Access-Control-Allow-Credentials" not in preflight.headers
    answer = server.request("POST", path, headers={"Origin": "https://inspector.example"}, json={})
    assert answer.status_code != 403
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_pages_of_other_sites_cannot_reach_other_paths(server: HttpServer) -> None:
    for path in ("/oauth/login", "/oauth/consent", "/ui/", "/tools/memory_inspect"):
        answer = server.request("POST", path, headers={"Origin": "https://evil.example"}, data={})
        assert (answer.status_code, answer.headers.get("Access-Control-Allow-Origin")) == (403, None), path


# the client's request ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge": CHALLENGE + "="}, "invalid_request"),
        ({"resource": "https://evil.example/mcp"}, "invalid_target"),
        ({"state": "s" * 5_000}, "invalid_request"),
    ],
)
def test_an_invalid_request_is_answered_with_the_issuer(
    server: HttpServer, client: Plain, changed: dict[str, str | None], error: str
) -> None:
    answer = server.request("GET", client.asks(**changed).removeprefix(server.url))
    back = parameters_of(answer.headers["location"])
    assert answer.headers["location"].startswith(BACK)
    assert (back["error"], back["iss"]) == (error, server.url)
    assert back["state"].startswith("s")
    assert "code" not in back


@pytest.mark.parametrize("redirect", ["https://evil.example/cb", "cursor://evil.example/x", "com.example.app:/x"])
def test_a_stranger_sends_no_browser_away_before_its_person_saw_a_page(server: HttpServer, redirect: str) -> None:
    client = Plain(server, redirect_uris=[redirect], client_name="<b>stranger</b>")
    for changed in ({"response_type": "x"}, {"code_challenge": None}, {"resource": "https://a.example"}):
        path, _, query = client.asks(**changed).removeprefix(server.url).partition("?")
        form = {name: values[0] for name, values in parse_qs(query).items()}
        for answer in (server.request("GET", f"{path}?{query}"), server.request("POST", path, data=form)):
            assert (answer.status_code, "location" in answer.headers) == (400, False)
            assert f'href="{redirect}?state=s&amp;error=' in answer.text, "the person may go there"
    issued = client.exchanges(Browser(server).goes(client.asks())["code"], redirect_uri=redirect).json()
    answer = server.request("GET", client.asks(response_type="x").removeprefix(server.url))
    assert answer.headers["location"].startswith(f"{redirect}?state=s&error="), "it is known by now"
    assert client.revokes(issued["refresh_token"]).status_code == 200
    assert "location" not in server.request("GET", client.asks(response_type="x").removeprefix(server.url)).headers


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/cb"},
        {"redirect_uri": f"{BACK}/../x"},
        {"redirect_uri": f"{BACK}?a=b"},
        {"redirect_uri": "http://127.0.0.1@evil.example/callback"},
        {"client_id": "unknown"},
        {"client_id": None},
        {"redirect_uri": "javascript:alert(1)"},
        {"client_id": "https://127.0.0.1/client.json"},
        {"client_id": "https://localhost/"},
        {"client_id": "https://[::1]/c"},
        {"client_id": "https://169.254.169.254/latest/meta-data"},
    ],
)
def test_nothing_is_sent_to_an_address_of_another_client(
    server: HttpServer, client: Plain, changed: dict[str, str | None]
) -> None:
    answer = server.request("GET", client.asks(**changed).removeprefix(server.url))
    assert answer.status_code in (400, 404)
    assert "location" not in answer.headers
    assert answer.headers["content-type"].startswith("text/html")


def test_unstorable_text_is_refused(server: HttpServer, client: Plain) -> None:
    for changed in ({"state": "a\0b"}, {"client_id": "\0"}, {"redirect_uri": f"{BACK}\0"}, {"scope": "read\0"}):
        answer = server.request("GET", client.asks(**changed).removeprefix(server.url))
        assert answer.status_code == 400, changed
    browser = Browser(server)
    assert browser.logs_in(browser.opens(client.asks()), name="a\0").status_code == 400
    assert client.posts(grant_type="refresh_token", refresh_token="\0").json()["error"] == "invalid_request"
    basic = httpx2.BasicAuth("%00", "x")
    assert server.request("POST", "/oauth/token", data={"grant_type": "x"}, auth=basic).status_code == 401


def test_a_parameter_with_two_values_is_refused(server: HttpServer, client: Plain) -> None:
    path = client.asks().removeprefix(server.url)
    assert server.request("GET", f"{path}&redirect_uri=https://evil.example/").status_code == 400


# the pages -----------------------------------------------------------------------------------------------------------


def test_pages_have_security_headers(server: HttpServer, client: Plain) -> None:
    page = Browser(server).opens(client.asks())
    assert page.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"
    cookie = page.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


def test_a_forged_form_is_refused(server: HttpServer, client: Plain) -> None:
    victim, thief = Browser(server), Browser(server)
    page = victim.opens(client.asks())
    stranger = thief.logs_in(page)
    assert (stranger.status_code, "accepts no cookies" in stranger.text) == (403, True)
    for sign in ("0" * 64, "\u00e9", ""):
        assert victim.logs_in(page, sign=sign).status_code == 403, "without the page"
    form = hidden(page.text) | {"password": PASSWORD}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}):
        assert victim.asks("POST", "/oauth/login", data=form, headers=headers).status_code == 403, headers
    consent = victim.logs_in(page)
    assert consent.status_code == 200
    thief.opens(client.asks())
    assert thief.asks("GET", str(consent.url)).status_code == 404, "the address alone shows nothing"
    assert thief.allows(consent).status_code == 403
    assert victim.allows(consent, sign=hidden(page.text)["sign"][::-1]).status_code == 403
    assert victim.allows(consent).status_code == 303
    assert thief.allows(consent).status_code == 403
    assert thief.asks("GET", str(consent.url)).status_code == 404


def test_a_form_that_is_sent_twice_is_answered_twice_until_the_code_is_used(server: HttpServer) -> None:
    browser, client = Browser(server), Plain(server)
    consent = browser.logs_in(browser.opens(client.asks()))
    before = acts(server).count("consent given")
    first, second = browser.allows(consent), browser.allows(consent, level="read")
    assert (first.status_code, second.headers["location"]) == (303, first.headers["location"])
    assert acts(server).count("consent given") == before + 1
    issued = client.exchanges(parameters_of(first.headers["location"])["code"]).json()
    assert issued["scope"] == "read write", "the first choice counts"
    for answer in ("allow", "deny"):
        late = browser.allows(consent, answer=answer)
        assert (late.status_code, "already admitted this client" in late.text) == (404, True)
        assert "did not work" not in late.text
    assert works(server, issued["access_token"])


def test_a_person_who_goes_back_may_still_deny(server: HttpServer) -> None:
    browser, client = Browser(server), Plain(server)
    consent = browser.logs_in(browser.opens(client.asks()))
    code = parameters_of(browser.allows(consent).headers["location"])["code"]
    again = browser.asks("GET", str(consent.url))
    assert parameters_of(browser.allows(again, answer="deny").headers["location"])["error"] == "access_denied"
    assert client.exchanges(code).json()["error"] == "invalid_grant"
    with beside(server) as engine:
        assert all(login.client != client.registered["client_id"] for login in logins_of(engine).all())


def test_without_a_password_there_is_no_consent(server: HttpServer, client: Plain) -> None:
    browser = Browser(server)
    page = browser.opens(client.asks())
    assert "team" not in page.text, "strangers do not see the workspaces"
    assert browser.allows(page).status_code == 404
    assert browser.logs_in(page, password="wrong password").status_code == 403
    assert browser.logs_in(page, name="else", password="").status_code == 403
    assert browser.allows(page).status_code == 404
    assert "login refused" in acts(server)


def test_a_denied_client_gets_access_denied(server: HttpServer, client: Plain) -> None:
    browser = Browser(server)
    answer = browser.allows(browser.logs_in(browser.opens(client.asks())), answer="deny")
    assert parameters_of(answer.headers["location"]) == {"error": "access_denied", "state": "s", "iss": server.url}
    assert "consent denied" in acts(server)


def test_denying_a_client_twice_answers_twice_and_it_stays_denied(server: HttpServer, client: Plain) -> None:
    browser, before = Browser(server), acts(server).count("consent denied")
    page = browser.opens(client.asks())
    consent = browser.logs_in(page)
    first, second = browser.allows(consent, answer="deny"), browser.allows(consent, answer="deny")
    assert (second.status_code, second.headers["location"]) == (303, first.headers["location"])
    assert acts(server).count("consent denied") == before + 1
    assert browser.allows(consent).status_code == 404
    assert browser.logs_in(page).status_code == 404
    assert browser.asks("GET", str(consent.url)).status_code == 404


def test_only_offered_choices_are_accepted(server: HttpServer, client: Plain) -> None:
    for wrong in ({"workspace": "none such"}, {"workspace": "*"}, {"workspace": ""}, {"level": "root"}):
        browser = Browser(server)
        consent = browser.logs_in(browser.opens(client.asks()))
        assert browser.allows(consent, **wrong).status_code == 400, wrong


def test_of_several_workspaces_none_is_preselected(server: HttpServer, client: Plain) -> None:
    browser = Browser(server)
    consent = browser.logs_in(browser.opens(client.asks()))
    assert next(iter(options(consent.text, "workspace").values())) == ""
    assert 'value="deny" formnovalidate' in consent.text, "denying needs no choice"


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a\u202eb\u200b", "", "x" * 5_000, "{{ 7*7 }}"])
def test_a_name_stays_text(server: HttpServer, name: str) -> None:
    page = Browser(server).opens(Plain(server, client_name=name).asks())
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert "49" not in page.text.partition("<h1>")[2].partition("</h1>")[0]
    assert "\u202e" not in page.text
    assert len(page.text) < 20_000


# tokens --------------------------------------------------------------------------------------------------------------


def test_a_code_works_once_and_its_replay_ends_the_login(server: HttpServer, client: Plain) -> None:
    code = Browser(server).goes(client.asks())["code"]
    issued = client.exchanges(code).json()
    assert works(server, issued["access_token"])
    assert client.exchanges(code).json()["error"] == "invalid_grant"
    assert not works(server, issued["access_token"])
    assert client.refreshes(issued["refresh_token"]).status_code == 400
    assert "code replayed" in acts(server)


@pytest.mark.parametrize(
    "wrong",
    [{"code_verifier": "x" * 43}, {"redirect_uri": "http://127.0.0.1:41235/callback"}, {"code_verifier": CHALLENGE}],
)
def test_a_stolen_code_is_useless(server: HttpServer, client: Plain, wrong: dict[str, str]) -> None:
    code = Browser(server).goes(client.asks())["code"]
    assert client.exchanges(code, **wrong).json()["error"] == "invalid_grant"
    assert client.exchanges(code).status_code == 400, "nor may it be tried again"


def test_another_client_gets_nothing_for_a_code_or_a_token(server: HttpServer, client: Plain) -> None:
    code = Browser(server).goes(client.asks())["code"]
    thief = Plain(server)
    assert thief.exchanges(code).json()["error"] == "invalid_grant"
    issued = client.exchanges(code).json()
    assert thief.refreshes(issued["refresh_token"]).json()["error"] == "invalid_grant"
    assert thief.revokes(issued["access_token"]).status_code == 200
    assert works(server, issued["access_token"])


def test_a_foreign_resource_gets_no_token(server: HttpServer, client: Plain) -> None:
    code = Browser(server).goes(client.asks())["code"]
    assert client.exchanges(code, resource="https://evil.example/mcp").json()["error"] == "invalid_target"
    issued = client.exchanges(code, resource=f"{server.url}/mcp").json()
    answer = client.refreshes(issued["refresh_token"], resource="https://evil.example/mcp")
    assert answer.json()["error"] == "invalid_target"
    assert client.refreshes(issued["refresh_token"]).status_code == 200


def test_refresh_tokens_and_access_tokens_are_not_interchangeable(server: HttpServer, client: Plain) -> None:
    issued = client.logs_in()
    secret = issued["refresh_token"].removeprefix("memoryd_refresh_")
    wrong = (f"memoryd_access_{secret}", secret, "memoryd_access_", "eyJhbGciOiJub25lIn0.e30.")
    assert not any(works(server, token) for token in (issued["refresh_token"], *wrong))
    access = issued["access_token"].removeprefix("memoryd_access_")
    assert client.refreshes(f"memoryd_refresh_{access}").status_code == 400
    assert works(server, issued["access_token"])


def test_revocation_ends_the_login(server: HttpServer, client: Plain) -> None:
    for kind in ("access_token", "refresh_token"):
        issued = client.logs_in()
        assert [client.revokes(issued[kind]).status_code for _ in range(2)] == [200, 200]
        assert not works(server, issued["access_token"])


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_client_with_a_secret_has_to_know_it(server: HttpServer, method: str) -> None:
    client = Plain(server, token_endpoint_auth_method=method)
    secret = client.registered["client_secret"]
    code = Browser(server).goes(client.asks())["code"]
    for wrong in ({}, {"client_secret": ""}, {"client_secret": secret[:-1]}):
        answer = client.exchanges(code, **wrong)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    basic = httpx2.BasicAuth(client.registered["client_id"], secret)
    fields = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    assert server.request("POST", "/oauth/token", data=fields, auth=basic).status_code == 200, "also without client_id"
    for unreadable in ("Basic \u00e4", "Basic =", "Basic /w=="):
        headers = {"Authorization": unreadable.encode("latin-1")}
        assert server.request("POST", "/oauth/token", data=fields, headers=headers).status_code == 401
    with beside(server) as engine:
        kept = engine.store.read(None, lambda q: q.one("clients.by_id", id=client.registered["client_id"]))
    assert secret not in str(kept)


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({}, 400, "invalid_request"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, 400, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, 400, "invalid_grant"),
        ({"grant_type": "refresh_token", "refresh_token": "x", "client_id": "unknown"}, 401, "invalid_client"),
        ({"grant_type": "refresh_token", "refresh_token": "x", "client_id": ""}, 401, "invalid_client"),
    ],
)
def test_invalid_requests_for_tokens(
    server: HttpServer, client: Plain, fields: dict[str, str], status: int, error: str
) -> None:
    answer = client.posts(**fields)
    assert (answer.status_code, answer.json()["error"], answer.headers["Cache-Control"]) == (status, error, "no-store")


# registration --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"x" * 1_000_000, 413),
        (b"", 400),
        (b"[]", 400),
        (b"[" * 60_000, 400),
        (b"\xff\xfe", 400),
        (b'{"redirect_uris": "https://x.example/"}', 400),
        (b'{"redirect_uris": [1, null, {}]}', 400),
        (b'{"redirect_uris": ["javascript:alert(1)"]}', 400),
        (b'{"redirect_uris": ["https://x.example/cb"], "client_name": {"a": 1}, "scope": 7}', 201),
        (b'{"redirect_uris": ["https://x.example/cb", "javascript:alert(1)"], "client_name": "\\ud800"}', 201),
    ],
)
def test_valid_and_invalid_registrations(server: HttpServer, body: bytes, status: int) -> None:
    answer = server.request("POST", "/oauth/register", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    if status == 201:
        assert answer.json()["redirect_uris"] == ["https://x.example/cb"]
