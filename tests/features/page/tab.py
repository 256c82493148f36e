"""A page on a port of this machine, and a tab of a real Chromium that shows it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.features.page.app import Page
from memoryd.features.page.local import application
from memoryd.server.http.app import prepared
from memoryd.settings import Settings
from tests.clients import environment, until
from tests.features.browser import PICTURES
from tests.features.page.demo import fill

SHOWN = {"memories-light", "corrected", "graph-dark", "memories-phone"}
"""The pictures of docs/ui.md."""
SCREEN, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


class Served:
    """A page on a port of this machine, over the demo's memory or another one."""

    def __init__(self, home: Path, filled: Callable[[Engine], Scope] = fill, **settings: str) -> None:
        self.engine = Engine(Settings.read(environment(home, None, MEMORY_PORT="0", **settings)), fetch=False)
        self.page = Page(self.engine)
        self.scope = filled(self.engine)
        self.url = ""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._server = prepared(self.engine, made=lambda _: application(self.engine, self.page), announce=self._heard)
        self._thread.start()
        until(lambda: self.url, "the page")

    def _run(self) -> None:
        self._server.run()

    def _heard(self, address: str) -> None:
        self.url = address.replace("127.0.0.1", "memoryd.localhost")

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)


class Tab:
    """A signed-in tab that collects every error."""

    def __init__(self, browser: Any, served: Served) -> None:
        self.served = served
        self.complaints: list[str] = []
        self.context = browser.new_context(viewport=SCREEN)
        self.page = self._opened("/ui/login?next=/ui/w/default")
        self.page.fill("#key", served.page.access.ticket())
        self.page.click("button[type=submit]")
        self._wait()

    def again(self) -> None:
        """Close the tab, and open another one, which is signed in like it and has no complaints."""
        self.page.close()
        self.complaints.clear()
        self.page = self._opened("/ui/w/default")
        self._wait()

    def _opened(self, path: str) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.goto(f"{self.served.url}{path}")
        return page

    def _wait(self) -> None:
        self.page.wait_for_selector(".card, #results .empty")
        self.page.wait_for_load_state()  # the page listens to keys once it is completely loaded

    def _hear(self, message: Any) -> None:
        aborted = "sendAbort" in message.text or "afterRequest" in message.text  # a newer search replaced an older one
        if message.type == "error" and not aborted:
            self.complaints.append(message.text)

    def go(self, path: str = "", wait: str = "#main") -> None:
        self.page.goto(f"{self.served.url}/ui/w/default{path}")
        self.page.wait_for_selector(wait)

    def sees(self, text: str, within: str = "#main") -> None:
        until(lambda: text in self.page.locator(within).inner_text(), f"{text!r} on the page", 30)

    def misses(self, text: str, within: str = "#results") -> None:
        until(lambda: text not in self.page.locator(within).inner_text(), f"no {text!r} on the page", 30)

    def picture(self, name: str) -> None:
        """Take a picture for docs/ui.md, if pictures are wanted."""
        if PICTURES and name in SHOWN:
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png")


def cards(tab: Tab) -> list[str]:
    """Return the ids of the memories in the list."""
    found: list[str] = tab.page.evaluate("[...document.querySelectorAll('#results .card')].map((e) => e.dataset.id)")
    return found
