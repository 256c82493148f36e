"""State shows the sync: when, with whom, what waits, what was not read, and the texts that two machines changed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from memoryd.core.graph import entities, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.memories import Memories
from memoryd.features.sync import status
from tests.features.page.kit import Html, Site, Visitor, undo_of
from tests.features.page.test_texts import PAYLOADS, check
from tests.features.sync.kit import Clone, Machine, repository

pytestmark = pytest.mark.slow


class Pair:
    """Two machines with one repository, and the page of the second one."""

    def __init__(self, folder: Path, portal: Any) -> None:
        self.url = repository(folder / "shared.git")
        self.one, self.two = (Machine(folder / name, self.url) for name in ("one", "two"))
        self.site = Site(portal, self.two.engine)

    def sync(self, machine: Machine) -> None:
        status.note(machine.engine.settings.data_dir, machine.sync())

    def differ(self, text: str, *others: str) -> str:
        """Store a text, change it on both machines, and sync; return its id."""
        stored = self.one.memories.store(text)
        self.sync(self.one)
        self.sync(self.two)
        for machine, other in zip((self.one, self.two), others, strict=True):
            correction.correct(machine.scope, Correction(id=stored.id, content=other))
        self.sync(self.one)
        self.sync(self.two)
        return stored.id


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with start_blocking_portal() as portal:
        made = Pair(tmp_path, portal)
        yield made
        for machine in (made.one, made.two):
            machine.engine.close()


def press(owner: Visitor, shown: Html, choice: str) -> Html:
    """Press the first button with a choice."""
    sent = [json.loads(own["hx-vals"]) for own in shown.all("button") if "/state/conflict" in own.get("hx-post", "")]
    return owner.done("/state/conflict", **next(each for each in sent if each["choice"] == choice))


def body(here: Site, record_id: str) -> str:
    return listing.one(here.scope, record_id).record.body


def test_without_sync_there_is_nothing_about_it(here: Site, owner: Visitor) -> None:
    assert not owner.seen("/state").all("section", id="sync")


def test_when_with_whom_and_what_waits(pair: Pair) -> None:
    owner = pair.site.owner()
    first = owner.seen("/state").text
    assert f"With {pair.url}, branch main Last never Waits here everything" in first
    pair.sync(pair.two)
    assert "Last just now Waits here nothing" in owner.seen("/state").text
    Memories(pair.site.scope).store("The build runs nightly.")
    assert "Waits here 1 change " in owner.seen("/state").text
    pair.sync(pair.two)
    assert "Waits here nothing" in owner.seen("/state").text
    bound = pair.site.granted("bound", "write", workspace="default").seen("/state").text
    assert "Waits here nothing" in bound
    assert str(pair.url) not in bound


def test_one_press_takes_the_other_side_and_one_takes_it_back(pair: Pair) -> None:
    key = pair.differ("The port is 1.", "The port is 2.", "The port is 3.")
    owner = pair.site.owner()
    shown = owner.seen("/state")
    assert "Changed on two machines" in shown.text
    assert shown.text.index("The port is 3.") < shown.text.index("The other machine's") < shown.text.index("port is 2.")
    done = press(owner, shown, "take")
    assert body(pair.site, key) == "The port is 2."
    assert "Changed on two machines" not in owner.seen("/state").text
    owner.done("/restore", **undo_of(done))
    assert body(pair.site, key) == "The port is 3."
    shown = owner.seen("/state")
    assert "Changed on two machines" in shown.text
    kept = press(owner, shown, "keep")
    assert "Changed on two machines" not in owner.seen("/state").text
    undo = undo_of(kept)
    owner.done(undo.pop("path"), **undo)
    assert "Changed on two machines" in owner.seen("/state").text
    press(owner, shown, "take")
    for machine in (pair.two, pair.one):
        pair.sync(machine)
    assert pair.one.texts() == pair.two.texts() == ["The port is 2."]


def test_two_names_of_a_node_are_shown_and_one_press_takes_the_other_one(pair: Pair) -> None:
    entities.create(pair.one.graph, [NewEntity(name="Ann", type="person", summary="A person.")])
    for machine in (pair.one, pair.two):
        pair.sync(machine)
    for machine, name in ((pair.one, "Anna"), (pair.two, "Anne")):
        renaming.rename(machine.graph, "Ann", name)
        pair.sync(machine)
    owner = pair.site.owner()
    shown = owner.seen("/state")
    assert "Changed on two machines" in shown.text
    assert {"Anna", "Anne"} <= set(shown.text.split())
    (key,) = {json.loads(own["hx-vals"])["id"] for own in shown.all("button") if "conflict" in own.get("hx-post", "")}
    before = listing.one(pair.site.scope, key).record.name
    assert f"Name: {'Anna' if before == 'Anne' else 'Anne'}" in owner.seen(f"/m/{key}").text
    press(owner, shown, "take")
    assert listing.one(pair.site.scope, key).record.name != before
    assert "Changed on two machines" not in owner.seen("/state").text
    for machine in (pair.two, pair.one):
        pair.sync(machine)
    assert pair.one.files() == pair.two.files()


def test_what_was_written_forgotten_or_purged_since_is_decided(pair: Pair) -> None:
    keys = [pair.differ(f"{name} 1", f"{name} 2", f"{name} 3") for name in ("tea", "rum", "ale")]
    owner = pair.site.owner()
    shown = owner.seen("/state")
    assert len(shown.all("article", tabindex="0")) == 3
    correction.correct(pair.site.scope, Correction(id=keys[0], content="tea 4"))
    pair.two.forget(keys[1])
    owner.done(f"/m/{keys[2]}/purge", typed="ale 3")
    assert "Changed on two machines" not in owner.seen("/state").text
    sent = [json.loads(own["hx-vals"]) for own in shown.all("button") if "/state/conflict" in own.get("hx-post", "")]
    for one in sent:
        late = owner.post("/state/conflict", **one)
        assert late.status_code in (200, 400, 404, 409), late.text
    assert body(pair.site, keys[0]) == "tea 4", "what was written since is not replaced"


def test_a_tag_since_then_decides_nothing(pair: Pair) -> None:
    key = pair.differ("The port is 1.", "The port is 2.", "The port is 3.")
    correction.retag(pair.site.scope, [key], ["ops"])
    assert "Changed on two machines" in pair.site.owner().seen("/state").text


def test_the_text_of_a_key_and_the_summary_of_a_node_are_chosen_too(pair: Pair) -> None:
    pair.one.vault.commit("vault", "deploy/first", "checkout")
    entities.create(pair.one.graph, [NewEntity(name="Ann", type="person", summary="Ann owns checkout.")])
    pair.sync(pair.one)
    pair.sync(pair.two)
    for machine, text in ((pair.one, "ledger"), (pair.two, "billing")):
        machine.vault.commit("vault", "deploy/first", text)
        entities.set_summary(machine.graph, "Ann", f"Ann owns {text}.")
        pair.sync(machine)
    owner = pair.site.owner()
    for _ in range(2):
        press(owner, owner.seen("/state"), "take")
    assert pair.two.vault.get("deploy/first").body == "ledger"
    assert "Ann owns ledger." in owner.seen("/n?name=Ann").text
    assert "Changed on two machines" not in owner.seen("/state").text


def test_what_was_born_on_both_is_chosen_too(pair: Pair) -> None:
    for machine, text in ((pair.one, "ledger"), (pair.two, "billing")):
        machine.vault.commit("vault", "deploy/first", text)
        entities.create(machine.graph, [NewEntity(name="Ann", type="person", summary=f"Ann owns {text}.")])
    for machine in (pair.one, pair.two, pair.one):
        pair.sync(machine)
    owner = pair.site.owner()
    shown = owner.seen("/state")
    assert len(shown.all("article", tabindex="0")) == 2
    assert "Ann owns ledger." in shown.text
    assert "Ann owns billing." in shown.text
    for _ in range(2):
        press(owner, owner.seen("/state"), "take")
    assert pair.two.vault.get("deploy/first").body == "ledger"
    assert "Ann owns ledger." in owner.seen("/n?name=Ann").text
    assert "Changed on two machines" not in owner.seen("/state").text
    for machine in (pair.two, pair.one):
        pair.sync(machine)
    assert pair.one.files() == pair.two.files()


def test_files_that_were_not_read_are_listed_with_their_reasons(pair: Pair, tmp_path: Path) -> None:
    pair.one.memories.store("The build runs nightly.")
    pair.sync(pair.one)
    Clone(tmp_path / "clone", pair.url).replace("nightly", "\x00nightly")
    pair.sync(pair.two)
    shown = pair.site.owner().seen("/state").text
    assert "Files that were not read" in shown
    assert "the-build-runs-nightly" in shown.lower().replace(" ", "-")
    assert "Correct them in the repository" in shown


def test_who_may_not_write_sees_both_and_chooses_none(pair: Pair) -> None:
    key = pair.differ("The port is 1.", "The port is 2.", "The port is 3.")
    reader = pair.site.granted("reader")
    shown = reader.seen("/state")
    assert "The port is 2." in shown.text
    assert not [own for own in shown.all("button") if "conflict" in own.get("hx-post", "")]
    assert reader.post("/state/conflict", id=key, until="x", choice="keep").status_code == 403
    owner = pair.site.owner()
    for choice in ("", "drop"):
        assert owner.post("/state/conflict", id=key, choice=choice).status_code == 400


def test_hostile_texts_stay_texts(pair: Pair) -> None:
    for bad in PAYLOADS[:6]:
        pair.differ(f"a {bad}", f"b {bad}", f"c {bad}")
    check(pair.site.owner().seen("/state"), "state")


def test_conflicts_of_other_workspaces_are_not_shown(pair: Pair) -> None:
    pair.differ("The port is 1.", "The port is 2.", "The port is 3.")
    pair.two.engine.workspaces.ensure("else")
    assert "The port" not in pair.site.owner().request("GET", "/ui/w/else/state").text
