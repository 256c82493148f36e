"""Answers that come late, in the worst order: no list replaces what the user has begun since."""

import re
from typing import Any

import pytest

from memoryd.core.memories import listing
from memoryd.core.memories.memories import Criteria, Memories
from tests.clients import until
from tests.features.page.tab import Tab, cards

pytestmark = [pytest.mark.process, pytest.mark.slow]


class Held:
    """Requests of a tab that are held until they are released."""

    def __init__(self, tab: Tab, address: str) -> None:
        self._tab, self._routes = tab, list[Any]()
        tab.page.route(re.compile(address), self._hold)

    def _hold(self, route: Any) -> None:
        self._routes.append(route)

    def wait(self) -> None:
        until(lambda: self._tab.page.evaluate("1") and self._routes, "the request", 30)

    def let_go(self) -> None:
        """Release the first request, and wait until the page has processed its answer."""
        self.wait()
        route = self._routes.pop(0)
        with self._tab.page.expect_event("requestfinished", lambda request: request.url == route.request.url):
            route.continue_()
        self._tab.page.evaluate("new Promise((then) => setTimeout(then, 50))")


LIST = r"/ui/w/default$"
PRESSED = """(key) => document.addEventListener("htmx:afterSwap", () => setTimeout(() =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))), { once: true })"""
"""A key that is pressed right after a swap."""


@pytest.mark.parametrize("open_already", [False, True])
def test_a_late_answer_of_the_search_does_not_replace_a_correction(tab: Tab, open_already: bool) -> None:
    kept = Memories(tab.served.scope).store(f"The cellar is dry, {open_already}.")
    tab.page.fill("#q", "cellar")
    until(lambda: cards(tab) == [kept.id], "the cellar", 30)
    search, form = Held(tab, "q=cellar.+dry"), Held(tab, "/edit$")
    tab.page.fill("#q", "cellar dry")
    search.wait()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("e")
    for late in (form, search) if open_already else (search, form):
        late.let_go()
    tab.page.wait_for_selector(".editing textarea:focus")
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_selector(".editing", state="detached")
    Memories(tab.served.scope).forget(Criteria(ids=(kept.id,)))


def test_a_key_right_after_a_new_list_finds_the_focus_where_it_was(tab: Tab) -> None:
    tab.page.locator("#results .card").first.focus()
    tab.page.evaluate(PRESSED, "e")
    Memories(tab.served.scope).store("The list is another now.")
    tab.page.evaluate("document.dispatchEvent(new CustomEvent('memoryd:changed', { detail: { ids: ['a', 'b'] } }))")
    tab.page.wait_for_selector(".editing textarea:focus")


def test_a_list_with_news_does_not_replace_a_later_request(tab: Tab) -> None:
    news, search = Held(tab, LIST), Held(tab, "q=chimney")
    Memories(tab.served.scope).store("The chimney is swept.")
    news.wait()
    tab.page.fill("#q", "chimney")
    search.wait()
    news.let_go()
    search.let_go()
    until(lambda: len(cards(tab)) == 1, "the chimney alone", 30)


def test_an_undo_does_not_wait_for_a_list_or_get_lost_behind_one(tab: Tab) -> None:
    kept = Memories(tab.served.scope).store("The gate is to be painted.")
    tab.sees("The gate is to be painted.")
    tab.page.locator(".card", has_text="The gate").first.focus()
    tab.page.keyboard.press("Delete")
    tab.misses("The gate")
    tab.page.wait_for_selector(".card:focus")  # the next one; a list whose card has the focus waits to be asked for
    news = Held(tab, LIST)
    tab.page.evaluate("document.activeElement.blur()")
    Memories(tab.served.scope).store("This is news.")
    news.wait()
    tab.page.keyboard.press("u")
    Memories(tab.served.scope).store("And this is more of it.")
    until(lambda: listing.story(tab.served.scope, kept.id).now.deleted_at is None, "the gate again", 30)


def test_a_requested_view_replaces_the_one_requested_before(tab: Tab) -> None:
    slow = Held(tab, "/history$")
    tab.page.click("nav >> text=History")
    slow.wait()
    with tab.page.expect_event("requestfailed", lambda request: request.url.endswith("/history")):
        tab.page.click("nav >> text=Vault")
    tab.page.wait_for_selector("main[data-view=vault]")


def test_an_answer_of_the_search_does_not_come_after_another_view(tab: Tab) -> None:
    search, over = Held(tab, "q=cellar"), list[str]()
    tab.page.on("requestfailed", lambda request: over.append(request.url))
    tab.page.fill("#q", "cellar")
    search.wait()
    tab.page.click("nav >> text=Vault")
    tab.page.wait_for_selector("main[data-view=vault]")
    until(lambda: tab.page.evaluate("1") and any("q=cellar" in url for url in over), "the end of the search", 10)
    assert tab.page.url.endswith("/vault")
    tab.page.go_back()
    tab.page.wait_for_selector("#search")
