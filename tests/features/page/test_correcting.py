"""The form that corrects a memory: what a browser sends, and what it changes."""

import html
import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryd.core.maintenance import history
from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.memories import Memories
from memoryd.core.memories.vault import Vault
from memoryd.model import Record
from tests.features.page.kit import Html, Site, Visitor, site, undo_of


def stored(here: Site, content: str, *tags: str, importance: float = 0.5) -> str:
    return Memories(here.scope).store(content, tags, importance=importance).id


def now(here: Site, record_id: str) -> Record:
    return listing.story(here.scope, record_id).now.record


def sent(answer: str) -> dict[str, Any]:
    """Return what a browser sends for the unchanged form: with its own line ends, and a rounded slider value."""
    (written,) = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", answer, re.DOTALL)
    fields = {field["name"]: field["value"] for field in Html(answer).all("input")}
    place = round(float(fields["importance"]) / 0.05) * 0.05
    lines = re.sub(r"\r\n?|\n", "\r\n", html.unescape(written))
    return {**fields, "importance": f"{place:g}", "content": lines}


def form(owner: Visitor, record_id: str) -> dict[str, Any]:
    return sent(owner.get(f"/m/{record_id}/edit").text)


@pytest.mark.parametrize(
    ("content", "tags", "importance"),
    [
        ("plain", ("a", "b"), 0.5),
        ("two\nlines", ("Paris, France", "Paris", "a,b"), 0.33),
        ("of\r\nWindows\r\n", (), 0.72),
        ("of\rold\r", ("x",), 0.999),
    ],
)
def test_an_unchanged_form_changes_nothing(
    here: Site, owner: Visitor, content: str, tags: tuple[str, ...], importance: float
) -> None:
    one = stored(here, content, *tags, importance=importance)
    before = now(here, one)
    assert "Nothing was changed." in owner.done(f"/m/{one}/correct", **form(owner, one)).text
    assert now(here, one) == before


def test_a_record_stays_whole_in_its_own_view(here: Site, owner: Visitor) -> None:
    text = "long " * 500
    one = stored(here, text)
    for path, whole in ((f"/m/{one}", True), ("", False)):
        (edit,) = (button["hx-get"] for button in owner.seen(path).all("button") if button.get("data-do") == "edit")
        asked = owner.request("GET", edit)
        (cancel,) = (button["hx-get"] for button in Html(asked.text).all("button") if button.get("data-do") == "cancel")
        refused = owner.post(f"/m/{one}/correct", **sent(asked.text) | {"content": " "})
        corrected = owner.done(f"/m/{one}/correct", **sent(refused.text) | {"content": f"{text}{path}"})
        for shown in (corrected, Html(owner.request("GET", cancel).text)):
            assert ("characters" not in shown.text, "Open" not in shown.text) == (whole, whole)


def test_untouched_fields_stay(here: Site, owner: Visitor) -> None:
    one = stored(here, "of\r\nWindows", "Paris, France", "a", importance=0.33)
    owner.done(f"/m/{one}/correct", **form(owner, one) | {"tags": "b, Paris, France,c"})
    assert (now(here, one).body, now(here, one).importance) == ("of\r\nWindows", 0.33)
    assert now(here, one).tags == ("b", "Paris, France", "c")
    owner.done(f"/m/{one}/correct", **form(owner, one) | {"importance": "0.6"})
    assert now(here, one).importance == 0.6


def test_unstorable_text_stays_in_the_form(here: Site, owner: Visitor) -> None:
    one, other = stored(here, "Ann lives in Rome.", "people"), stored(here, "Bob lives in Bonn.")
    typed = form(owner, one) | {"content": "Bob lives in Bonn", "tags": "people, new", "importance": "0.8"}
    answer = owner.post(f"/m/{one}/correct", **typed)
    assert (answer.status_code, f"Memory {other[:8]} already says this" in answer.text) == (422, True)
    assert sent(answer.text) == typed
    assert now(here, one).body == "Ann lives in Rome."


def test_the_text_stays_when_a_secret_is_refused(home: Any) -> None:
    with site(home, MEMORY_SECRETS="refuse") as here:
        one, owner = stored(here, "Ann lives in Rome."), here.owner()
        typed = form(owner, one) | {"content": "Long work, and AKIA" + "QYLPMN5HHFIQR7XY at its end."}
        answer = owner.post(f"/m/{one}/correct", **typed)
        assert (answer.status_code, sent(answer.text)) == (422, typed)


