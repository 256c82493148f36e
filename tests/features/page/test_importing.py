"""Import on the page: a file is shown first; what was shown is imported, into the workspace that is shown."""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memoryd.core.base.progress import ignore_progress
from memoryd.core.memories import listing
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.core.transfer import export
from memoryd.features.page import transfer
from tests.clients import until
from tests.features.imports.formats_kit import SAMPLES
from tests.features.page.kit import HTMX, OWN, Html, Site, Visitor
from tests.features.page.tab import Tab
from tests.features.page.test_texts import PAYLOADS, check

LINES = b'{"content": "The build runs nightly.", "tags": ["ci"]}\n{"content": "Ann leads billing."}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files, of which none stays."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    yield made
    assert list(made.iterdir()) == []


def send(visitor: Visitor, data: bytes, name: str = "facts.jsonl", **fields: str) -> httpx2.Response:
    """Send a file as the form does."""
    return visitor.request("POST", "/ui/w/default/import", files={"file": (name, data)}, data=fields, headers=HTMX)


def agreed(shown: httpx2.Response) -> dict[str, Any]:
    """Return what the button of a preview adds to the form."""
    assert shown.status_code == 200, shown.text
    (button,) = [own for own in Html(shown.text).all("button") if "hx-vals" in own]
    sent: dict[str, Any] = json.loads(button["hx-vals"])
    return sent


def texts(scope: Scope) -> set[str]:
    return {one.record.body for one in listing.page(scope, Facets()).records}


def test_a_file_is_shown_then_imported_and_again_nothing_is_new(here: Site, owner: Visitor) -> None:
    assert owner.seen("").all("a", href="/ui/w/default/import")
    assert owner.seen("/import").all("input", type="file")
    shown = send(owner, LINES)
    preview = Html(shown.text).text
    for expected in ("facts.jsonl is", "memories 2 2 0", "The build runs nightly.", "Nothing is imported yet."):
        assert expected in preview, (expected, preview)
    assert texts(here.scope) == set()
    done = send(owner, LINES, **agreed(shown))
    assert "Imported: 2 memories." in Html(done.text).text
    assert texts(here.scope) == {"The build runs nightly.", "Ann leads billing."}
    again = send(owner, LINES)
    assert "memories 2 0 2" in Html(again.text).text
    assert "nothing, all of it was there" in send(owner, LINES, **agreed(again)).text


def test_another_file_than_the_one_shown_is_shown_first(here: Site, owner: Visitor) -> None:
    button = agreed(send(owner, LINES))
    other = send(owner, LINES + b'{"content": "Something else."}\n', **button)
    assert "Nothing is imported yet." in other.text
    assert texts(here.scope) == set()


def test_the_files_of_other_programs_are_read(here: Site, owner: Visitor) -> None:
    for sample in ("server-memory", "chatgpt", "claude-ai"):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path in (SAMPLES / sample).rglob("*"):
                archive.write(path, path.relative_to(SAMPLES))
        data = packed.getvalue()
        assert send(owner, data, "all.zip", **agreed(send(owner, data, "all.zip"))).status_code == 200, sample
    assert here.scope.read(lambda queries: queries.all("records.kinds", session="")), "turns and nodes are there"


def test_an_export_comes_into_the_workspace_that_is_shown(here: Site, owner: Visitor, tmp_path: Path) -> None:
    other = Scope(here.engine, here.engine.workspaces.ensure("elsewhere"))
    Memories(other).store("The lighthouse is red.")
    file = tmp_path / "all.jsonl"
    export.export(here.engine, file, [other.workspace], ignore_progress)
    shown = send(owner, file.read_bytes(), "all.jsonl")
    assert "an export of memoryd" in shown.text
    assert "memories 1 1 0" in Html(shown.text).text
    send(owner, file.read_bytes(), "all.jsonl", **agreed(shown))
    assert texts(here.scope) == {"The lighthouse is red."}


