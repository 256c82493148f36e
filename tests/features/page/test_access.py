"""Access to the page: who is admitted, for how long, and which requests can change something."""

import socket
import sys
from pathlib import Path
from subprocess import PIPE
from urllib.parse import parse_qs, urlsplit

import pytest

from memoryd.core.memories.memories import Memories
from memoryd.features.page.access import IDLE, TICKET_TIME, PageAccess
from memoryd.features.page.app import HEADERS
from memoryd.features.page.app import VIEWS as ALL
from memoryd.features.page.local import own_name
from tests.clients import PATIENCE, environment, until
from tests.features.page.kit import HOST, HTMX, OWN, Html, Site, Visitor, site
from tests.forks import Fork

READS = [view.path for view in ALL if view.method == "GET"]
WRITES = [view.path for view in ALL if view.method == "POST"]


def filled(path: str, record: str) -> str:
    return path.replace("{id}", record).replace("{session:path}", "s")


@pytest.fixture
def record(here: Site) -> str:
    return Memories(here.scope).store("Ann lives in Rome.", ["people"]).id


class Time:
    """A clock that tests control."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_ticket_opens_one_session_within_its_time(here: Site) -> None:
    time = Time()
    access = PageAccess(here.engine.credentials, time)
    ticket, late = access.ticket(), access.ticket()
    session = access.enter(ticket)
    assert session
    assert access.grant(session)
    assert access.enter(ticket) is None
    time.now += TICKET_TIME + 1
    assert access.enter(late) is None


def test_a_session_ends_when_it_is_idle_or_logged_out(here: Site) -> None:
    time = Time()
    access = PageAccess(here.engine.credentials, time)
    one, other = (access.enter(access.ticket()) or "" for _ in range(2))
    time.now += IDLE - 1
    assert access.grant(one)
    time.now += IDLE - 1
    assert access.grant(one)
    assert access.grant(other) is None
    access.leave(one)
    assert access.grant(one) is None


def test_only_hashes_are_kept(here: Site) -> None:
    access = PageAccess(here.engine.credentials)
    ticket = access.ticket()
    session = access.enter(access.ticket()) or ""
    assert ticket not in str(vars(access))
    assert session not in str(vars(access))


def test_a_session_ends_with_its_token(here: Site) -> None:
    reader = here.granted("reader")
    assert reader.get().status_code == 200
    here.engine.tokens.revoke("reader")
    assert reader.get().headers["location"].startswith("/ui/login")


def test_the_cookie_is_only_for_this_page(here: Site) -> None:
    cookie = here.with_key().enter(here.page.access.ticket()).headers["set-cookie"]
    assert cookie.startswith("memoryd_ui_8765=")
    for part in ("HttpOnly", "SameSite=strict", "Path=/ui"):
        assert part in cookie
    # a browser keeps the cookie of a session that is in use
    assert int(cookie.partition("Max-Age=")[2].partition(";")[0]) > 10 * IDLE


def test_guessing_is_limited(here: Site) -> None:
    stranger = here.with_key()
    codes = [stranger.enter(f"memoryd_x_{number}").status_code for number in range(25)]
    assert codes[0] == 403
    assert codes[-1] == 429
    assert stranger.enter(here.page.access.ticket()).status_code == 429


def test_a_whole_ipv6_network_gets_no_more_guesses(here: Site) -> None:
    codes = [here.with_key(address=f"2001:db8::{number}").enter("memoryd_x_y").status_code for number in range(1, 25)]
    assert (codes[0], codes[-1]) == (403, 429)
    assert here.with_key(address="2001:db8:0:1::1").enter("memoryd_x_y").status_code == 403


def test_a_login_leads_nowhere_else(here: Site) -> None:
    for target in ("https://evil.example/", "//evil.example", "/ui/..//evil", "/mcp", "\\\\evil"):
        answer = here.with_key().request("POST", "/ui/login", data={"key": here.page.access.ticket(), "next": target})
        assert 'content="0;url=/ui/"' in answer.text, target


def test_the_private_file_may_log_in_and_nothing_else(here: Site) -> None:
    assert here.with_key().enter(here.page.access.ticket(), Origin="null").status_code == 200
    answer = here.owner().request("POST", "/ui/w/default/restore", headers=HTMX | {"Origin": "null"})
    assert answer.status_code == 403


BROWSER = """
import re, sys
from pathlib import Path
from subprocess import PIPE
from urllib.parse import urlencode
from urllib.request import urlopen

