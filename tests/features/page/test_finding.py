"""The palette finds memories, nodes and sessions, and is a combobox for the keyboard and screen readers."""

from typing import Any

import pytest

from memoryd.core.graph import entities
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Memories
from memoryd.core.memories.vault import Vault
from tests.clients import until
from tests.features.page.kit import Site, Visitor
from tests.features.page.tab import Tab


def found(visitor: Visitor, words: str) -> list[dict[str, Any]]:
    goals: list[dict[str, Any]] = visitor.get(f"/find?q={words}").json()
    return goals


def test_memories_nodes_and_sessions_are_found_and_led_to(here: Site, owner: Visitor) -> None:
    memory = Memories(here.scope).store("The lighthouse\nis red.").id
    Vault(here.scope).commit("vault", "keys/lighthouse", "under the stone")
    entities.create(Graph(here.scope), [NewEntity(name="Ines & Co", type="x", observations=("keeps the lighthouse",))])
    for prompt in ("Who keeps the lighthouse?", "Paint the lighthouse."):
        Journal(here.scope).add(prompt, "", "Done.", "s 1/a")
    goals = found(owner, "lightho")
    assert {(one["kind"], one["title"]) for one in goals} == {
        ("memory", "The lighthouse is red."),
        ("memory", "keys/lighthouse: under the stone"),
        ("node", "Ines & Co"),
        ("session", "Paint the lighthouse"),
    }
    assert f"/ui/w/default/m/{memory}" in [one["address"] for one in goals]
    for one in goals:
        shown = owner.request("GET", one["address"])
        assert (shown.status_code, "lighthouse" in shown.text) == (200, True), one
    assert found(owner, "zebra") == found(owner, "") == []


def test_each_is_found_once_and_few_of_a_kind(here: Site, owner: Visitor) -> None:
    facts = tuple(f"lamp {number}" for number in range(9))
    entities.create(Graph(here.scope), [NewEntity(name="Ann", type="person", observations=facts)])
    for fact in facts:
        Memories(here.scope).store(fact)
        Journal(here.scope).add(fact, "", "yes", "one session")
    kinds = [one["kind"] for one in found(owner, "lamp")]
    assert (kinds.count("node"), kinds.count("session"), kinds.count("memory")) == (1, 1, 5)


def test_invisible_characters_are_spelled_out(here: Site, owner: Visitor) -> None:
    Memories(here.scope).store("lamp \u202egnp.exe")
    assert [one["title"] for one in found(owner, "lamp")] == ["lamp <U+202E>gnp.exe"]


@pytest.mark.process
@pytest.mark.slow
def test_the_palette_is_used_by_keys_only_and_says_what_is_chosen(tab: Tab) -> None:
    stored = Memories(tab.served.scope).store("The lighthouse keeper sleeps until noon.")
    page, keys = tab.page, tab.page.keyboard
    page.locator("#q").focus()
    keys.press("Control+k")
    field = page.get_by_role("combobox", name="Go to a view, a memory, a node or a session")
    assert page.get_by_role("listbox", name="Results").count() == 1
    keys.type("keeper slee")
    page.get_by_role("option", name="keeper sleeps until noon").wait_for()
    tab.sees("1 found", "#palette-found")
    keys.press("ArrowUp")
    assert chosen(tab) == ("Workspaces", "true")
    for _ in range(2):
        keys.press("ArrowDown")
    assert chosen(tab) == ("Search memories: keeper slee", "true")
    keys.press("ArrowUp")
    assert chosen(tab)[0].endswith("keeper sleeps until noon.")
    assert field.evaluate("e => e === document.activeElement"), "the focus stays in the field"
    keys.press("Escape")
    until(lambda: page.evaluate("document.activeElement.id") == "q", "the focus where it was", 30)
    keys.press("Control+k")
    keys.type("keeper slee")
    page.get_by_role("option", name="keeper sleeps until noon").wait_for()
    keys.press("Enter")
    page.wait_for_url(f"**/m/{stored.id}")


def chosen(tab: Tab) -> tuple[str, str]:
    """Return the text of the option that the field names as active, and whether it is marked as chosen."""
    script = """() => { const one = document.getElementById(
        document.querySelector("#palette-text").getAttribute("aria-activedescendant"));
      return [one.textContent, one.getAttribute("aria-selected")]; }"""
    text, selected = tab.page.evaluate(script)
    return text, selected
