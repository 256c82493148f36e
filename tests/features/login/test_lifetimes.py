"""The lifetimes of tokens: refreshing, also concurrently; the end with their login; restarts."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from memoryd.core.access import access_log
from memoryd.core.access.hashes import hashed
from memoryd.core.base.clock import Clock, moment, timestamp
from memoryd.core.engine import Engine
from memoryd.features.login import logins, oauth_clients
from memoryd.features.login.accounts import Person, accounts_of
from memoryd.features.login.logins import Asked, Issued, logins_of
from memoryd.features.login.oauth_clients import clients_of
from memoryd.settings import Settings
from tests.clients import LEGACY, MODERN, NO_MODELS, database, environment, until
from tests.features.login.kit import BACK, CHALLENGE, PASSWORD, VERIFIER, Browser, Plain, published, works
from tests.http import SESSION, WORKSPACE, Ears, HttpServer, bearer, beside, free_port, memoryd, serving

AT_ONCE = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with published(tmp_path_factory.mktemp("lifetimes"), "--toolsets", "all", "--workspace", "default") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: HttpServer) -> Plain:
    return Plain(server)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(Settings.read(environment(tmp_path) | NO_MODELS), fetch=False) as made:
        yield made


def asked_by(client: str) -> Asked:
    return Asked(client=client, client_name="c", redirect_uri=BACK, challenge=CHALLENGE)


def test_refresh_tokens_rotate_with_a_grace_period(
    server: HttpServer, client: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = client.logs_in()
    second, third = (client.refreshes(first["refresh_token"]).json() for _ in range(2))
    tokens = {issued[kind] for issued in (first, second, third) for kind in ("access_token", "refresh_token")}
    assert len(tokens) == 5, "one chain goes on, whoever takes part"
    assert second["refresh_token"] == third["refresh_token"] != first["refresh_token"]
    assert all(works(server, issued["access_token"]) for issued in (first, second, third))
    assert client.refreshes(third["refresh_token"]).status_code == 200
    monkeypatch.setattr(logins, "GRACE", timedelta(0))
    assert client.refreshes(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert not any(works(server, issued["access_token"]) for issued in (first, second, third)), (
        "a thief has one of them"
    )
    assert client.refreshes(second["refresh_token"]).status_code == 400


def test_tokens_expire(server: HttpServer, client: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "ACCESS_TIME", timedelta(0))
    issued = client.logs_in()
    assert not works(server, issued["access_token"])
    monkeypatch.undo()
    issued = client.refreshes(issued["refresh_token"]).json()
    assert works(server, issued["access_token"])
    assert issued["expires_in"] == 3600
    monkeypatch.setattr(logins, "REFRESH_TIME", timedelta(0))
    last = client.refreshes(issued["refresh_token"]).json()
    assert client.refreshes(last["refresh_token"]).status_code == 400


def test_a_session_of_the_page_ends_with_the_access_token(
    server: HttpServer, client: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = client.logs_in(Browser(server, "default"))
    with server.connect() as browser:
        assert browser.post("/ui/login", data={"key": issued["access_token"]}).status_code == 200
        assert browser.get("/ui/w/default").status_code == 200
        an_hour_later(monkeypatch)
        assert not works(server, issued["access_token"])
        assert browser.get("/ui/w/default").headers["location"].startswith("/ui/login")
        assert browser.get("/ui/w/default/events").status_code == 204
    assert works(server, client.refreshes(issued["refresh_token"]).json()["access_token"])


@pytest.mark.parametrize("era", [LEGACY, MODERN, "sse"])
@pytest.mark.slow
def test_a_stream_hears_only_what_a_valid_token_may(
    server: HttpServer, client: Plain, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    key = {LEGACY: "legacy", MODERN: "modern"}.get(era, era)
    put, uri = {"scope": "vault", "key": key}, f"memory://vault/{key}"
    issued, other = client.logs_in(), Plain(server).logs_in()
    with closing(Ears(server, era, bearer(issued["access_token"])).listen(uri)) as ears:
        server.tool("commit_memory", bearer(other["access_token"]), **put, content="before")
        until(lambda: uri in ears.notices(), "a notice")
        an_hour_later(monkeypatch)
        issued, other = (client.refreshes(issued["refresh_token"]).json(), Plain(server).logs_in())
        until(lambda: ears.notices().count(uri) > 1 or ears.ended.is_set(), "the end of what it hears")
        heard = len(ears.notices())
        with closing(Ears(server, era, bearer(other["access_token"])).listen(uri)) as witness:
            server.tool("commit_memory", bearer(other["access_token"]), **put, content="after")
            until(lambda: uri in witness.notices(), "a notice")
            assert len(ears.notices()) == heard
            if era != MODERN:  # there, a client asks again
                ears.post({"jsonrpc": "2.0", "id": 99, "method": "ping"}, **bearer(issued["access_token"]))
                until(lambda: len(ears.notices()) > heard, "notices, for the token was renewed")


@pytest.mark.slow
def test_a_listening_client_gets_an_answer_when_its_token_expires(
    server: HttpServer, client: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "ACCESS_TIME", timedelta(seconds=5))
    with closing(Ears(server, MODERN, bearer(client.logs_in()["access_token"])).listen("memory://vault/k")) as ears:
        until(ears.ended.is_set, "the end of the stream")
        assert "result" in ears.messages[-1]


def an_hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock to when access tokens have expired, and refresh tokens have not."""
    present = Clock.now
    monkeypatch.setattr(Clock, "now", lambda of: timestamp(moment(present(of)) + timedelta(minutes=61)))


