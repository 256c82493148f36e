"""The page without a browser: requests directly to the application, and its HTML parsed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal

from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.features.page.app import Page
from memoryd.features.page.local import application
from memoryd.settings import Settings
from tests.clients import environment

HOST = "http://memoryd.localhost:8765"
OWN = {"Sec-Fetch-Site": "same-origin"}
HTMX = OWN | {"HX-Request": "true"}
INLINE = {"a", "abbr", "b", "button", "code", "del", "i", "ins", "kbd", "span", "time"}


class Visitor:
    """The HTTP side of a browser."""

    def __init__(
        self, portal: BlockingPortal, page: Page, engine: Engine, key: str = "", address: str = "127.0.0.1"
    ) -> None:
        self.page, self.engine = page, engine
        self._portal = portal
        transport = httpx2.ASGITransport(app=application(engine, page), client=(address, 41234))
        self._client = httpx2.AsyncClient(transport=transport, base_url=HOST)
        if key:
            assert self.enter(key).status_code == 200

    def enter(self, key: str, **headers: str) -> httpx2.Response:
        return self.request("POST", "/ui/login", data={"key": key}, headers=headers)

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return self._portal.call(lambda: self._client.request(method, path, **options))

    def get(self, path: str = "", **headers: str) -> httpx2.Response:
        """Open a part of a workspace as a browser does."""
        return self.request("GET", f"/ui/w/default{path}", headers=OWN | headers)

    def seen(self, path: str = "", **headers: str) -> "Html":
        """Do the same, which must succeed."""
        answer = self.get(path, **headers)
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return Html(answer.text)

    def post(self, path: str, /, **fields: Any) -> httpx2.Response:
        return self.request("POST", f"/ui/w/default{path}", data=fields, headers=HTMX)

    def done(self, path: str, /, **fields: Any) -> "Html":
        """Make a change, which must succeed."""
        answer = self.post(path, **fields)
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return Html(answer.text)


class Site:
    """A page over an engine, and its visitors."""

    def __init__(self, portal: BlockingPortal, engine: Engine) -> None:
        self.engine, self.page = engine, Page(engine)
        self._portal = portal
        self.scope = Scope(engine, engine.workspaces.ensure("default"))

    def owner(self) -> Visitor:
        """Return the visitor who started it, logged in with a ticket."""
        return self.with_key(self.page.access.ticket())

    def with_key(self, key: str = "", **more: str) -> Visitor:
        return Visitor(self._portal, self.page, self.engine, key, **more)

    def granted(self, name: str, level: Any = "read", **more: Any) -> Visitor:
        return self.with_key(self.engine.tokens.create(name, level, **more))


@contextmanager
def site(home: Path, **settings: str) -> Iterator[Site]:
    made = Engine(Settings.read(environment(home, None, **settings)), fetch=False)
    with made as engine, start_blocking_portal() as portal:
        yield Site(portal, engine)


class Html(HTMLParser):
    """A text as a browser parses it: its elements with their attributes, and the remaining text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._texts.append("" if tag in INLINE else " ")
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self._texts).split())

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [own for name, own in self.elements if name == tag and wanted.items() <= own.items()]

    @property
    def cards(self) -> list[str]:
        """Return the ids of the records shown."""
        return [own["data-id"] for own in self.all("article") if "data-id" in own]


def undo_of(html: Html) -> dict[str, Any]:
    """Return what the button of a toast sends."""
    (button,) = html.all("button", data_do="undo")
    sent: dict[str, Any] = json.loads(button["data-undo"])
    return sent