form = Path(sys.argv[1].removeprefix("file://")).read_text()
fields = dict(re.findall(r'name=(key|next) value="([^"]*)"', form))
(place,) = re.findall(r'action="http://[^:]*(:[^"]*)"', form)
with urlopen(f"http://127.0.0.1{place}", urlencode(fields).encode(), timeout=30) as answer:
    Path(__file__).with_suffix(".status").write_text(str(answer.status))
"""


@pytest.mark.process
def test_a_browser_that_the_command_waits_for_is_served(home: Path, tmp_path: Path) -> None:
    script, status = tmp_path / "browser.py", tmp_path / "browser.status"
    script.write_text(BROWSER)
    environ = environment(home) | {"BROWSER": f"{sys.executable} {script} %s"}
    ui = Fork[str]([sys.executable, "-m", "memoryd", "ui", "--port", "0"], stdout=PIPE, text=True, env=environ)
    try:
        until(lambda: status.exists() and status.read_text(), "a login")
        assert status.read_text() == "200"
    finally:
        ui.terminate()
        assert "The page is at" in ui.communicate(timeout=PATIENCE)[0]
    assert ui.returncode == 0


# every route ---------------------------------------------------------------------------------------------------------


def test_the_page_has_a_name_that_each_browser_resolves(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", lost)
    assert own_name() == "memoryd.localhost"  # browsers resolve this name themselves
    monkeypatch.setattr(sys, "platform", "darwin")
    assert own_name() == "localhost"  # except Safari, which asks the system


def test_without_a_login_nothing_is_shown(here: Site, record: str) -> None:
    stranger = here.with_key()
    for path in READS:
        answer = stranger.get(filled(path, record))
        assert (answer.status_code, answer.headers["location"][:9]) == (303, "/ui/login"), path
        assert stranger.get(filled(path, record), **{"HX-Request": "true"}).status_code == 401, path


def test_after_a_new_login_the_view_returns_and_typed_text_is_kept(here: Site, record: str) -> None:
    stranger, place = here.with_key(), f"/ui/w/default/m/{record}?q=1"
    answer = stranger.get("?tag=a%26b", **{"HX-Request": "true", "HX-Current-URL": f"{HOST}{place}"})
    assert parse_qs(urlsplit(answer.headers["hx-redirect"]).query)["next"] == [place]
    answer = stranger.get("?tag=a%26b")
    assert parse_qs(urlsplit(answer.headers["location"]).query)["next"] == ["/ui/w/default?tag=a%26b"]
    answer = stranger.post(f"/m/{record}/correct", content="what took an hour to write")
    assert (answer.status_code, answer.headers["hx-retarget"]) == (401, "#toast")
    assert "hx-redirect" not in answer.headers
    (link,) = Html(answer.text).all("a")
    assert (link["href"], link["target"]) == ("/ui/login", "_blank")


def test_a_read_only_visitor_changes_nothing(here: Site, record: str) -> None:
    reader, stranger = here.granted("reader"), here.with_key()
    for path in WRITES:
        assert reader.post(filled(path, record), id=record).status_code == 403, path
        assert stranger.post(filled(path, record), id=record).status_code == 401, path


def test_a_read_only_visitor_sees_no_buttons(here: Site, record: str) -> None:
    reader = here.granted("reader")
    for path in ("", f"/m/{record}", "/history", "/vault", "/upkeep", "/state"):
        html = reader.seen(path)
        assert not [own for _, own in html.elements if "hx-post" in own], path
    assert reader.get(f"/m/{record}/edit").status_code == 403


def test_a_token_of_one_workspace_sees_only_that_one(here: Site, record: str) -> None:
    here.engine.workspaces.ensure("other")
    bound = here.granted("bound", "admin", workspace="other")
    for path in READS:
        assert bound.get(filled(path, record)).status_code == 404, path
    assert bound.request("GET", "/ui/w/other", headers=OWN).status_code == 200
    answer = bound.request("GET", "/ui/", headers=OWN)
    assert answer.headers["location"] == "/ui/w/other"


def test_each_view_answers_its_owner(owner: Visitor, record: str) -> None:
    for path in READS:
        answer = owner.get(filled(path, record))
        assert answer.status_code == (404 if path in ("/n", "/graph/path") else 200), (path, answer.text)


def test_a_token_of_named_tools_may_do_what_these_tools_do(here: Site, record: str) -> None:
    finder = here.granted("finder", "read", tools=["memory_inspect", "memory_forget"])
    assert "hx-post" in finder.get().text
    assert finder.post(f"/m/{record}/correct", content="Ann lives in Oslo.").status_code == 403
    assert finder.post(f"/m/{record}/forget").status_code == 200


@pytest.mark.parametrize("tools", [["memory_store"], ["memory_forget"], ["memory_store", "memory_forget"]])
def test_who_may_not_look_sees_no_text_and_changes_nothing(here: Site, record: str, tools: list[str]) -> None:
    blind = here.granted("blind", "read", tools=tools)
    before = Memories(here.scope).stats()
    fields = {"id": record, "all": "1", "verb": "tag", "tags": "x", "number": "1", "name": "Ann", "key": "k"}
    answers = [blind.get(filled(path, record)) for path in READS]
    answers += [blind.post(filled(path, record), content="Ann moved.", **fields) for path in WRITES]
    answers += [blind.request("GET", "/ui/", headers=OWN), blind.get("/events")]
    assert {answer.status_code for answer in answers} == {403, 204}
    assert not any("Ann" in answer.text for answer in answers)
    assert Memories(here.scope).stats() == before


def test_a_reader_creates_no_workspace(home: Path) -> None:
    with site(home) as made:
        made.engine.workspaces.delete("default")
        reader = made.granted("reader")
        assert "no workspaces" in reader.request("GET", "/ui/", headers=OWN).text
        assert made.owner().request("GET", "/ui/", headers=OWN).headers["location"] == "/ui/w/default"


def test_a_read_only_server_accepts_no_changes(home: Path) -> None:
    with site(home) as made:
        record = Memories(made.scope).store("Ann lives in Rome.").id
        made.granted("phone")
    with site(home, MEMORY_READ_ONLY="true") as made:
        owner = made.owner()
        for path in ("", "/state"):
            assert "hx-post" not in owner.get(path).text
        assert owner.get("/import").status_code == 403
        for path in WRITES:
            assert owner.post(filled(path, record), id=record, token="phone", name="x").status_code == 403, path
        assert [token.name for token in made.engine.tokens.all()] == ["phone"]


def test_each_answer_has_security_headers(here: Site, owner: Visitor) -> None:
    for path in ("", "/nothing", "/m/nothing", "/graph.json", "/../../static/../app.py"):
        for visitor in (owner, here.with_key()):
            answer = visitor.get(path)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, path
    file = owner.request("GET", "/ui/static/page.css")
    assert {name: file.headers.get(name) for name in HEADERS} == HEADERS | {"Cache-Control": "no-cache"}


# requests from elsewhere ---------------------------------------------------------------------------------------------

ACCEPTED = [OWN, {"Origin": HOST}]
REFUSED = [
    {},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://memoryd.localhost:9999"},
    {"Origin": "null"},
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "same-site", "Origin": HOST},
]


@pytest.mark.parametrize("headers", ACCEPTED)
def test_the_page_itself_may_change_things(owner: Visitor, record: str, headers: dict[str, str]) -> None:
    path = f"/ui/w/default/m/{record}/forget"
    assert owner.request("POST", path, headers=headers).status_code == 403
    assert owner.request("POST", path, headers=headers | {"HX-Request": "true"}).status_code == 200


def test_no_other_page_may_change_things(here: Site, owner: Visitor, record: str) -> None:
    for headers in REFUSED:
        for extra in ({}, {"HX-Request": "true"}):
            answer = owner.request("POST", f"/ui/w/default/m/{record}/forget", headers=headers | extra)
            assert answer.status_code == 403, headers
    assert Memories(here.scope).get([record])


def test_there_are_no_other_methods(owner: Visitor, record: str) -> None:
    for method in ("DELETE", "PUT", "PATCH", "OPTIONS"):
        assert owner.request(method, f"/ui/w/default/m/{record}", headers=HTMX).status_code == 405


def test_other_pages_cannot_read_it(owner: Visitor) -> None:
    for site_ in ("same-site", "cross-site"):
        assert owner.get(**{"Sec-Fetch-Site": site_, "Sec-Fetch-Mode": "no-cors"}).status_code == 403
        assert owner.get(**{"Sec-Fetch-Site": site_, "Sec-Fetch-Mode": "navigate"}).status_code == 200


def test_other_names_are_refused(owner: Visitor) -> None:
    for host in ("evil.example", "evil.example:8765", "memoryd.localhost.evil.example", ""):
        assert owner.get(Host=host).status_code == 421
