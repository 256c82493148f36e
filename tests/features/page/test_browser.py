"""The page in a real Chromium: what only a browser can show."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.memories import listing
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from tests.clients import until
from tests.core.kit import NOMIC, ollama
from tests.features.page.demo import LIGHTHOUSE, MANY, NODES, crowd
from tests.features.page.tab import PHONE, SCREEN, Served, Tab, cards
from tests.features.page.test_texts import PAYLOADS

pytestmark = [pytest.mark.process, pytest.mark.slow]


VIEWS = {
    "": "memories",
    "/recall?q=ledger": "recall",
    "/graph": "graph",
    "/vault": "vault",
    "/sessions": "sessions",
    "/timeline": "timeline",
    "/history": "history",
    "/upkeep": "upkeep",
    "/audit": "audit",
    "/state": "state",
}
CONTRAST = """() => {
  const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].filter((n) => n.nodeType === 3 && n.textContent.trim()).length;
    const s = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!text || s.visibility === "hidden" || s.opacity === "0" || box.width < 2) continue;
    if (e.closest("dialog, .unseen, .skip, option")) continue;
    const a = light(parse(s.color)), b = light(behind(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${e.className || e.tagName} ${ratio.toFixed(2)} ${e.textContent.trim().slice(0, 30)}`);
  }
  return low;
}"""


@pytest.mark.long
def test_every_view_is_readable_in_both_schemes_and_fits_a_phone(tab: Tab) -> None:
    for path, view in VIEWS.items():
        tab.go(path, "#picture[data-ready]" if view == "graph" else "#main")
        for busy in ("Looking", "of about", "Examining"):
            tab.misses(busy, "#main")
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            low = tab.page.evaluate(CONTRAST)
            assert low == [], (view, scheme, low)
            tab.picture(f"{view}-{scheme}")
        tab.page.emulate_media(color_scheme="light")
        tab.page.set_viewport_size(PHONE)
        wide = tab.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"], (view, wide)
        tab.picture(f"{view}-phone")
        tab.page.set_viewport_size(SCREEN)


COMPOSED = """(key) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, isComposing: true }))"""
"""A key while an input method composes a word, as in Japanese."""
LIST = """fetch(location.href, { headers: { "HX-Request": "true", "HX-Target": "results" } }).then((r) => r.text())"""
HIDDEN = """(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange")); }"""
"""A tab in the background: a browser has six connections to a server for all tabs together."""


def test_a_wrong_memory_is_found_corrected_and_the_correction_undone_by_keys_only(tab: Tab) -> None:
    Memories(tab.served.scope).store("The door of the archive opens with key 7.")
    keys = tab.page.keyboard
    keys.press("/")
    keys.type("door archi")
    until(lambda: tab.page.locator("#results .card").count() == 1, "one hit", 30)
    keys.press("ArrowDown")
    keys.press("e")
    tab.page.wait_for_selector(".editing textarea:focus")
    tab.page.fill(".editing textarea", "The door of the archive opens with key 9.")
    tab.page.evaluate(COMPOSED, "Escape")
    keys.press("Escape")
    tab.page.focus(".editing textarea")
    keys.press("Control+Enter")
    tab.sees("key 9.")
    until(lambda: tab.page.evaluate("document.activeElement.matches('article.card')"), "the keyboard on the memory", 30)
    tab.sees("Undo", "#toast")
    tab.picture("corrected")
    keys.press("u")
    tab.sees("key 7.")
    tab.page.locator("#results .card").first.focus()
    keys.press("Delete")
    tab.misses("key 7.")
    keys.press("u")
    tab.sees("key 7.")
    assert listing.typed(tab.served.scope, "door archive", listing.Facets())[0].record.body.endswith("key 7.")


def test_an_undo_is_shown_although_an_older_list_arrives_after_it(tab: Tab) -> None:
    Memories(tab.served.scope).store("The gate of the weir opens with key 7.")
    tab.go("?q=gate+weir", "#results .card")
    late: list[Any] = []
    tab.page.route("**/w/default?q=gate*", lambda route: late.append(route), times=1)  # noqa: PLW0108 - Playwright marks it
    tab.page.locator("#results .card").first.focus()
    tab.page.keyboard.press("Delete")
    tab.misses("key 7.")
    until(lambda: late or tab.page.wait_for_timeout(20), "the list asked for", 30)
    without = tab.page.evaluate(LIST)
    with tab.page.expect_response("**/restore"):
        tab.page.keyboard.press("u")
    tab.page.wait_for_timeout(200)  # the page asks for the list again
    late.pop().fulfill(content_type="text/html", body=without)
    tab.sees("key 7.")


def test_the_versions_of_a_memory_follow_its_correction(tab: Tab) -> None:
    stored = Memories(tab.served.scope).store("The lamp room opens with key 7.")
    tab.go(f"/m/{stored.id}", "article.card")
    tab.sees("It was never changed.")
    tab.page.locator("article.card").first.focus()
    tab.page.keyboard.press("e")
    tab.page.wait_for_selector(".editing textarea:focus")
    tab.page.fill(".editing textarea", "The lamp room opens with key 9.")
    tab.page.keyboard.press("Control+Enter")
    tab.sees("changed", "#versions .version")
    tab.misses("It was never changed.", "#main")
    tab.page.keyboard.press("u")
    tab.sees("back to the previous state", "#versions")


def test_two_memories_that_may_contradict_are_judged_by_keys_only(browser: Any, tmp_path: Path) -> None:
    with ollama() as embedder:
        served = Served(tmp_path, stand_ups, MEMORY_EMBEDDER=NOMIC, OLLAMA_HOST=embedder.url)
        tab = Tab(browser, served)
        keys, seen = tab.page.keyboard, "#contradictions"
        tab.go("/upkeep", f"{seen} .card")
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            assert tab.page.evaluate(CONTRAST) == [], scheme
        left, right = tab.page.locator(f"{seen} .sides > div").all()
        assert left.bounding_box()["y"] == right.bounding_box()["y"]
        tab.page.set_viewport_size(PHONE)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        tab.page.set_viewport_size(SCREEN)
        for tabs, answer in ((5, "Both hold."), (3, "Replaced.")):
            tab.page.wait_for_selector(f"{seen} .card")
            tab.page.wait_for_load_state("networkidle")
            keys.press("j")
            for _ in range(tabs):
                keys.press("Tab")
            keys.press("Enter")
            tab.sees(answer, "#toast")
            until(lambda: tab.page.locator(f"{seen} .card[aria-label]").count() == 0, "the pair is away", 30)
            keys.press("u")
            tab.page.wait_for_selector(f"{seen} .card[aria-label]")
        tab.go("", ".card")
        keys.press("j")
        keys.press("x")
        assert not tab.page.locator("[data-two]").is_visible()
        keys.press("j")
        keys.press("x")
        tab.page.focus("[data-two]")
        keys.press("Enter")
        tab.page.wait_for_selector("dialog[open] button.primary")
        assert tab.page.evaluate("document.activeElement.textContent") == "The newer one replaces the older"
        keys.press("Enter")
        until(lambda: len(cards(tab)) == 1, "one memory", 30)
        tab.sees("10:15", "#results")
        keys.press("u")
        until(lambda: len(cards(tab)) == 2, "both memories", 30)
        assert tab.complaints == []
        tab.context.close()
        served.stop()


def stand_ups(engine: Engine) -> Scope:
    """Two memories of which the newer one replaces the older one."""
    made = Scope(engine, engine.workspaces.ensure("default"))
    for text in ("The stand-up is at 09:45.", "The stand-up moved to 10:15."):
        Memories(made).store(text)
    engine.helpers.embedder.start()
    assert engine.helpers.embedder.get(30)
    return made


def test_what_an_agent_stores_appears_by_itself(tab: Tab) -> None:
    tab.go()
    Memories(tab.served.scope).store("Somebody has just stored this.")
    tab.sees("Somebody has just stored this.")
    with tab.page.expect_event("requestfailed", lambda request: "/events" in request.url):
        tab.page.evaluate(HIDDEN, True)
    Memories(tab.served.scope).store("And this while no one was looking.")
    tab.page.evaluate(HIDDEN, False)
    tab.sees("no one was looking")


def test_enter_searches_by_meaning_and_an_address_can_be_shared(tab: Tab) -> None:
    tab.page.fill("#q", "backup ledger")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**mode=meaning*")
    tab.page.reload()
    tab.sees("by words and meaning")
    assert tab.page.input_value("#q") == "backup ledger"


def test_the_palette_and_the_help_open_and_close(tab: Tab) -> None:
    tab.page.keyboard.press("?")
    assert tab.page.locator("#help[open]").count() == 1
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("Control+k")
    tab.page.keyboard.type("hist")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/history")


def test_the_graph_is_drawn_searched_and_walked(tab: Tab) -> None:
    tab.go("/graph", "#picture[data-ready]")
    assert pixels(tab) > 1_000
    tab.page.fill("#find", "checkout")
    tab.sees("checkout has a page of its own", "#panel")
    before = pixels(tab)
    tab.page.locator("#picture > canvas").focus()
    tab.page.keyboard.press("ArrowRight")
    until(lambda: "checkout has a page" not in tab.page.locator("#panel").inner_text(), "another node", 30)
    tab.page.keyboard.press("0")
    assert pixels(tab) != before
    tab.page.locator("#types button").first.click()
    assert tab.page.locator('#types button[aria-pressed="false"]').count() == 1


def test_the_first_node_appears_in_an_empty_graph_and_the_next_on_request(browser: Any, tmp_path: Path) -> None:
    served = Served(tmp_path, lambda engine: Scope(engine, engine.workspaces.ensure("default")))
    tab = Tab(browser, served)
    tab.go("/graph", "#picture[data-empty]")
    tab.sees("The graph is empty.")
    graph = Graph(served.scope)
    entities.create(graph, [NewEntity(name="Ann", type="person")])
    tab.page.wait_for_selector("#picture[data-ready]")
    tab.sees("1 node · 0 relations", "#figures")
    assert pixels(tab) > 10
    tab.misses("The graph is empty.", "#main")
    Memories(served.scope).store("Something that is not a node.")
    entities.create(graph, [NewEntity(name="Bob", type="person")])
    tab.page.click("#redraw")
    tab.sees("2 nodes", "#figures")
    assert not tab.page.locator("#redraw").is_visible()
    tab.context.close()
    served.stop()
    assert tab.complaints == []


def pixels(tab: Tab) -> int:
    """Return how many pixels of the picture are drawn, after the next frame."""
    tab.page.wait_for_timeout(100)
    drawn = """() => { const c = document.querySelector("#picture > canvas");
      const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0;
      for (let i = 3; i < d.length; i += 4) if (d[i]) n++; return n; }"""
    return int(tab.page.evaluate(drawn))


def test_what_is_added_to_a_node_and_its_new_name_are_undone(tab: Tab) -> None:
    tab.go("/n?name=Tom+Okafor")
    tab.page.click("text=Add an observation")
    tab.page.fill("#new-fact", "Tom sails on Sundays.")
    tab.page.get_by_role("button", name="Add", exact=True).click()
    tab.sees("Tom sails on Sundays.")
    tab.page.click('#toast [data-do="undo"]')
    tab.sees("Forgotten.", "#toast")
    tab.misses("Tom sails", "#panel")
    tab.page.click("text=Rename, merge or forget")
    tab.page.fill("[name=new_name]", "Tom O.")
    tab.page.get_by_role("button", name="Rename", exact=True).click()
    tab.sees("is now called Tom O.", "#toast")
    tab.page.click('#toast [data-do="undo"]')
    tab.sees("Restored", "#toast")
    tab.go("/n?name=Tom+Okafor")
    tab.sees("Tom Okafor")


def test_payloads_are_inert(browser: Any, served: Served) -> None:
    kept = Memories(served.scope)
    ids = tuple(kept.store(f"payload {number} {bad}", [bad[:100]]).id for number, bad in enumerate(PAYLOADS))
    tab = Tab(browser, served)
    title = tab.page.title()
    tab.page.evaluate(
        "document.addEventListener('securitypolicyviolation', (e) => { window.broken = e.violatedDirective; })"
    )
    for path in ("?q=payload", "/history", "/audit", "/recall?q=payload"):
        tab.go(path)
        assert tab.page.evaluate("typeof window.xq") == "undefined"
        assert (
            tab.page.evaluate("document.querySelectorAll('main script, main iframe, main img, main [onerror]').length")
            == 0
        )
    tab.go()
    assert tab.page.title() == title
    assert tab.page.evaluate("window.broken") is None
    kept.forget(Criteria(ids=ids))  # the pictures show the rest
    tab.context.close()
    assert tab.complaints == []


class Attacker(BaseHTTPRequestHandler):
    """A page of another program on the same machine, which a browser treats as the same site."""

    target = ""

    def do_GET(self) -> None:
        script = f"""
          const out = {{}};
          const url = {json.dumps(self.target)};
          const tries = {{
            read: () => fetch(url, {{credentials: "include"}}).then((r) => r.text()),
            write: () => fetch(url + "/many", {{method: "POST", credentials: "include", mode: "no-cors",
              headers: {{"Content-Type": "application/x-www-form-urlencoded"}},
              body: "verb=forget&all=1&number=1"}}),
            header: () => fetch(url + "/many", {{method: "POST", credentials: "include",
              headers: {{"HX-Request": "true"}}}}),
          }};
          Promise.all(Object.entries(tries).map(async ([name, work]) => {{
            try {{ const answer = await work(); out[name] = answer.type || "read"; }}
            catch (error) {{ out[name] = "failed"; }}
          }})).then(() => {{ document.title = JSON.stringify(out); }});"""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<title>wait</title><script>{script}</script>".encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def test_another_port_of_this_machine_reads_and_changes_nothing(browser: Any, served: Served) -> None:
    tab = Tab(browser, served)
    before = len(listing.ids(served.scope, listing.Facets()))
    Attacker.target = f"{served.url}/ui/w/default"
    other = ThreadingHTTPServer(("127.0.0.1", 0), Attacker)
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    tab.page.goto(f"http://memoryd.localhost:{other.server_port}/")
    until(lambda: tab.page.title() != "wait", "the attack", 30)
    tried = json.loads(tab.page.title())
    assert tried["read"] == "failed"
    assert tried["header"] == "failed"
    assert len(listing.ids(served.scope, listing.Facets())) == before
    other.shutdown()
    other.server_close()
    tab.context.close()


def test_two_tabs_see_the_same(browser: Any, served: Served) -> None:
    one, other = Tab(browser, served), Tab(browser, served)
    Memories(served.scope).store("Both tabs see this lighthouse.")
    for each in (one, other):
        each.sees("Both tabs see this lighthouse.")
    one.page.locator(".card", has_text="lighthouse").first.focus()
    one.page.keyboard.press("Delete")
    other.misses("Both tabs see this lighthouse.")
    one.page.click("text=Log out")
    one.page.wait_for_selector("#key")
    one.page.set_viewport_size(PHONE)
    one.page.evaluate("document.querySelector('h1').textContent = 'client'.repeat(20)")  # a client with a long name
    assert one.page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    for each in (one, other):
        each.context.close()


def test_a_server_that_is_gone_is_reported_and_nothing_is_lost(browser: Any, tmp_path: Path) -> None:
    served = Served(tmp_path / "gone")
    tab = Tab(browser, served)
    tab.page.locator(".card").first.focus()
    tab.page.keyboard.press("e")
    tab.page.wait_for_selector(".editing textarea:focus")
    tab.page.fill(".editing textarea", " ")
    tab.page.keyboard.press("Control+Enter")
    tab.sees("1 to 10,000 characters", ".editing")
    tab.page.keyboard.press("Escape")  # refused text is not stored either
    tab.page.fill(".editing textarea", "typed while it went away")
    served.page.access.leave(tab.context.cookies()[0]["value"])
    tab.page.keyboard.press("Control+Enter")
    tab.sees("Your session has ended", "#toast")
    tab.page.set_viewport_size(PHONE)
    assert (tab.page.locator("#toast").bounding_box() or {})["width"] > 0.8 * PHONE["width"]  # no narrow column
    tab.page.click("nav >> text=History")  # the confirmation to leave is dismissed
    served.stop()
    tab.page.focus(".editing textarea")
    tab.page.keyboard.press("Control+Enter")
    tab.sees("memoryd does not answer", "#toast")
    assert tab.page.input_value(".editing textarea") == "typed while it went away"
    tab.context.close()


def test_many_memories_are_read_searched_and_counted_page_by_page(browser: Any, tmp_path: Path) -> None:
    served = Served(tmp_path, crowd, MEMORY_EMBEDDER="none", MEMORY_RERANKER="none")
    tab = Tab(browser, served)
    newest = [f"memory-{number:06}" for number in reversed(range(MANY))]
    for shown in (50, 100, 150):
        until(lambda shown=shown: len(cards(tab)) >= shown, f"{shown} memories", 30)  # type: ignore[misc]
        assert cards(tab) == newest[: len(cards(tab))]
        assert len(cards(tab)) <= shown + 50
        tab.page.keyboard.press("End")
    for count in (f"memories {MANY:,}", f"entities {NODES}", "audited 13", "codex 750", "cursor 250"):
        until(lambda count=count: count in counts(tab), count, 30)  # type: ignore[misc]
    tab.page.fill("#q", "keeper ligh")
    until(lambda: len(cards(tab)) == 1, "the one that has these words", 30)
    tab.sees(LIGHTHOUSE, "#results")
    tab.page.fill("#q", "")
    until(lambda: cards(tab)[:50] == newest[:50], "the newest again", 30)
    tab.page.click("aside >> text=audited")
    until(lambda: cards(tab)[:2] == ["memory-000960", "memory-000880"], "those with the tag", 30)
    tab.page.locator(".choose input").first.check()
    tab.page.click("text=all that match")
    tab.page.click("text=Tag…")
    tab.sees("Tag 13 memories?", "#dialog")
    tab.go("/graph", "#picture[data-ready]")
    tab.sees(f"{NODES} nodes · {NODES - 1} relations", "#figures")
    tab.context.close()
    served.stop()
    assert tab.complaints == []


def counts(tab: Tab) -> list[str]:
    """Return the facets, line by line."""
    return [" ".join(line.split()) for line in tab.page.locator("aside li").all_inner_texts()]