def test_concurrent_corrections_of_a_memory_are_detected(here: Site, owner: Visitor) -> None:
    one = stored(here, "Ann lives in Rome.", "people")
    mine = form(owner, one) | {"content": "Ann lives in Oslo, by the harbour."}
    correction.correct(here.scope, Correction(id=one, content="Ann moved to Bonn."))
    answer = owner.post(f"/m/{one}/correct", **mine)
    assert (answer.status_code, "The text is now: Ann moved to Bonn." in Html(answer.text).text) == (409, True)
    assert (now(here, one).body, sent(answer.text)["content"]) == ("Ann moved to Bonn.", mine["content"])
    done = owner.done(f"/m/{one}/correct", **sent(answer.text))
    assert now(here, one).body == "Ann lives in Oslo, by the harbour."
    owner.done("/restore", **{name: undo_of(done)[name] for name in ("id", "at")})
    assert now(here, one).body == "Ann moved to Bonn."


def test_a_memory_forgotten_meanwhile_is_not_corrected(here: Site, owner: Visitor) -> None:
    one = stored(here, "Ann lives in Rome.")
    mine = form(owner, one)
    owner.done(f"/m/{one}/forget")
    answer = owner.post(f"/m/{one}/correct", **mine | {"content": "Ann lives in Oslo."})
    assert (answer.status_code, answer.headers["HX-Retarget"]) == (404, "#toast")  # the form stays


def test_an_undo_does_not_undo_later_changes_by_others(here: Site, owner: Visitor) -> None:
    one = stored(here, "Ann lives in Rome.")
    mine = undo_of(owner.done(f"/m/{one}/correct", **form(owner, one) | {"content": "Ann lives in Oslo."}))
    correction.correct(here.scope, Correction(id=one, content="Ann moved to Bonn."))
    answer = owner.post("/restore", **mine)
    assert (answer.status_code, "changed again since" in answer.text) == (400, True)
    assert now(here, one).body == "Ann moved to Bonn."
    vault = Vault(here.scope)
    owner.done("/vault", key="port", content="1")
    mine = undo_of(owner.done("/vault", key="port", content="2"))
    vault.commit("vault", "port", "3")
    assert owner.post("/restore", **mine).status_code == 400
    assert vault.get("port").body == "3"
    gone = undo_of(owner.done(f"/m/{one}/forget"))
    owner.done("/restore", **gone)
    assert now(here, one).body == "Ann moved to Bonn."


@pytest.mark.stores
def test_an_undo_is_checked_in_its_transaction(here: Site, owner: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    one = stored(here, "Ann lives in Rome.")
    mine = undo_of(owner.done(f"/m/{one}/correct", **form(owner, one) | {"content": "Ann lives in Oslo."}))
    undo = history.restore

    def overtaken(*asked: Any) -> list[history.Restored]:
        correction.correct(here.scope, Correction(id=one, content="Ann moved to Bonn."))
        return undo(*asked)

    monkeypatch.setattr(history, "restore", overtaken)
    assert owner.post("/restore", **mine).status_code == 400
    assert now(here, one).body == "Ann moved to Bonn."


ONE_RECORD = [
    "The ids of records and relations, deleted or not, from :first up to :last.",
    "Records by id, deleted or not.",
]
"""The statements that read one record for a list."""


@pytest.mark.files
def test_a_correction_reads_only_what_it_shows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, lambda made: traced(made, ran)])
    with site(home) as here:
        one, owner = stored(here, "Ann lives in Rome."), here.owner()
        typed = form(owner, one) | {"content": "Ann lives in Oslo."}
        ran.clear()
        owner.get(f"/m/{one}/edit")
        assert ran == ["One workspace.", *ONE_RECORD]
        ran.clear()
        owner.done(f"/m/{one}/correct", **typed)
    assert [name for name in ran if name in ONE_RECORD] == [*ONE_RECORD, *ONE_RECORD]
    assert len(ran) == 17  # the rest is the correction itself


def traced(connection: apsw.Connection, ran: list[str]) -> None:
    """Note the descriptions of the named statements that a connection runs."""

    def note(event: dict[str, Any]) -> None:
        description, line_break, _ = event["sql"].partition("\n")  # apsw takes off the dashes
        if line_break:
            ran.append(description)

    connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)
