"""Workspaces that are read together: one ranking, each hit with its workspace, and writes to one only."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.access.tokens import Grant
from memoryd.core.engine import Engine
from memoryd.core.memories.correction import Correction, correct
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope, together
from memoryd.core.search.briefing import Format
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind
from tests.core.kit import Ollama, engine, memories, with_ollama
from tests.store.kit import add

TEA = "The user drinks green tea in the morning."
PORT = "Staging of the shop listens on port 5433."


@pytest.fixture
def here(home: Path) -> Iterator[Engine]:
    with engine(home) as here:
        yield here


def prepared(of: Engine) -> Memories:
    """The memories of a shop whose workspace includes a personal one; a third one exists too."""
    memories(of, name="personal").store(TEA, importance=0.9)
    memories(of, name="shop").store(PORT)
    memories(of, name="secret").store("The tea of the other project listens on port 1.")
    of.workspaces.create("own-file")
    of.workspaces.include("shop", ["personal", "own-file"])
    return both(of)


def both(of: Engine, grant: Grant | None = None) -> Memories:
    place = of.workspaces.find("shop")
    return Memories(together(of, place, grant=grant) if grant else together(of, place))


def places(briefing: Any) -> dict[str, str]:
    return {hit.record.body: hit.workspace.name if hit.workspace else "" for hit in briefing.hits}


# reading -------------------------------------------------------------------------------------------------------------


def test_a_recall_ranks_over_all_and_each_hit_names_its_workspace(here: Engine) -> None:
    shop = prepared(here)
    found = shop.recall("Which port has staging, and which tea does the user drink?", 500, form="list")
    assert places(found) == {PORT: "shop", TEA: "personal"}
    assert f", in personal, {here.clock.now()[:10]}, importance 0.9] {TEA}" in found.text
    forms: tuple[Format, ...] = ("summary", "answer", "raw")
    for form in forms:
        text = shop.recall("green tea", 500, form=form).text
        assert "personal" in text
        assert "other project" not in text
    assert places(memories(here, name="personal").recall("port", 500)) == {}, "it is not included in return"
    assert places(memories(here, name="shop").recall("port", 500)) == {PORT: ""}, "alone it has no name"


def test_a_small_workspace_counts_as_much_as_a_large_one(here: Engine) -> None:
    shop = prepared(here)
    for number in range(60):
        memories(here, name="shop").store(f"Ticket {number}: the user of the shop asks for tea cup number {number}.")
    best = shop.recall("What green tea does the user drink in the morning?", 60, form="list")
    assert best.hits[0].record.body == TEA


def test_a_briefing_covers_all_workspaces(here: Engine) -> None:
    shop = prepared(here)
    memories(here, name="shop").store("Deploys wait for Monday.", importance=0.8)
    text = shop.context(None, 800).text
    important, recent = text.split("\n\n")
    assert [line.partition("] ")[2] for line in important.splitlines()[1:]] == [
        f"{TEA} (in personal, {here.clock.now()[:10]})",
        f"Deploys wait for Monday. (in shop, {here.clock.now()[:10]})",
    ]
    assert PORT in recent
    assert TEA in shop.context("tea", 800).text.partition("\n\n")[0]


def test_past_texts_and_operators_cover_all_workspaces(here: Engine) -> None:
    shop, then = prepared(here), here.clock.now()
    personal = memories(here, name="personal")
    personal.forget(Criteria(query="tea"), confirm=True)
    assert places(shop.recall("tea", 500, as_of=then)) == {TEA: "personal"}
    assert places(shop.recall("tea", 500)) == {}
    assert places(shop.recall('"port 5433" OR "green coffee"', 500)) == {PORT: "shop"}


def test_a_record_that_both_have_is_shown_once(here: Engine) -> None:
    shop = prepared(here)
    for name in ("shop", "personal"):
        here.store.write(here.workspaces.find(name), lambda q: add(q, "The ferry leaves at seven.", id="imported"))
    assert places(shop.recall("ferry", 500)) == {"The ferry leaves at seven.": "shop"}


def test_recalls_are_counted_where_the_memory_is(here: Engine) -> None:
    shop = prepared(here)
    shop.recall("tea port", 500)
    for name, text in (("personal", TEA), ("shop", PORT)):
        (hit,) = memories(here, name=name).recent(1)
        assert (hit.record.body, hit.record.access_count) == (text, 1)


def test_vectors_of_two_models_are_searched_by_meaning(home: Path, server: Ollama) -> None:
    with with_ollama(home, server) as first:
        memories(first, name="personal").store(TEA)
    with with_ollama(home, server, "ollama:other") as here:
        memories(here, name="shop").store(PORT)
        here.workspaces.include("shop", ["personal"])
        assert set(places(both(here).recall("port tea", 500))) == {PORT, TEA}


# limits of reading ---------------------------------------------------------------------------------------------------


def test_a_token_of_one_workspace_does_not_see_the_others(here: Engine) -> None:
    prepared(here)
    shop = here.workspaces.find("shop")
    alone = both(here, Grant(workspace=shop.id))
    for briefing in (alone.recall("tea port", 500), alone.context(None, 500)):
        assert places(briefing) == {PORT: ""}
        assert "personal" not in briefing.text + briefing.degraded
    tea = memories(here, name="personal").recent(1)[0].record.id
    assert alone.get([tea]) == []
    assert alone.forget(Criteria(ids=(tea,))).best == []
    here.workspaces.archive("personal")
    assert both(here, Grant(workspace=shop.id)).recall("tea", 500).degraded == ""


def test_inclusion_has_one_level_and_no_circle(here: Engine) -> None:
    shop = prepared(here)
    here.workspaces.include("personal", ["secret", "shop"])
    assert "other project" not in shop.recall("tea port", 500).text
    assert len(both(here).recall("tea port", 500).hits) == 2


def test_an_archived_workspace_is_reported_and_a_deleted_one_is_not_included(here: Engine) -> None:
    prepared(here)
    here.workspaces.archive("personal")
    found = both(here).recall("tea port", 500)
    assert places(found) == {PORT: "shop"}
    assert found.degraded == "Archived workspaces are not read: personal."
    here.workspaces.restore("personal")
    assert TEA in both(here).recall("tea", 500).text
    here.workspaces.delete("personal")
    assert both(here).recall("tea port", 500).degraded == ""
    assert [one.name for one in here.workspaces.included(here.workspaces.find("shop"))] == ["own-file"]


# writing -------------------------------------------------------------------------------------------------------------


def test_writes_go_to_one_workspace(here: Engine) -> None:
    shop = prepared(here)
    shop.store(TEA)
    assert len(memories(here, name="personal").recent(9)) == 1
    assert len(memories(here, name="shop").recent(9)) == 2
    shop.forget(Criteria(query="tea"), confirm=True)
    assert len(memories(here, name="personal").recent(9)) == 1


@pytest.mark.parametrize("length", [36, 8])
def test_changing_a_memory_of_an_included_workspace_is_an_error_that_names_it(here: Engine, length: int) -> None:
    shop = prepared(here)
    (hit,) = memories(here, name="personal").recent(1)
    key = hit.record.id[:length]
    (found,) = shop.get([key])
    assert (found.record.body, found.workspace and found.workspace.name) == (TEA, "personal")
    place = here.workspaces.find("shop")
    for attempt in (
        lambda: shop.forget(Criteria(ids=(key,))),
        lambda: shop.forget(Criteria(ids=(key,)), dry_run=True),
        lambda: shop.store("The user drinks coffee.", supersedes=[key]),
        lambda: correct(together(here, place), Correction(id=key, content="The user drinks coffee.")),
    ):
        with pytest.raises(
            InvalidInputError, match=f"{key} is in the workspace 'personal', which 'shop' only reads"
        ) as caught:
            attempt()
        assert "Nothing was changed; change it there, e.g. with `memoryd --workspace personal`" in str(caught.value)
    assert memories(here, name="personal").recent(9)[0].record == hit.record
    with pytest.raises(NotFoundError):
        correct(Scope(here, place), Correction(id=key, content="The user drinks coffee."))


# the registry --------------------------------------------------------------------------------------------------------


def test_invalid_inclusions_are_refused(here: Engine) -> None:
    prepared(here)
    for name, others, error in (
        ("shop", ["shop"], "always includes itself"),
        ("shop", ["nowhere"], '"nowhere" not found'),
        ("nowhere", ["shop"], '"nowhere" not found'),
    ):
        with pytest.raises((InvalidInputError, NotFoundError), match=error):
            here.workspaces.include(name, others)
    with pytest.raises(InvalidInputError, match='does not include "secret"'):
        here.workspaces.include("shop", ["personal", "secret"], remove=True)
    here.workspaces.include("shop", ["personal"])
    shop = here.workspaces.include("shop", ["own-file"], remove=True)
    assert [one.name for one in here.workspaces.included(shop)] == ["personal"]


def test_turns_of_both_are_found_with_their_neighbours(here: Engine) -> None:
    shop = prepared(here)
    for name in ("shop", "personal"):
        place = here.workspaces.find(name)
        for text in (f"Where is the ferry of {name}?", f"It is in {name}."):
            here.store.write(
                place,
                lambda q, text=text: add(q, text, kind=Kind.INTERACTION, session_id="s"),  # type: ignore[misc]
            )
    assert {"shop", "personal"} <= set(places(shop.recall("Where is the ferry?", 500)).values())