def test_what_cannot_be_imported_is_refused_in_words(here: Site, owner: Visitor, folder: Path) -> None:
    for data, name in (
        (b"", "empty"),
        (b"\x00\x01", "noise.bin"),
        (b"PK\x03\x04broken", "x.zip"),
        (b"{", "../../e.json"),
    ):
        refused = send(owner, data, name)
        assert refused.status_code == 400, (name, refused.text)
        assert str(folder) not in refused.text, "it names the file alone"
        assert "HX-Retarget" in refused.headers
    assert send(owner, LINES, format="nothing").status_code == 400
    without = owner.request("POST", "/ui/w/default/import", data={"agreed": "x"}, headers=HTMX)
    assert (without.status_code, "Choose a file" in without.text) == (400, True)
    torn = HTMX | {"Content-Type": "multipart/form-data; boundary=a"}
    assert owner.request("POST", "/ui/w/default/import", content=b"--b\r\nx", headers=torn).status_code == 400
    assert texts(here.scope) == set()


def test_a_file_is_bounded_whatever_its_sender_says(owner: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "FILE", 2**20)
    large = send(owner, b"x" * 2**21)
    assert (large.status_code, "larger than 1 MB" in large.text) == (400, True)

    async def parts() -> Any:
        yield b'--a\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
        for _ in range(64):
            yield b"x" * 2**16

    headers = HTMX | {"Content-Type": "multipart/form-data; boundary=a"}
    answer = owner.request("POST", "/ui/w/default/import", content=parts(), headers=headers)
    assert (answer.status_code, "larger than 1 MB" in answer.text) == (400, True)


def test_secrets_are_masked_and_that_is_named(here: Site, owner: Visitor) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLX"
    data = json.dumps({"content": f"The key is {key}."}).encode()
    shown = send(owner, data)
    assert key not in shown.text
    assert "Masked: 1 AWS access key" in send(owner, data, **agreed(shown)).text
    assert key not in str(texts(here.scope))


def test_who_may_not_store_everything_neither_sees_nor_sends(here: Site) -> None:
    tools = ["memory_inspect", "memory_store"]
    reader, storing = here.granted("reader"), here.granted("storing", "write", tools=tools)
    for visitor, status in ((reader, 403), (storing, 403), (here.with_key(), 401)):
        assert not Html(visitor.get("").text).all("a", href="/ui/w/default/import")
        assert send(visitor, LINES).status_code == status
    owner = here.owner()
    files = {"file": ("f.jsonl", LINES)}
    for headers in (OWN, {"HX-Request": "true"}, HTMX | {"Sec-Fetch-Site": "same-site"}):
        assert owner.request("POST", "/ui/w/default/import", files=files, headers=headers).status_code == 403
    assert texts(here.scope) == set()


def test_a_workspace_of_its_own_gets_what_is_imported_there(here: Site) -> None:
    here.engine.workspaces.ensure("other")
    visitor = here.granted("other", "write", workspace="other")
    assert send(visitor, LINES).status_code == 404
    files = {"file": ("f.jsonl", LINES)}
    shown = visitor.request("POST", "/ui/w/other/import", files=files, headers=HTMX)
    visitor.request("POST", "/ui/w/other/import", files=files, data=agreed(shown), headers=HTMX)
    assert texts(here.scope) == set()
    found = here.engine.workspaces.get("other")
    assert found is not None
    assert len(texts(Scope(here.engine, found))) == 2


def test_payloads_in_files_and_their_names_stay_text(owner: Visitor) -> None:
    data = b"".join(json.dumps({"content": f"it is {bad}", "tags": [bad[:50]]}).encode() + b"\n" for bad in PAYLOADS)
    for name in ("<xq14>.jsonl", '"><img src=x onerror=xq>.jsonl', "\u202egnp.jsonl"):
        shown = send(owner, data, name)
        check(Html(shown.text), name)
        check(Html(send(owner, data, name, **agreed(shown)).text), name)


@pytest.mark.process
@pytest.mark.slow
def test_a_file_that_is_chosen_is_shown_and_imported(tab: Tab) -> None:
    tab.page.click("text=Import")
    tab.page.wait_for_url("**/import")
    file = {"name": "facts.jsonl", "mimeType": "", "buffer": b'{"content": "The lamp was imported."}\n'}
    tab.page.set_input_files("input[type=file]", files=[file])
    tab.sees("Nothing is imported yet.")
    tab.sees("The lamp was imported.", "#incoming")
    tab.page.get_by_role("button", name="Import this").click()
    tab.sees("Imported: 1 memories.", "#toast")
    tab.page.click("text=Show the memories")
    until(lambda: "The lamp was imported." in tab.page.locator("#results").inner_text(), "the memory", 30)
