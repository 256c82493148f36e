"""The picture of a graph: a small one fills its place, and relations are named where there is room."""

from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from tests.clients import until
from tests.features.page.tab import Served, Tab

pytestmark = [pytest.mark.process, pytest.mark.slow]

WRITES = """() => { window.written = new Set(); const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.written.add(text); return write.call(this, text, ...place); }; }"""
"""Note what is written into pictures."""
EXTENT = """() => { const c = document.querySelector("#picture > canvas"), d = c.getContext("2d").getImageData(
    0, 0, c.width, c.height).data; let a = c.width, b = 0, e = c.height, f = 0;
  for (let y = 0; y < c.height; y++) for (let x = 0; x < c.width; x++) if (d[4 * (y * c.width + x) + 3]) {
    a = Math.min(a, x); b = Math.max(b, x); e = Math.min(e, y); f = Math.max(f, y); }
  return [b - a, f - e]; }"""
"""The size of what is drawn."""


def two(engine: Engine) -> Scope:
    """Two nodes with a relation, whose name comes from a stranger."""
    made = Scope(engine, engine.workspaces.ensure("default"))
    graph = Graph(made)
    entities.create(graph, [NewEntity(name="Ann", type="person"), NewEntity(name="Acme", type="company")])
    relations.create(graph, [Edge("Ann", "Acme", "<b>works</b> at\u202e")])
    return made


def written(tab: Tab) -> set[str]:
    """Return what was written into the picture."""
    return set(tab.page.evaluate("[...window.written]"))


def test_two_nodes_fill_the_picture_and_their_relation_is_named(browser: Any, tmp_path: Path) -> None:
    served = Served(tmp_path, two)
    tab = Tab(browser, served)
    tab.page.add_init_script(f"({WRITES})()")
    tab.go("/graph", "#picture[data-ready]")
    until(lambda: "Ann" in written(tab), "the picture", 30)
    assert max(tab.page.evaluate(EXTENT)) > 200
    assert written(tab) == {"Ann", "Acme", "<b>works</b> at<U+202E>"}
    tab.page.evaluate("window.written.clear()")
    tab.page.locator("#picture > canvas").focus()
    for _ in range(9):
        tab.page.keyboard.press("-")
    until(lambda: written(tab), "a smaller picture", 30)
    tab.page.evaluate("window.written.clear()")
    tab.page.keyboard.press("-")
    until(lambda: written(tab), "a smaller picture", 30)
    assert not [text for text in written(tab) if "works" in text], "there is no room for it"
    tab.context.close()
    served.stop()
    assert tab.complaints == []


def test_a_large_graph_names_the_relations_of_the_chosen_node(tab: Tab) -> None:
    tab.page.add_init_script(f"({WRITES})()")
    tab.go("/graph", "#picture[data-ready]")
    until(lambda: written(tab), "the picture")
    names = {"runs", "is used by", "concerns", "owns", "calls", "relates to"}
    assert not names & written(tab)
    tab.page.fill("#find", "checkout")
    tab.sees("checkout has a page of its own", "#panel")
    until(lambda: names & written(tab), "names of relations")
