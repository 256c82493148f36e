"""What follows an act without a reload: the keyboard goes to what is next; lists, counts and versions are new."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from tests.clients import until
from tests.features.page.tab import Served, Tab, cards

pytestmark = [pytest.mark.process, pytest.mark.slow]


def few(engine: Engine) -> Scope:
    """Three memories."""
    made = Scope(engine, engine.workspaces.ensure("default"))
    for name in ("one", "two", "three"):
        Memories(made).store(f"Lamp {name} is lit.", ["lamps"])
    return made


@pytest.fixture
def lamps(browser: Any, tmp_path: Path) -> Any:
    served = Served(tmp_path, few)
    tab = Tab(browser, served)
    tab.page.wait_for_selector("aside section")
    yield tab
    tab.context.close()
    served.stop()
    assert tab.complaints == []


def counts(tab: Tab, *expected: str) -> None:
    """Wait until the facets have these lines."""
    seen = "aside.side"
    for line in expected:
        until(lambda line=line: line in " ".join(tab.page.locator(seen).inner_text().split()), line, 30)  # type: ignore[misc]


def focused(tab: Tab, expected: str) -> None:
    """Wait until the element with the keyboard matches a selector."""
    until(lambda: tab.page.evaluate("(s) => document.activeElement.matches(s)", expected), f"focus on {expected}", 30)


def test_the_keyboard_goes_to_the_next_memory_and_the_counts_follow(lamps: Tab) -> None:
    first, second, third = cards(lamps)
    keys = lamps.page.keyboard
    lamps.page.locator(".card").first.focus()
    keys.press("Delete")
    focused(lamps, f'article[data-id="{second}"]')
    counts(lamps, "memories 2", "lamps 2")
    keys.press("j")
    keys.press("Delete")
    focused(lamps, f'article[data-id="{second}"]')  # the last one is gone, so the one before it
    counts(lamps, "memories 1")
    assert third not in cards(lamps)
    keys.press("Delete")
    lamps.sees("Nothing is remembered yet.")
    focused(lamps, "#results")
    keys.press("u")
    lamps.sees("Lamp two")
    counts(lamps, "memories 1")
    assert first not in cards(lamps)


def test_what_the_page_itself_has_done_is_no_news(lamps: Tab) -> None:
    page, keys = lamps.page, lamps.page.keyboard
    page.click("text=New memory")
    page.wait_for_selector("textarea")
    keys.type("Lamp four is lit.")
    keys.press("Control+Enter")
    lamps.sees("Lamp four")
    focused(lamps, "article.card")
    no_news(lamps)
    keys.press("e")
    page.wait_for_selector(".editing textarea:focus")
    page.fill(".editing textarea", "Lamp four is out.")
    keys.press("Control+Enter")
    lamps.sees("is out.")
    focused(lamps, "article.card")
    no_news(lamps)
    keys.press("u")
    lamps.sees("Lamp four is lit.")
    no_news(lamps)
    keys.press("Delete")
    lamps.misses("Lamp four")
    focused(lamps, "article.card")
    no_news(lamps)
    Memories(lamps.served.scope).store("Lamp five is lit.")
    page.wait_for_selector(".news")
    assert page.inner_text(".news").startswith("1 ")


def no_news(tab: Tab) -> None:
    tab.page.wait_for_timeout(2_500)  # two looks for news
    assert tab.page.locator(".news").count() == 0


def test_the_number_of_hits_follows(lamps: Tab) -> None:
    lamps.go("?q=lamp", ".card")
    lamps.sees("3 found")
    lamps.page.locator(".card").first.focus()
    lamps.page.keyboard.press("Delete")
    lamps.sees("2 found")
    focused(lamps, "article.card")
    lamps.page.keyboard.press("u")
    lamps.sees("3 found")


def test_a_new_memory_gets_the_keyboard_and_is_counted(lamps: Tab) -> None:
    keys = lamps.page.keyboard
    keys.press("n")
    lamps.page.wait_for_selector("#new textarea:focus")
    keys.type("Lamp four is dark.")
    lamps.page.fill("#tags-new", "dark")
    lamps.page.on("dialog", lambda asked: asked.dismiss())
    keys.press("Escape")  # it is not lost by a slip
    lamps.page.locator("#new").get_by_role("button", name="Cancel").click()
    assert lamps.page.input_value("#new textarea") == "Lamp four is dark."
    lamps.page.locator("#new textarea").focus()
    keys.press("Control+Enter")
    lamps.sees("Lamp four is dark.", "#results")
    focused(lamps, "#results article.card:first-of-type")
    counts(lamps, "memories 4", "dark 1")
    assert lamps.page.locator("#new form").count() == 0
    keys.press("u")
    lamps.misses("Lamp four")
    counts(lamps, "memories 3")
    keys.press("n")
    lamps.page.wait_for_selector("#new textarea:focus")
    keys.press("Escape")
    until(lambda: lamps.page.locator("#new form").count() == 0, "no form", 30)
    focused(lamps, '[data-do="new"]')


def test_many_that_are_forgotten_are_counted_and_undone(lamps: Tab) -> None:
    for number in range(2):
        lamps.page.locator(".choose input").nth(number).check()
    lamps.page.get_by_role("button", name="Forget…").click()
    lamps.page.locator("dialog[open]").get_by_role("button", name="Forget", exact=True).click()
    counts(lamps, "memories 1")
    until(lambda: len(cards(lamps)) == 1, "one memory", 30)
    focused(lamps, "article.card")
    lamps.page.keyboard.press("u")
    until(lambda: len(cards(lamps)) == 3, "all", 30)
    counts(lamps, "memories 3")


def test_a_record_and_figures_elsewhere_follow(lamps: Tab) -> None:
    page = lamps.page
    page.locator("a.open").first.evaluate("one => one.click()")
    page.wait_for_selector("main[data-record] .card")
    page.locator(".card").first.focus()
    page.keyboard.press("Delete")
    lamps.sees("Forgotten just now")
    focused(lamps, "article.card.deleted")
    page.click("nav >> text=State")
    lamps.sees("2\nmemories", ".tiles")
    page.click('#toast [data-do="undo"]')
    lamps.sees("3\nmemories", ".tiles")


def test_the_keyboard_waits_for_the_forgotten_record_while_another_part_of_the_page_arrives(lamps: Tab) -> None:
    page = lamps.page
    page.locator("a.open").first.evaluate("one => one.click()")
    page.wait_for_selector("main[data-record] .card")
    lamps.misses("Looking…", "aside")

    def late(route: Any) -> None:
        time.sleep(0.5)
        route.continue_()

    page.route("**/m/*", late)
    part = '[hx-get$="/alike"]'
    more = f"() => htmx.ajax('GET', document.querySelector('{part}').getAttribute('hx-get'), '{part}')"
    page.evaluate(f"() => document.addEventListener('memoryd:gone', {more}, {{ once: true }})")
    page.locator(".card").first.focus()
    page.keyboard.press("Delete")
    lamps.sees("Forgotten just now")
    focused(lamps, "article.card.deleted")


def test_an_earlier_version_is_restored_and_that_undone(lamps: Tab) -> None:
    page = lamps.page
    page.locator("a.open").first.evaluate("one => one.click()")
    page.wait_for_selector("main[data-record] .card")
    page.locator(".card").first.focus()
    page.keyboard.press("e")
    page.wait_for_selector(".editing textarea:focus")
    page.fill(".editing textarea", "Lamp three is broken.")
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Restore this version").click()
    lamps.sees("Restored.", "#toast")
    lamps.sees("is lit.", "article.card .text")
    page.click('#toast [data-do="undo"]')
    lamps.sees("is broken.", "article.card .text")
    until(lambda: page.locator("#versions .version").count() == 3, "each change is a version", 30)


def test_a_node_keeps_the_keyboard(tab: Tab) -> None:
    tab.go("/n?name=gateway")
    tab.page.click("text=Add an observation")
    tab.page.fill("#new-fact", "gateway is written in Go.")
    tab.page.get_by_role("button", name="Add", exact=True).click()
    tab.sees("written in Go", "#panel")
    focused(tab, "#panel")
    tab.page.get_by_text(re.compile("Undo")).click()
    tab.misses("written in Go", "#panel")


def test_a_key_that_does_nothing_says_why(lamps: Tab) -> None:
    page, keys = lamps.page, lamps.page.keyboard
    Journal(lamps.served.scope).add("Which lamp?", "", "The third.", "a session")
    entities.create(Graph(lamps.served.scope), [NewEntity(name="Ann", type="person")])
    lamps.go("", ".card")
    for key in ("e", "Delete", "x"):
        keys.press(key)
        lamps.sees("Choose one first", "#toast")
    keys.press("u")
    lamps.sees("nothing to undo", "#toast")
    for kind, key, reason in (
        ("turn", "e", "cannot be corrected"),
        ("turn", "x", "cannot be selected"),
        ("entity", "e", "A node is changed in the graph"),
        ("entity", "Delete", "A node is forgotten in the graph"),
    ):
        page.locator(f'.card[aria-label^="{kind}"]').focus()
        keys.press(key)
        lamps.sees(reason, "#toast")
    page.locator('.card[aria-label^="memory"]').first.focus()
    keys.press("Delete")
    lamps.sees("Undo", "#toast")
    page.locator('.card[aria-label^="entity"]').focus()
    keys.press("e")
    lamps.sees("A node is changed", "#toast")
    keys.press("u")
    lamps.sees("Lamp three")
    lamps.go("?deleted=1", "#results")
    page.click("nav >> text=Timeline")
    keys.press("e")
    lamps.sees("nothing here to choose", "#toast")
