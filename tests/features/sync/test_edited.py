"""An exported folder that was edited, as people do in Obsidian: what comes back, and what changes nothing."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from memoryd.core.transfer.export_formats import FolderChanges
from memoryd.errors import InvalidInputError
from memoryd.features.sync import edited, folder
from memoryd.store import rows
from memoryd.store.base import Row
from tests.commands import run
from tests.features.sync.kit import living
from tests.features.sync.test_folder import brought, written

PORT = "The staging port is 5433."


class Desk:
    """A memory, and the folder that was exported of it."""

    def __init__(self, engine: Engine, out: Path, *texts: str) -> None:
        self.engine, self.out = engine, out
        self.scope = Scope(engine, engine.workspaces.ensure("default"))
        self.id = Memories(self.scope).store(PORT, tags=["ops", "port"], importance=0.7).id
        for text in ("Bob prefers tea.", *texts):
            Memories(self.scope).store(text)
        Vault(self.scope).commit("vault", "deploy/key", "Use the blue one.")
        graph = Graph(self.scope)
        entities.create(graph, [NewEntity(name="Ann", type="person", observations=("Tall.", "Kind."), summary="She.")])
        entities.create(graph, [NewEntity(name="Acme", type="company")])
        relations.create(graph, [Edge("Ann", "Acme", "works at")])
        Journal(self.scope).add("Which port?", "", "5433.", "s1")
        written(engine, out)

    def file(self, word: str) -> Path:
        """Return the file whose name has a word."""
        (found,) = [path for path in self.out.rglob("*.md") if word in path.name]
        return found

    def edit(self, word: str, old: str, new: str) -> Path:
        path = self.file(word)
        text = path.read_bytes().decode()
        assert old in text
        path.write_bytes(text.replace(old, new).encode())
        return path

    def texts(self) -> list[str]:
        """Return the texts of all living records."""
        return sorted(one.get("body", "") for one in living(self.scope))

    def row(self, table: str) -> Row:
        """Return what the table has of the memory with the port."""
        (row,) = self.scope.read(lambda q: rows.of(q, table, [self.id]))
        return row

    def bring(self, *, forget: bool = False) -> FolderChanges:
        return brought(self.engine, self.out, forget=forget)


@pytest.fixture
def desk(engine: Engine, tmp_path: Path) -> Desk:
    return Desk(engine, tmp_path / "notes")


def summary(found: FolderChanges) -> list[tuple[str, str]]:
    return sorted((one.what, one.noun) for one in found.changes)


def test_an_edited_text_is_a_correction_of_the_same_record(desk: Desk) -> None:
    desk.edit("staging", "5433", "6000")
    found = desk.bring()
    (change,) = found.changes
    assert (change.what, change.id) == ("changed", desk.id)
    assert list(change.diff) == [f"- {PORT}", "+ The staging port is 6000."]
    row = desk.row("records")
    assert (row["body"], row["client"]) == ("The staging port is 6000.", "import markdown")
    assert desk.row("versions")["body"] == PORT


def test_a_text_of_many_equal_lines_is_compared_with_a_bound(desk: Desk) -> None:
    Memories(desk.scope).store("Lines\n" + "a\nb\n" * 2_000 + "End")
    written(desk.engine, desk.out)
    desk.edit("Lines", "a\nb\n" * 1_999, "b\na\nc\n" * 1_300)
    (change,) = desk.bring().changes
    assert {line[0] for line in change.diff} == {"-", "+"}
    assert 3_900 <= sum(line.startswith("+ ") for line in change.diff) <= 3_910, "all of them"


def test_a_preview_changes_nothing(desk: Desk) -> None:
    desk.edit("staging", "5433", "6000")
    before = desk.texts()
    (found,) = edited.compare(desk.engine, desk.out, "", forget=True, apply=False)
    assert summary(found) == [("changed", "memories")]
    assert desk.texts() == before


def test_an_edit_goes_to_another_store_that_gets_the_other_records_with_their_ids(desk: Desk, other: Engine) -> None:
    desk.edit("staging", "5433", "6000")
    found = brought(other, desk.out)
    assert ("added", "memories") in summary(found)
    assert desk.id in [one.id for one in found.changes]
    (row,) = Scope(other, other.workspaces.find("default")).read(lambda q: rows.of(q, "records", [desk.id]))
    assert row["body"] == "The staging port is 6000."


# what changes nothing ------------------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    return re.sub(r"^(id|client|created_at): '?([^'\n]*)'?$", r'\1: "\2"', text, flags=re.MULTILINE)


def _flow(text: str) -> str:
    return text.replace("tags:\n- ops\n- port\n", "tags: [port, ops]\n")


def _reordered(text: str) -> str:
    _, front, body = text.split("---\n", 2)
    named = re.findall(r"^\w+:.*\n(?:[- ].*\n)*", front, re.MULTILINE)
    return f"---\n{''.join(reversed(named))}---\n{body}"


def _without_milliseconds(text: str) -> str:
    return re.sub(r"'?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z'?", r"\1Z", text)


HABITS: dict[str, Callable[[str], str]] = {
    "quotes": _quoted,
    "lists": _flow,
    "order": _reordered,
    "case": lambda text: re.sub(r"^(id|tags|client):", lambda m: m[1].capitalize() + ":", text, flags=re.MULTILINE),
    "times": _without_milliseconds,
    "lines": lambda text: text.replace("\n", "\r\n"),
    "mark": lambda text: f"\ufeff{text}",
    "blanks": lambda text: re.sub(r"(?<=[a-z.])\n", "  \n", text) + "\n\n",
    "no end": lambda text: text.rstrip("\n"),
    "gap": lambda text: re.sub(r"\n---\n", "\n---\n\n", text, count=1),
    "more": lambda text: text.replace("---\n", "---\naliases:\n  - other\ncssclasses: wide\n", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("habit", HABITS)
def test_what_editors_do_by_themselves_changes_nothing_and_hides_no_edit(desk: Desk, habit: str) -> None:
    before, changed = desk.texts(), 0
    for path in desk.out.rglob("*.md"):
        text = path.read_bytes().decode()
        after = HABITS[habit](text)
        changed += after != text
        path.write_bytes(after.encode())
    assert changed
    found = desk.bring()
    assert (found.changes, found.refused, desk.texts()) == ([], {}, before)
    assert found.unknown == ({"aliases", "cssclasses"} if habit == "more" else set())
    desk.edit("staging", "5433", "6000")
    assert summary(desk.bring()) == [("changed", "memories")]
    assert "The staging port is 6000." in [text.strip() for text in desk.texts()]


def test_folders_of_obsidian_are_left_alone(desk: Desk) -> None:
    for place in (".obsidian", ".trash", "default/.trash"):
        (desk.out / place).mkdir()
        (desk.out / place / "note.md").write_text("Not a memory.")
    assert not desk.bring().changes


def test_a_file_may_get_another_name_and_folder(desk: Desk) -> None:
    port, acme = desk.out / "Projects/The port.md", desk.out / "default/People/Acme Inc.md"
    for word, path in (("staging", port), ("Acme", acme)):
        path.parent.mkdir()
        desk.file(word).rename(path)
    ann = desk.edit("Ann ", "works at [[", "works at [[People/Acme Inc|Acme]]\n- was at [[")
    ann.write_text(re.sub(r"- was at .*\n", "", ann.read_text()))
    assert not desk.bring(forget=True).changes
    port.write_text(port.read_text().replace("5433", "6000"))
    assert summary(desk.bring(forget=True)) == [("changed", "memories")]


def test_what_has_changed_here_since_the_export_stays(desk: Desk) -> None:
    correction.correct(desk.scope, Correction(id=desk.id, content="The staging port is 7000.", tags=("new",)))
    observations.add(Graph(desk.scope), [("Ann", ["Patient."])])
    Memories(desk.scope).store("Stored since.")
    before = desk.texts()
    assert not desk.bring(forget=True).changes
    assert desk.texts() == before
    desk.edit("staging", "- ops\n", "- ops\n- mine\n")
    desk.bring()
    row = desk.row("records")
    assert (row["body"], set(json.loads(row["tags"]))) == ("The staging port is 7000.", {"new", "mine"})


def test_an_edit_that_was_applied_and_corrected_since_does_not_return(desk: Desk) -> None:
    desk.edit("staging", "5433", "6000")
    desk.bring()
    correction.correct(desk.scope, Correction(id=desk.id, content="The staging port is 7000."))
    assert not desk.bring().changes
    assert "The staging port is 7000." in desk.texts()


def test_what_was_forgotten_here_does_not_return(desk: Desk) -> None:
    Memories(desk.scope).forget(Criteria(ids=(desk.id,)), confirm=True)
    entities.delete(Graph(desk.scope), ["Ann"])
    desk.edit("staging", "5433", "6000")
    before = desk.texts()
    found = desk.bring()
    assert (found.changes, found.forgotten, desk.texts()) == ([], 5, before)


# new, copied, deleted ------------------------------------------------------------------------------------------------


def test_a_new_note_is_a_memory_wherever_it_is(desk: Desk) -> None:
    (desk.out / "By hand.md").write_text("---\ntags: [x, y]\n---\nThe first note.\n")
    (desk.out / "default/memories/Other.md").write_bytes(b"\xef\xbb\xbfThe second note.\r\nIts end.\r\n")
    assert summary(desk.bring()) == [("added", "memories")] * 2
    assert {"The first note.", "The second note.\nIts end."} < set(desk.texts())


def test_a_new_note_with_a_key_that_exists_corrects_that(desk: Desk) -> None:
    (desk.out / "default/By hand.md").write_text("---\nname: deploy/key\n---\nUse the red one.\n")
    desk.bring()
    assert "Use the red one." in desk.texts()
    assert "Use the blue one." not in desk.texts()


def test_a_copy_is_a_memory_of_its_own(desk: Desk) -> None:
    path = desk.file("staging")
    shutil.copy(path, path.with_name("Copy.md"))
    path.with_name("Copy.md").write_text(path.read_text().replace("5433", "6000"))
    assert summary(desk.bring()) == [("added", "memories")]
    assert {PORT, "The staging port is 6000."} < set(desk.texts())


def test_a_deleted_file_is_forgotten_only_if_one_asks_for_it(desk: Desk) -> None:
    desk.file("staging").unlink()
    found = desk.bring()
    assert [(one.what, one.id) for one in found.changes] == [("removed", desk.id)]
    assert PORT in desk.texts()
    desk.bring(forget=True)
    assert PORT not in desk.texts()
    assert not desk.bring(forget=True).changes


def test_a_part_of_a_folder_tells_of_nothing_else(desk: Desk, other: Engine) -> None:
    path = desk.edit("staging", "5433", "6000")
    desk.file("prefers").unlink()
    (found,) = edited.compare(desk.engine, path, "", forget=True, apply=True)
    assert summary(found) == [("changed", "memories")]
    alone = desk.out.with_name("alone")
    (alone / "default" / "vault").mkdir(parents=True)
    for name in ("memoryd.json", "default/workspace.json"):
        shutil.copy(desk.out / name, alone / name)
    shutil.copy(desk.file("deploy"), alone / "default/vault")
    assert not brought(desk.engine, alone, forget=True).changes
    assert summary(brought(other, alone, forget=True)) == [("added", "memories")]


def test_observations_and_relations_are_added_changed_and_removed(desk: Desk) -> None:
    path = desk.edit("Ann ", "- Tall. ^0\n- Kind. ^1\n", "- Very tall. ^0\n- From Kiel.\n")
    text = re.sub(r"- works at \[\[.*\n", "- friend of [[Acme]]\n", path.read_text())
    path.write_text(text.replace("She.\n", "She is a friend.\n"))
    found = desk.bring()
    wanted = [("added", "observations"), ("added", "relations"), ("changed", "entities"), ("changed", "observations")]
    assert summary(found) == [*wanted, ("removed", "observations"), ("removed", "relations")]
    assert {"Very tall.", "From Kiel.", "She is a friend."} < set(desk.texts())


# refused -------------------------------------------------------------------------------------------------------------


def test_a_file_that_is_moved_and_damaged_at_once_forgets_nothing(desk: Desk) -> None:
    desk.edit("staging", "importance: ", "importance: [").rename(desk.out / "Port.md")
    assert len(desk.bring(forget=True).refused) == 1
    assert PORT in desk.texts()


def test_a_newer_tree_is_refused(desk: Desk) -> None:
    (desk.out / "memoryd.json").write_text('{"format": "memoryd tree", "version": 2}\n')
    with pytest.raises(InvalidInputError, match="version 2"):
        edited.compare(desk.engine, desk.out, "", forget=False, apply=True)


def test_an_archive_of_the_page_comes_back(desk: Desk, other: Engine) -> None:
    folder.archive(desk.engine, desk.scope.workspace, desk.out.with_suffix(".zip"), lambda *_: None)
    assert brought(other, desk.out.with_suffix(".zip")).changes
    assert not brought(desk.engine, desk.out.with_suffix(".zip"), forget=True).changes


# as a person does it -------------------------------------------------------------------------------------------------


def test_a_person_edits_a_folder_and_imports_it(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    run(home, "store", "Ann prefers tea.", "--tag", "food")
    run(home, "store", "Bob prefers milk.")
    report = json.loads(run(home, "export", out, "--format", "markdown", "--json").stdout)
    assert report["workspaces"][0]["memories"] == 2
    ann, bob = (next(out.rglob(f"{name}*.md")) for name in ("Ann", "Bob"))
    assert ann.read_text().endswith("---\nAnn prefers tea.\n")
    ann.write_text(ann.read_text().replace("tea", "coffee"))
    bob.unlink()
    shown = run(home, "import", out, "--dry-run")
    assert "- Ann prefers tea." in shown.stdout
    assert "+ Ann prefers coffee." in shown.stdout
    assert "--forget" in shown.stderr
    assert "--yes" in run(home, "import", out, code=2).stderr
    assert "tea" in run(home, "recall", "Ann prefers").stdout
    run(home, "import", out, "--yes")
    assert "coffee" in run(home, "recall", "Ann prefers").stdout
    assert "milk" in run(home, "recall", "Bob prefers").stdout
    again = json.loads(run(home, "import", out, "--yes", "--forget", "--json").stdout)["workspaces"][0]
    assert (again["added"], again["changed"], again["removed"]) == ({}, {}, {"memories": 1})
    assert "milk" not in run(home, "recall", "Bob prefers").stdout
    run(home, "import", out, "--yes", "--workspace", "copy")
    assert "coffee" in run(home, "recall", "Ann prefers", "--workspace", "copy").stdout
    assert "Unknown format 'csv'" in run(home, "export", tmp_path / "x", "--format", "csv", code=2).stderr


def test_all_workspaces_are_one_folder(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    for name, text in (("default", "One."), ("a/b", "Two."), ("A:B", "Three.")):
        run(home, "store", text, "--workspace", name)
    run(home, "export", out, "--format", "markdown", "--all")
    assert len({path.name.casefold() for path in out.iterdir() if path.is_dir()}) == 3
    assert "3 workspaces" in run(home, "import", out, "--yes", "--workspace", "copy", code=2).stderr
    run(tmp_path / "other", "import", out, "--yes")
    assert "Two." in run(tmp_path / "other", "recall", "Two", "--workspace", "a/b").stdout
