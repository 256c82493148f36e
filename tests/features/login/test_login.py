"""Clients log in: the SDK's own, from the first 401 to a call in the workspace that the person chose."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memoryd.cli import app
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.features.login import endpoints, forms, pages
from memoryd.features.login.accounts import accounts_of
from memoryd.settings import Settings
from tests.clients import environment, until
from tests.features.login.kit import BACK, PASSWORD, Browser, Plain, Storage, let_in, provider, published
from tests.http import HttpServer, beside, granted, memoryd, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with published(tmp_path_factory.mktemp("login")) as server:
        yield server


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_registers_logs_in_and_calls(server: HttpServer, mode: str) -> None:
    storage, browser = Storage(), Browser(server)
    with let_in(server, provider(server, storage, browser), mode) as agent:
        agent.store(f"stored after a login, {mode}")
        assert (agent.call("memory_inspect", {}).meta or {})["memoryd/workspace"] == "team"
        assert f"stored after a login, {mode}" in agent.found(f'"after a login, {mode}"')
    assert storage.tokens
    assert storage.tokens.scope == "read write"
    with let_in(server, provider(server, storage, browser), mode) as agent:
        assert not agent.call("memory_inspect", {}).is_error
    assert len(browser.visits) == 1
    assert "a test" in browser.pages[0]
    assert "127.0.0.1:41234" in browser.pages[0]


# passwords -----------------------------------------------------------------------------------------------------------


def test_a_password_is_read_from_stdin_and_never_printed(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    result = CliRunner().invoke(app, ["login", "set"], env=environ, input=f"{PASSWORD}\nmore\n")
    assert result.exit_code == 0, result.output
    assert PASSWORD not in result.output
    assert "MEMORY_PUBLIC_URL" in result.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    with Engine(Settings.read(environ), fetch=False) as engine:
        assert accounts_of(engine).check("owner", PASSWORD)
        assert accounts_of(engine).check("owner", f"{PASSWORD}\nmore") is None
        assert accounts_of(engine).check("Owner", PASSWORD) is None
    (listed,) = json.loads(memoryd(environ, "login", "list", "--json").stdout)["people"]
    assert (listed["name"], listed["most"], listed["workspace"]) == ("owner", "admin", "any")
    assert PASSWORD not in str(listed)
    assert "can no longer log in" in memoryd(environ, "login", "remove", "owner").stdout
    assert "There is: no one." in memoryd(environ, "login", "remove", "owner", code=1).stderr
    assert "No one has a password" in memoryd(environ, "login", "list").stdout
    assert "No client has been admitted" in memoryd(environ, "access", "list").stdout
    assert "account removed" in memoryd(environ, "access", "log").stdout


def test_a_new_password_gives_no_more_rights(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    memoryd(environ, "workspace", "create", "team")

    def rights(*arguments: str) -> tuple[str, str]:
        result = CliRunner().invoke(app, ["login", "set", "ann", *arguments], env=environ, input=PASSWORD)
        assert result.exit_code == 0, result.output
        (listed,) = json.loads(memoryd(environ, "login", "list", "--json").stdout)["people"]
        return listed["most"], listed["workspace"]

    assert rights("--level", "read", "--workspace", "team") == ("read", "team")
    assert rights() == ("read", "team")
    assert rights("--level", "write") == ("write", "team")
    memoryd(environ, "workspace", "create", "other")
    assert rights("--workspace", "other") == ("write", "other")
    memoryd(environ, "login", "remove", "ann")
    assert rights() == ("admin", "any")


@pytest.mark.parametrize(
    ("arguments", "password", "wrong"),
    [
        (["owner"], "short", "10 to 1,000 characters"),
        (["owner"], "", "10 to 1,000 characters"),
        (["owner"], "x" * 1_001, "10 to 1,000 characters"),
        ([" "], PASSWORD, "is not a valid name"),
        (["a\nb"], PASSWORD, "is not a valid name"),
        (["x" * 101], PASSWORD, "is not a valid name"),
    ],
)
def test_invalid_people_are_refused(tmp_path: Path, arguments: list[str], password: str, wrong: str) -> None:
    environ = environment(tmp_path)
    result = CliRunner().invoke(app, ["login", "set", *arguments], env=environ, input=password)
    assert (result.exit_code, wrong in result.stderr) == (2, True), result.output
    assert not list((tmp_path / "data").rglob("*"))


def test_a_password_is_the_same_however_it_is_typed(tmp_path: Path) -> None:
    with Engine(Settings.read(environment(tmp_path)), fetch=False) as engine:
        accounts_of(engine).set("小林", "パスワードがここにある é")
        decomposed = unicodedata.normalize("NFD", "パスワードがここにある é")
        assert accounts_of(engine).check("小林", decomposed)
        row = engine.store.read(None, lambda q: q.one("accounts.by_name", name="小林"))
        assert row
        assert row["hash"].startswith("scrypt:")


# the public address --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://memory.example.org", "https://memory.example.org"),
        ("https://Memory.Example.org:443/", "https://memory.example.org"),
        ("https://memory.example.org:8443", "https://memory.example.org:8443"),
        ("http://localhost:8765", "http://localhost:8765"),
        ("http://[::1]:80/", "http://[::1]"),
        ("http://memory.example.org", None),
        ("memory.example.org", None),
        ("https://", None),
        ("ftp://localhost", None),
        ("https://memory.example.org/path", None),
        ("https://memory.example.org?x", None),
        ("https://u@x.example", None),
        ("https://x.example#f", None),
        ("https://x.example:port", None),
        ("https://a b", None),
    ],
)
def test_valid_and_invalid_public_addresses(url: str, origin: str | None) -> None:
    if origin is None:
        with pytest.raises(InvalidInputError, match="MEMORY_PUBLIC_URL"):
            Settings.read({"MEMORY_PUBLIC_URL": url})
    else:
        assert Settings.read({"MEMORY_PUBLIC_URL": url}).public_url == origin


def test_behind_a_proxy_with_a_certificate(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0", MEMORY_PUBLIC_URL="https://memory.example.org") as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        named = {"Host": "memory.example.org"}
        about = server.request("GET", "/.well-known/oauth-authorization-server", headers=named).json()
        assert (about["issuer"], about["token_endpoint"]) == (
            "https://memory.example.org",
            "https://memory.example.org/oauth/token",
        )
        refused = server.request("POST", "/mcp", headers=named, json={}).headers["WWW-Authenticate"]
        assert '"https://memory.example.org/.well-known/oauth-protected-resource/mcp"' in refused
        client = Plain(server)
        page = server.request("GET", client.asks().removeprefix(server.url), headers=named, follow_redirects=True)
        assert "No one can log in yet" in page.text
        cookie = page.headers["Set-Cookie"]
        assert cookie.startswith("__Host-memoryd_login=")
        assert all(part in cookie for part in ("Secure", "HttpOnly", "Path=/", "SameSite=lax"))
        assert "Domain" not in cookie
        token = granted(server, "for the page", "admin")
        entered = server.request("POST", "/ui/login", headers=named, data={"key": token})
        assert "; Secure" in entered.headers["Set-Cookie"], "whatever a proxy says of the scheme"


# rates ---------------------------------------------------------------------------------------------------------------


def test_passwords_registrations_and_tokens_have_rate_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ATTEMPTS", "3/minute")
    monkeypatch.setattr(endpoints, "REGISTRATIONS", "2/hour")
    monkeypatch.setattr(endpoints, "FETCHES", "2/minute")
    with published(tmp_path) as server:
        client, browser = Plain(server), Browser(server)
        page = browser.opens(client.asks())
        assert [browser.logs_in(page, password="wrong").status_code for _ in range(4)] == [403] * 3 + [429]
        assert browser.logs_in(page).status_code == 429, "nor the right one, once there were too many"
        answers = [server.request("POST", "/oauth/register", json={"redirect_uris": [BACK]}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 429]
        assert int(answers[1].headers["Retry-After"]) > 0
        assert [client.refreshes("x").status_code for _ in range(3)] == [400, 400, 429]


@pytest.mark.slow
def test_wrong_passwords_of_strangers_lock_no_one_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ALL_ATTEMPTS", "60/minute")
    with published(tmp_path) as server:
        client, owner, stranger = Plain(server), Browser(server), Browser(server)
        assert "code" in owner.goes(client.asks())
        page = stranger.opens(client.asks())
        assert {stranger.logs_in(page, password="wrong").status_code for _ in range(62)} == {403}
        assert "code" in Browser(server).goes(client.asks()), "a new browser, after it has waited for its turn"
        monkeypatch.setattr(forms.Pace, "PATIENCE", 0.0)
        until(lambda: stranger.logs_in(page, password="wrong").status_code == 429, "the limit, which the time extends")
        assert "code" in owner.goes(client.asks()), "a browser that was in before has a share of its own"


def test_a_browser_that_was_in_has_a_share_only_for_its_own_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with published(tmp_path) as server:
        with beside(server) as engine:
            accounts_of(engine).set("ann", "another long password")
        client, ann = Plain(server), Browser(server, password="another long password")
        assert ann.logs_in(ann.opens(client.asks()), name="ann").status_code == 200
        (mark,) = [cookie for cookie in ann.cookies.jar if cookie.name.endswith("_known")]
        assert mark.expires is not None
    monkeypatch.setattr(pages, "ALL_ATTEMPTS", "1/hour")
    monkeypatch.setattr(pages, "ATTEMPTS", "3/hour")
    monkeypatch.setattr(forms.Pace, "PATIENCE", 0.0)
    with published(tmp_path, port=str(server.port)) as server:
        ann.server = client.server = server
        page = ann.opens(client.asks())
        assert [ann.logs_in(page, name="owner").status_code for _ in range(2)] == [403, 429]
        wrong = {"name": "ann", "password": "wrong"}
        assert [ann.logs_in(page, **wrong).status_code for _ in range(4)] == [403, 403, 403, 429]
        with beside(server) as engine:
            accounts_of(engine).set("ann", "a third long password")
        assert ann.logs_in(page, name="ann", password="a third long password").status_code == 429
