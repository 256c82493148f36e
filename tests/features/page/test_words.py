"""The words of the page: for kinds, sessions, and what is not there."""

from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Memories
from tests.features.page.kit import OWN, Site, Visitor


def test_kinds_and_sessions_are_named_in_words(here: Site, owner: Visitor) -> None:
    turn = Journal(here.scope).add("Which port? Say it.", "", "5433.", "3f0c-id")
    for path in ("?kind=interaction", f"/m/{turn.id}"):
        shown = owner.seen(path).text
        assert "turn" in shown
        assert "interaction" not in shown, path
    assert "Which port?" in owner.seen("/sessions").text
    assert "Which port?" in owner.seen("/sessions/3f0c-id").text


def test_a_record_says_what_its_vitality_means(here: Site, owner: Visitor) -> None:
    one = Memories(here.scope).store("Tea is green.").id
    assert "falls with age, rises with recalls" in owner.seen(f"/m/{one}").text


def test_what_is_not_there_is_shown_within_the_frame_of_the_page(here: Site, owner: Visitor) -> None:
    for path in ("/m/nothing", "/no/such/page"):
        lost = owner.get(path)
        assert lost.status_code == 404
        assert 'aria-label="Views"' in lost.text
        assert 'name="q"' in lost.text
    elsewhere = owner.request("GET", "/ui/w/nowhere", headers=OWN)
    assert (elsewhere.status_code, "Go to the workspaces" in elsewhere.text) == (404, True)
    assert "Log out" in elsewhere.text
    assert 'aria-label="Views"' not in here.with_key().get("/m/nothing").text
