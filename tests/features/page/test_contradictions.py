"""Upkeep and the list: two memories that may contradict are judged, and each verdict can be undone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.maintenance import verdicts
from memoryd.core.memories.memories import Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from tests.core.kit import NOMIC, ollama
from tests.features.page.kit import Html, Site, Visitor, site, undo_of

OLDER, NEWER = "The <b>stand-up</b> is at 09:45.", "The <b>stand-up</b> moved to 10:15."
DOORS = ("The code of the front door is 4711.", "The code of the back door is 0815.")


@pytest.fixture
def near(home: Path) -> Iterator[Site]:
    """A page over memories with vectors."""
    with ollama() as embedder, site(home, MEMORY_EMBEDDER=NOMIC, OLLAMA_HOST=embedder.url) as made:
        made.engine.helpers.embedder.start()
        assert made.engine.helpers.embedder.get(30)
        yield made


def store(of: Site, *texts: str) -> list[str]:
    return [Memories(of.scope).store(text).id for text in texts]


def seen(visitor: Visitor) -> Html:
    return visitor.seen("/upkeep/contradictions")


def buttons(html: Html, path: str) -> list[dict[str, Any]]:
    """Return what the buttons that post to a view send."""
    return [json.loads(own["hx-vals"]) for own in html.all("button") if own.get("hx-post", "").endswith(path)]


def undo(visitor: Visitor, html: Html) -> None:
    sent = undo_of(html)
    visitor.done(sent.pop("path", "/restore"), **sent)


def test_upkeep_asks_for_the_pairs_that_may_contradict(near: Site) -> None:
    owner = near.owner()
    assert [own for own in owner.seen("/upkeep").all("div") if own.get("hx-get", "").endswith("/contradictions")]
    assert "None were compared" in seen(owner).text
    store(near, *DOORS)
    assert "None of the 2 that were compared" in seen(owner).text
    store(near, OLDER, NEWER)
    html = seen(owner)
    assert len(html.all("article", tabindex="0")) == 1
    assert OLDER in html.text
    assert NEWER in html.text
    assert html.all("b") == []
    assert html.text.count("stored 20") == 2
    assert "The newer one speaks of a change" in html.text


@pytest.mark.parametrize("way", [0, 1])
def test_one_replaces_the_other_with_an_undo(near: Site, way: int) -> None:
    owner, ids = near.owner(), store(near, OLDER, NEWER)
    by, gone = ids[way], ids[1 - way]
    answer = owner.done("/upkeep/replace", **buttons(seen(owner), "/replace")[way])
    assert "Replaced." in answer.text
    assert owner.seen().cards == [by]
    assert buttons(seen(owner), "/replace") == []
    history = owner.seen("/history?what=superseded").text
    assert "replaced by another memory on request" in history
    assert "by memoryd ui · ui.replace" in history
    undo(owner, answer)
    assert set(owner.seen().cards) == {by, gone}
    assert len(buttons(seen(owner), "/replace")) == 2


def test_both_hold_with_an_undo_and_later_again(near: Site) -> None:
    owner = near.owner()
    store(near, OLDER, NEWER)
    (pair,) = buttons(seen(owner), "/hold")
    answer = owner.done("/upkeep/hold", **pair)
    assert buttons(seen(owner), "/hold") == []
    assert "1 pair of which both hold" in seen(owner).text
    assert "by memoryd ui · ui.hold" in seen(owner).text
    undo(owner, answer)
    assert buttons(seen(owner), "/hold") == [pair]
    owner.done("/upkeep/hold", **pair)
    owner.done("/upkeep/reopen", **buttons(seen(owner), "/reopen")[0])
    assert buttons(seen(owner), "/hold") == [pair]


def test_a_verdict_on_a_text_that_has_changed_is_refused(near: Site) -> None:
    owner, (older, _) = near.owner(), store(near, OLDER, NEWER)
    html = seen(owner)
    owner.done(f"/m/{older}/correct", content="The stand-up is at 09:50.")
    for path in ("/replace", "/hold"):
        answer = owner.post(f"/upkeep{path}", **buttons(html, path)[0])
        assert (answer.status_code, "changed again since" in answer.text) == (400, True)
    assert len(owner.seen().cards) == 2


def test_two_chosen_memories_replace_each_other(here: Site, owner: Visitor) -> None:
    older, newer, third = store(here, "Releases are on Tuesday.", "Releases are on Thursday.", "Ann lives in Rome.")
    assert owner.seen().all("button", hx_post="/ui/w/default/many/replace")
    for wrong in ([newer], [newer, older, third]):
        answer = owner.post("/many/replace", id=wrong)
        assert (answer.status_code, "exactly two" in answer.text) == (400, True)
    html = owner.done("/many/replace", id=[newer, older])
    assert "Which one holds?" in html.text
    first, other = buttons(html, "/upkeep/replace")
    assert [(one["one"], one["other"]) for one in (first, other)] == [(newer, older), (older, newer)]
    replaced = owner.done("/upkeep/replace", **first)
    assert set(owner.seen().cards) == {newer, third}
    undo(owner, replaced)
    assert set(owner.seen().cards) == {older, newer, third}


def test_only_memories_of_the_workspace_and_without_a_key_are_judged(here: Site, owner: Visitor) -> None:
    (own,) = store(here, OLDER)
    other = Memories(Scope(here.engine, here.engine.workspaces.ensure("other"))).store(NEWER).id
    Vault(here.scope).commit("vault", "stand-up", NEWER)
    (kept,) = [card for card in owner.seen().cards if card != own]
    for alien in (other, kept):
        for path in ("/many/replace", "/upkeep/replace", "/upkeep/hold", "/upkeep/reopen"):
            answer = owner.post(path, id=[own, alien], one=own, other=alien)
            assert (answer.status_code, "10:15" in answer.text) == (404, False), path


def test_a_reader_sees_pairs_without_buttons_and_a_writer_without_sight_none(near: Site) -> None:
    ids = store(near, OLDER, NEWER)
    html = seen(near.granted("reader"))
    assert OLDER in html.text
    assert not [own for _, own in html.elements if "hx-post" in own]
    blind = near.granted("blind", "read", tools=["memory_store"])
    fields = {"id": ids, "one": ids[1], "other": ids[0], "verb": "tag"}
    assert blind.get("/upkeep/contradictions").status_code == 403
    for path in ("/many/replace", "/many/preview", "/upkeep/replace", "/upkeep/hold", "/upkeep/reopen"):
        answer = blind.post(path, **fields)
        assert (answer.status_code, "stand-up" in answer.text) == (403, False), path
    assert blind.get(f"/m/{ids[0]}/edit").status_code == 403
    near.engine.workspaces.ensure("other")
    bound = near.granted("bound", "write", workspace="other")
    assert bound.post("/upkeep/replace", **fields).status_code == 404
    assert verdicts.judged(near.engine, near.scope.workspace) == []
