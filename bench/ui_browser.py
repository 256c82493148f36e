"""The cost of the web page for a browser: first paint, processor time and bytes, next to an empty page in Chromium.

python -m bench.ui_browser [MEMORIES] [NODES]
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.ui import fill
from memoryd.core.engine import Engine
from memoryd.core.records import records
from memoryd.core.scope import Scope
from memoryd.features.page.app import Page
from memoryd.features.page.local import application
from memoryd.model import Kind, Record
from memoryd.server.http.app import prepared
from memoryd.settings import Settings
from memoryd.store.base import Queries
from tests.features.browser import browser

ROUNDS = 3
PANS = 10  # steps of the mouse that drag the picture
EMPTY = "<!doctype html><title>empty</title><p>empty"
PAINT = "() => performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint')?.startTime"
BYTES = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .reduce((sum, one) => sum + one.encodedBodySize, 0)"""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of an action in the browser."""

    cpu: float
    """Milliseconds of processor time, of all processes of the browser."""
    paint: float = 0.0
    """Milliseconds until something was visible; for a graph, until its picture was."""
    size: int = 0
    """Bytes that were sent."""


def relate(scope: Scope, number: int) -> None:
    """Create nodes, and three times as many relations."""
    chance = np.random.default_rng(2)
    ids = [records.new_id() for _ in range(number)]

    def work(queries: Queries) -> None:
        now = scope.engine.clock.now()
        for place, key in enumerate(ids):
            node = Record(id=key, kind=Kind.ENTITY, name=f"node {place}", type=f"type {place % 7}", body="")
            records.add(queries, node, None, now)
            queries.run("entities.add", id=key, summary_updated_at=None)
        starts = chance.integers(0, number, 3 * number)
        steps = chance.integers(1, 12, 3 * number)
        for start, end, step in {
            (int(one), int(one + by) % number, int(by)) for one, by in zip(starts, steps, strict=True)
        }:
            made = {"id": records.new_id(), "source": ids[start], "target": ids[end], "type": f"relation {step}"}
            queries.run("relations.add", **made, now=now)

    scope.write(work)


@contextmanager
def served(memories: int, nodes: int) -> Iterator[tuple[str, Page]]:
    """Serve the page over this many memories and nodes; yield its address and the page."""
    variables = {
        "MEMORY_DATA_DIR": tempfile.mkdtemp(), "MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none", "MEMORY_PORT": "0",
    }  # fmt: skip
    engine = Engine(Settings.read(variables), fetch=False)
    scope = Scope(engine, engine.workspaces.ensure("default"))
    fill(scope, memories)
    relate(scope, nodes)
    page, heard = Page(engine), list[str]()
    server = prepared(engine, made=lambda _: application(engine, page), announce=heard.append)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not heard:
        time.sleep(0.02)
    yield heard[0].replace("127.0.0.1", "memoryd.localhost"), page
    server.should_exit = True
    thread.join()


class Measured:
    """A browser whose processor time is measured."""

    def __init__(self, browser: Any) -> None:
        self._session = browser.new_browser_cdp_session()
        self.tab = browser.new_page(viewport={"width": 1280, "height": 860})

    def enter(self, url: str, page: Page) -> None:
        # on the same origin: another one gets its own process, whose time is lost when it ends
        self.tab.route(f"{url}/empty", lambda route: route.fulfill(body=EMPTY, content_type="text/html"))
        self.tab.goto(f"{url}/ui/login?next=/ui/w/default")
        self.tab.fill("#key", page.access.ticket())
        self.tab.click("button[type=submit]")
        self.tab.wait_for_selector(".card")

    def _cpu(self) -> float:
        found = self._session.send("SystemInfo.getProcessInfo")["processInfo"]
        return 1000 * sum(float(one["cpuTime"]) for one in found)

    def cost(self, work: Callable[[], None], ready: str = "") -> Cost:
        """Do something, wait until the expression `ready` holds and the page is idle; return the cost."""
        before, began = self._cpu(), time.perf_counter()
        work()
        while ready and not self.tab.evaluate(ready):
            time.sleep(0.01)
        seen = 1000 * (time.perf_counter() - began)
        self.tab.wait_for_load_state("networkidle")
        return Cost(self._cpu() - before, seen)

    def load(self, address: str, ready: str = "") -> Cost:
        found = self.cost(lambda: self.tab.goto(address), ready)
        paint = found.paint if ready else self.tab.evaluate(PAINT) or 0.0
        return Cost(found.cpu, paint, self.tab.evaluate(BYTES))

    def type(self) -> Cost:
        self.tab.fill("#q", "")
        return self.cost(
            lambda: self.tab.locator("#q").press_sequentially("ledg"), "() => !!document.querySelector('.count')"
        )

    def pan(self) -> Cost:
        mouse = self.tab.mouse

        def drag() -> None:
            mouse.move(500, 400)
            mouse.down()
            for step in range(PANS):
                mouse.move(500 + 8 * step, 400 + 4 * step)
                self.tab.evaluate("() => new Promise(requestAnimationFrame)")
            mouse.up()

        return self.cost(drag)


DRAWN = "() => !!document.querySelector('#picture canvas') && document.getElementById('figures').textContent !== ''"


def measure(browser: Measured, url: str) -> dict[str, Cost]:
    """Do all actions once and return their costs."""
    home = f"{url}/ui/w/default"
    found = {"empty page": browser.load(f"{url}/empty"), f"the mouse on it, {PANS} steps": browser.pan()}
    found["list"] = browser.load(home)
    found["search as one types, 4 letters"] = browser.type()
    found["graph, until its picture is seen"] = browser.load(f"{home}/graph", DRAWN)
    found[f"panning the graph, {PANS} steps"] = browser.pan()
    return found


def main(memories: int = 100_000, nodes: int = 10_000) -> None:
    """Print the table: the minimum of some rounds, which alternate between small and large."""
    best: list[dict[str, Cost]] = [{}, {}]
    with served(100, 1_000) as few, served(memories, nodes) as many, browser() as chromium:
        tabs = [Measured(chromium), Measured(chromium)]
        for tab, at in zip(tabs, (few, many), strict=True):
            tab.enter(*at)
        for _ in range(ROUNDS):
            for number, (tab, (url, _page)) in enumerate(zip(tabs, (few, many), strict=True)):
                for name, cost in measure(tab, url).items():
                    known = best[number].get(name, cost)
                    best[number][name] = Cost(min(known.cpu, cost.cpu), min(known.paint, cost.paint), cost.size)
    print(f"| | 100 memories, 1,000 nodes | {memories:,} memories, {nodes:,} nodes |\n| --- | --- | --- |")
    for name in best[0]:
        row = [f"{one[name].cpu:.0f} ms CPU, {one[name].paint:.0f} ms, {one[name].size:,} B" for one in best]
        print(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