def test_a_code_expires(client: Plain, server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "CODE_TIME", timedelta(0))
    assert client.exchanges(Browser(server).goes(client.asks())["code"]).json()["error"] == "invalid_grant"


def test_a_session_belongs_to_the_person_and_survives_refreshes(server: HttpServer, client: Plain) -> None:
    one = client.logs_in()
    put = {"scope": "session", "key": "k", "content": "written before the refresh"}
    named = {SESSION: "mine"}
    assert server.tool("commit_memory", bearer(one["access_token"]) | named, **put).status_code == 200
    two = client.refreshes(one["refresh_token"]).json()
    another = Plain(server).logs_in()
    for issued in (two, another):
        found = server.tool("search_memories", bearer(issued["access_token"]) | named, query="before the refresh")
        assert [each["key"] for each in found.json()["results"]] == ["k"]


def test_a_login_is_bound_to_what_was_chosen(server: HttpServer, client: Plain) -> None:
    issued = client.logs_in(Browser(server, "team", "read"))
    headers = bearer(issued["access_token"])
    assert issued["scope"] == "read"
    assert server.tool("memory_inspect", headers | {WORKSPACE: "default"}).status_code == 403
    refused = server.tool("memory_store", headers, content="x")
    assert (refused.status_code, refused.json()["error"]) == (403, "insufficient_scope")
    assert 'scope="read write"' in refused.headers["WWW-Authenticate"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_store", "arguments": {}}}
    accept = {"Accept": "application/json, text/event-stream"}
    answer = server.request("POST", "/mcp", headers=headers | accept, json=call)
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
    call["params"] = {"name": "create_project", "arguments": {}}
    answer = server.request("POST", "/mcp", headers=headers | accept, json=call)
    assert 'scope="read write"' in answer.headers["WWW-Authenticate"]
    odd: Any
    for odd in ([], "tools/call", {"method": "tools/call", "params": {"name": ["tools/call"]}}):
        assert server.request("POST", "/mcp", headers=headers | accept, json=odd).status_code != 403


def test_all_workspaces_can_be_granted_if_the_session_chooses_one(server: HttpServer, client: Plain) -> None:
    issued = client.logs_in(Browser(server, "all of them; the client chooses", "admin"))
    headers = bearer(issued["access_token"])
    for name in ("default", "team"):
        answer = server.tool("memory_store", headers | {WORKSPACE: name}, content=f"in {name}")
        assert answer.status_code == 200, answer.text


def test_what_an_operator_sees_and_ends(server: HttpServer, client: Plain) -> None:
    issued, other = client.logs_in(), Plain(server, client_name="another client").logs_in()
    listed = memoryd(server.environ, "access", "list", "--json").stdout
    assert '"another client"' in listed
    assert "team" in memoryd(server.environ, "access", "list").stdout
    assert "Ended" in memoryd(server.environ, "access", "revoke", "another client").stdout
    assert (works(server, issued["access_token"]), works(server, other["access_token"])) == (True, False)
    assert "There is no login" in memoryd(server.environ, "access", "revoke", "another client", code=1).stderr
    log = memoryd(server.environ, "access", "log", "--json").stdout
    assert "login revoked" in log
    assert "consent given" in log
    for secret in (issued["access_token"], other["refresh_token"]):
        assert secret[-32:] not in log + listed


def test_an_archived_workspace_is_reported(server: HttpServer, client: Plain) -> None:
    browser = Browser(server, password="another long password")
    with beside(server) as engine:
        accounts_of(engine).set("ann", "another long password", "read", "team")
        engine.workspaces.archive("team")
        page = browser.logs_in(browser.opens(client.asks()), name="ann")
        engine.workspaces.restore("team")
        accounts_of(engine).remove("ann")
    assert page.status_code == 403
    assert "archived or deleted" in page.text


def test_a_new_password_ends_the_logins(server: HttpServer) -> None:
    with beside(server) as engine:
        accounts_of(engine).set("ann", "another long password", "read", "team")
    client = Plain(server)
    browser = Browser(server, password="another long password", level="read")
    page = browser.opens(client.asks())
    assert browser.logs_in(page, name="owner").status_code == 403
    consent = browser.logs_in(page, name="ann")
    assert consent.status_code == 200
    assert "default" not in consent.text
    assert browser.allows(consent, level="write").status_code == 400
    code = browser.allows(consent).headers["location"].partition("code=")[2].partition("&")[0]
    issued = client.exchanges(code).json()
    assert works(server, issued["access_token"])
    with beside(server) as engine:
        assert accounts_of(engine).set("ann", "and yet another password", "read", "team")
        assert not works(server, issued["access_token"])
        accounts_of(engine).remove("ann")
        assert accounts_of(engine).check("ann", "and yet another password") is None


@pytest.mark.stores
@pytest.mark.slow
def test_it_may_restart_in_the_middle_of_a_login(tmp_path: Path) -> None:
    port = str(free_port())
    with published(tmp_path, port=port) as server:
        client, browser = Plain(server), Browser(server)
        page = browser.opens(client.asks())
    with published(tmp_path, port=port) as server:
        client.server = browser.server = server
        consent = browser.logs_in(page)
    with published(tmp_path, port=port) as server:
        client.server = browser.server = server
        landed = browser.allows(consent).headers["location"]
    with published(tmp_path, port=port) as server:
        client.server = server
        issued = client.exchanges(landed.partition("code=")[2].partition("&")[0]).json()
        assert works(server, issued["access_token"])


def test_a_read_only_server_on_postgres_keeps_logins_but_makes_none(
    tmp_path: Path, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    port, url = str(free_port()), database(postgres, tmp_path)
    with published(tmp_path, port=port, MEMORY_DATABASE_URL=url) as server:
        client = Plain(server)
        issued = client.logs_in()
    address = f"http://127.0.0.1:{port}"
    with serving(
        tmp_path, "--port", port, "--read-only", MEMORY_DATABASE_URL=url, MEMORY_PUBLIC_URL=address
    ) as replica:
        client.server = replica
        assert works(replica, issued["access_token"])
        refused = client.refreshes(issued["refresh_token"])
        page = Browser(replica).opens(client.asks())
    assert (refused.status_code, refused.json()["error"], page.status_code) == (503, "temporarily_unavailable", 503)
    for text in (refused.text, page.text):
        assert "does not allow this now" in text
        assert "unreachable" not in text
    assert "is read-only" in caplog.text


@pytest.mark.stores
def test_several_engines_refresh_at_once(tmp_path: Path) -> None:
    settings = Settings.read(environment(tmp_path) | NO_MODELS)
    with Engine(settings, fetch=False) as one, Engine(settings, fetch=False) as other:
        accounts_of(one).set("owner", PASSWORD)
        team = one.workspaces.ensure("team")
        client, _ = clients_of(one).register("c", [BACK], "none")
        key = logins_of(one).begin(asked_by(client.id))
        logins_of(other).identify(key, "browser", Person(subject="s", name="owner", level="admin"))
        code, _ = logins_of(one).consent(key, "browser", "write", team.id)
        issued = logins_of(other).exchange(client.id, code, VERIFIER, BACK)
        ready = Barrier(AT_ONCE)

        def refresh(number: int) -> Issued:
            ready.wait()
            return logins_of((one, other)[number % 2]).refresh(client.id, issued.refresh)

        with ThreadPoolExecutor(AT_ONCE) as threads:
            every = list(threads.map(refresh, range(AT_ONCE)))
        assert all(one.credentials.check(each.access) for each in every)
        assert len({each.refresh for each in every}) == 1
        assert all(logins_of(other).refresh(client.id, each.refresh) for each in every)


def test_ended_logins_are_forgotten(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    logins_of(engine).tidy(lambda: False)
    assert not engine.store.placement.exists(), "nothing is made for it"
    client, _ = clients_of(engine).register("c", [BACK], "none")
    monkeypatch.setattr(logins, "REQUEST_TIME", timedelta(0))
    logins_of(engine).begin(asked_by(client.id))
    monkeypatch.setattr(logins, "REMEMBERED", timedelta(0))
    monkeypatch.setattr(access_log, "KEPT", timedelta(0))
    logins_of(engine).tidy(lambda: False)
    assert clients_of(engine).get(client.id) is None
    assert access_log.last(engine.store, 10) == []
    ended = engine.store.read(None, lambda q: q.one("logins.ended", now="9", before="9"))
    assert ended is None


@pytest.mark.stores
def test_clients_that_were_never_admitted_make_room(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth_clients, "MOST", 3)
    clients = clients_of(engine)
    used, _ = clients.register("used", [BACK], "none")
    engine.store.write(None, lambda q: q.run("clients.use", id=used.id, now=engine.clock.now()))
    unused = [clients.register(f"unused {number}", [BACK], "none")[0].id for number in range(5)]
    assert [clients.get(one) is not None for one in unused] == [False, False, True, True, True]
    assert clients.get(used.id)
    registered = {entry.detail for entry in access_log.last(engine.store, 10)}
    assert registered == {used.id, *unused[2:]}, "nor do their entries in the list grow without end"


@pytest.mark.stores
def test_requests_without_a_login_make_room(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "MOST", 3)
    person = Person(subject="owner", name="owner", level="admin", workspace="", until="9")
    decided = logins_of(engine).begin(asked_by("c"))
    logins_of(engine).identify(decided, "browser", person)
    strangers = [logins_of(engine).begin(asked_by("c")) for _ in range(5)]
    assert logins_of(engine).decided(decided, "browser").person == person
    assert sum(kept(engine, key) is not None for key in strangers) == 3


@pytest.mark.stores
def test_a_request_that_was_not_granted_is_forgotten_soon(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "REQUEST_TIME", timedelta(0))
    key = logins_of(engine).begin(asked_by("c"))
    until(lambda: engine.clock.now() > kept(engine, key)["expires_at"], "its end")
    logins_of(engine).tidy(lambda: False)
    assert kept(engine, key) is None, "without a day's delay"


def kept(engine: Engine, key: str) -> Any:
    """Return the row of a request, even if it has expired."""
    return engine.store.read(None, lambda q: q.one("authorizations.by_id", id=hashed(key), code="", now=""))


@pytest.mark.stores
def test_only_the_latest_refused_logins_are_listed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "REFUSED", 3)
    accounts_of(engine).set("owner", PASSWORD)
    for number in range(5):
        logins_of(engine).refuse(f"stranger {number}", "an address")
    listed = [entry.subject for entry in access_log.last(engine.store, 10)]
    assert listed == ["stranger 4", "stranger 3", "stranger 2", "owner"]
