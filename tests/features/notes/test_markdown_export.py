"""The export for people: the files, that equal contents give equal files, and that everything can be imported."""

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from memoryd.core.transfer.file_names import FileNames, readable
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.imports.formats import basic_memory
from memoryd.features.imports.formats.items import SourceEntity, SourceRelation
from memoryd.features.imports.formats.notes import note
from memoryd.features.imports.formats.source import opened
from memoryd.features.notes import folder
from tests.core.exports_kit import everything, export, load
from tests.features.imports.formats_kit import bring


def written(engine: Engine, path: Path) -> dict[str, str]:
    """Export the workspace `default`; return the files."""
    folder.export(engine, engine.workspaces.find("default"), path, lambda *_: None)
    return {one.relative_to(path).as_posix(): one.read_bytes().decode() for one in path.rglob("*") if one.is_file()}


def filled(engine: Engine) -> Scope:
    """A workspace with texts that look like the structure around them."""
    scope = Scope(engine, engine.workspaces.ensure("default"))
    hostile = '---\ntitle: no\n---\n# Heading\n\n## Observations\n- [x] (y)\n<!-- turns -->\n## Turn "a" b\n'
    Memories(scope).store(hostile, tags=["two words", "42"], importance=0.9)
    Memories(scope).store("Ann prefers tea. #plain")
    Vault(scope).commit("vault", "notes/ü: a?", "  kept as it is\r\n")
    Vault(scope).commit("vault", " notes/ü: a?", "of a key that begins with a blank")
    graph = Graph(scope)
    observed = ("Lives in Berlin.", "[fact] Likes (green) tea", "[observation] odd", "ends (so)", "ends ()", hostile)
    news = [
        NewEntity(name="Ann", type="person", observations=observed, summary=f"A friend.\n\n{hostile}", tags=("team",))
    ]
    entities.create(graph, [*news, NewEntity(name="a/b: [c]|#d", type="x")])
    entities.create(graph, [NewEntity(name="ANN", type="robot")])
    relations.create(graph, [Edge("Ann", "ANN", "knows"), Edge("Ann", "a/b: [c]|#d", "reports to")])
    observations.delete(graph, [observations.Deletion(entity="Ann", ordinals=(0,))])
    journal = Journal(scope)
    journal.add(f"Which port?\n{hostile}", "", f"5433.\n\n> quoted\n{hostile}", "s1")
    journal.add("Thanks.", "A thought.", "Gladly.", "s1")
    journal.summarize("s1")
    journal.add("Another session.", "", "Yes.", "s/2")
    return scope


def test_what_was_exported_comes_back_and_is_exported_as_the_same_bytes(
    engine: Engine, other: Engine, tmp_path: Path
) -> None:
    filled(engine)
    first = written(engine, tmp_path / "first")
    read, (done,) = bring(other, tmp_path / "first")
    assert (read.found.faults.number, read.form.name) == (0, "markdown")
    assert written(other, tmp_path / "second") == first
    _, (again,) = bring(engine, tmp_path / "first")
    assert not +again.new
    assert done.new["observations"] == 5


def test_every_kind_of_record_comes_back(engine: Engine, other: Engine, tmp_path: Path) -> None:
    everything(engine)
    first = written(engine, tmp_path / "first")
    bring(other, tmp_path / "first")
    assert written(other, tmp_path / "second") == first


def test_a_folder_comes_back_from_where_it_was_put(engine: Engine, other: Engine, tmp_path: Path) -> None:
    filled(engine)
    first = written(engine, tmp_path / "notes" / "of mine" / "first")
    bring(other, tmp_path / "notes")
    assert written(other, tmp_path / "second") == first


def test_a_folder_comes_back_with_windows_line_endings(engine: Engine, other: Engine, tmp_path: Path) -> None:
    filled(engine)
    vault = Vault(Scope(engine, engine.workspaces.find("default")))
    assert vault.prune("vault", key="notes/ü: a?") == 1  # it has such a line end itself
    first = written(engine, tmp_path / "first")
    for path in (tmp_path / "first").rglob("*.md"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    bring(other, tmp_path / "first")
    assert written(other, tmp_path / "second") == first


def test_a_copy_of_a_note_is_a_separate_entity(engine: Engine, other: Engine, tmp_path: Path) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    entities.create(graph, [NewEntity(name=name, type="x", observations=("a", "b")) for name in ("Ann", "Bob")])
    relations.create(graph, [Edge("Bob", "Ann", "knows")])
    note = written(engine, tmp_path / "out")["entities/Bob.md"]
    (tmp_path / "out" / "entities" / "Cid.md").write_text(note.replace("title: Bob", "title: Cid"))
    _, (done,) = bring(other, tmp_path / "out")
    assert (done.new["entities"], done.new["observations"], done.new["relations"]) == (3, 6, 2)
    theirs = Graph(Scope(other, other.workspaces.find("default")))
    assert [one.name for one in entities.page(theirs, "", 9)] == ["Ann", "Bob", "Cid"]
    _, (again,) = bring(other, tmp_path / "out")
    assert not +again.new


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ("ordinals:\n  - 1\n  - 2\n", f"ordinals: {ordinals}\n")
        for ordinals in ("[0, 0]", "['²', 1]", "[1, 99999999999999999999]", "[]", "5")
    ]
    + [("memory_count: 1", f"memory_count: {count}") for count in ("²", "99999999999999999999", "[1]")]
    + [('## Turn "', f'## Turn "{edited}') for edited in ("\\q", "\\ud800", "x" * 3_000)],
)
def test_what_was_edited_in_a_note_breaks_nothing(
    engine: Engine, other: Engine, tmp_path: Path, given: str, instead: str
) -> None:
    scope = Scope(engine, engine.workspaces.ensure("default"))
    entities.create(Graph(scope), [NewEntity(name="Ann", type="person", observations=("a", "b", "c"))])
    observations.delete(Graph(scope), [observations.Deletion(entity="Ann", ordinals=(0,))])
    journal = Journal(scope)
    journal.add("Which port?", "", "5433.", "s1")
    journal.summarize("s1")
    files = written(engine, tmp_path / "out")
    (edited,) = [name for name, content in files.items() if given in content]
    (tmp_path / "out" / edited).write_text(files[edited].replace(given, instead))
    _, (done,) = bring(other, tmp_path / "out")
    assert (done.new["observations"], done.new["turns"], done.new["summaries"]) == (2, 1, 1)
    export(other, tmp_path / "all.jsonl")
    load(engine, tmp_path / "all.jsonl", name="copy")


def test_obsidian_and_basic_memory_can_read_a_file(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    files = written(engine, tmp_path / "out")
    front = yaml.safe_load(files["entities/Ann.md"].split("---\n")[1])
    assert (front["title"], front["type"], front["tags"]) == ("Ann", "person", ["team"])
    assert "- knows [[entities/ANN (2)|ANN]]\n" in files["entities/Ann.md"]
    assert '- "reports to" [[entities/a b c d|a/b: c #d]]\n' in files["entities/Ann.md"]
    memory = next(text for text in files.values() if "# Heading" in text and "kind: memory" in text)
    assert yaml.safe_load(memory.split("\n---\n")[0])["tags"] == ["two-words", "t-42"]
    with opened(tmp_path / "out" / "entities" / "Ann.md") as source:
        found = list(basic_memory.items(note(source.files[0]), basic_memory.NameIndex([])))
    texts = next(one.observations for one in found if isinstance(one, SourceEntity))
    assert "[fact] Likes (green) tea" in texts
    assert "[observation] ends (so)" in texts
    assert {one.type for one in found if isinstance(one, SourceRelation)} >= {"knows", "reports to"}


def test_a_folder_is_brought_up_to_date_unless_a_file_was_edited(engine: Engine, tmp_path: Path) -> None:
    scope = filled(engine)
    out = tmp_path / "out"
    (out / ".git").mkdir(parents=True)
    before = written(engine, out)
    (out / "own.md").write_text("Mine.")
    kept = Memories(scope).store("One more.")
    after = written(engine, out)
    new = after.keys() - before.keys() - {"own.md"}
    assert len(new) == 1
    edited = out / new.pop()
    edited.write_text("Edited.")
    Memories(scope).store("And one more.")
    with pytest.raises(InvalidInputError, match="was edited since it was exported"):
        written(engine, out)
    edited.unlink()
    assert kept.id in "".join(written(engine, out).values())
    assert (out / "own.md").read_text() == "Mine."


def test_a_folder_of_others_is_not_touched(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "own.md").write_text("Mine.")
    with pytest.raises(InvalidInputError, match="contains files that no export has written"):
        written(engine, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["own.md"]


def test_a_link_out_of_the_folder_is_not_followed(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    written(engine, tmp_path / "out")
    (tmp_path / "out" / "entities").rename(tmp_path / "elsewhere")
    (tmp_path / "out" / "entities").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInputError, match="symbolic link"):
        written(engine, tmp_path / "out")


OURS = "---\nmemoryd:\n  kind: memory\n---\nOurs."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.md", "Mine."),
        ("notes.md", OURS),  # exports write no such file
        ("entities/notes.md", "Mine."),
        ("entities/notes.md", "---\nmemoryd: mine\n---\nMine."),
        ("entities/notes.md", "\udcff"),
        ("entities/deep/notes.md", OURS),
        ("memories/notes.md", OURS),
        ("sessions/../../notes.md", OURS),
        ("sessions\\..\\notes.md", OURS),
    ],
)
def test_a_list_from_elsewhere_removes_nothing(engine: Engine, tmp_path: Path, name: str, content: str) -> None:
    filled(engine)
    out = tmp_path / "clone" / "out"
    (out / "sessions").mkdir(parents=True)
    mine, data = out / name, content.encode(errors="surrogateescape")
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_bytes(data)
    named = {given: [hashlib.sha256(data).hexdigest()] for given in (name, str(mine))}
    (out / folder.LIST).write_text(json.dumps(named))
    done = folder.export(engine, engine.workspaces.find("default"), out, lambda *_: None)
    assert not done.removed
    assert mine.read_bytes() == data
    assert (out / "index.md").exists()


def test_a_list_from_elsewhere_overwrites_nothing(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    mine = tmp_path / "index.md"
    mine.write_text("Mine.")
    (tmp_path / folder.LIST).write_text(json.dumps({"index.md": [hashlib.sha256(b"Mine.").hexdigest()]}))
    with pytest.raises(InvalidInputError, match="was edited since it was exported"):
        written(engine, tmp_path)
    assert mine.read_text() == "Mine."


def test_files_that_left_the_export_are_removed_and_named(engine: Engine, tmp_path: Path) -> None:
    scope = filled(engine)
    before = written(engine, tmp_path / "out")
    assert Memories(scope).forget(Criteria(tags=("42",)), confirm=True)
    entities.delete(Graph(scope), ["Ann"])
    done = folder.export(engine, scope.workspace, tmp_path / "out", lambda *_: None)
    after = {one.relative_to(tmp_path / "out").as_posix() for one in (tmp_path / "out").rglob("*") if one.is_file()}
    gone = {path.relative_to(tmp_path / "out").as_posix() for path in done.removed}
    assert "entities/Ann.md" in gone
    assert gone == before.keys() - after


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes")
def test_an_export_into_a_folder_that_all_can_read_is_private(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    out, before = tmp_path / "out", os.umask(0o022)
    try:
        (out / "entities").mkdir(parents=True, mode=0o755)
        (out / folder.LIST).write_text("{}")
        written(engine, out)
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path).as_posix(): path.stat().st_mode & 0o777 for path in out.rglob("*")}
    assert modes.pop("out/entities") == 0o755
    assert {mode for name, mode in modes.items() if (tmp_path / name).is_file()} == {0o600}
    assert {mode for name, mode in modes.items() if (tmp_path / name).is_dir()} == {0o700}
    assert out.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("a/b\\c:d*?", "a b c d"),
        ("..", "_"),
        ("", "_"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        (".hidden. ", "hidden"),
        ("サイト" * 100, ("サイト" * 100)[:60]),
        ("e\u0301", "é"),
        ("[[x|y]]#z^", "x y z"),
        ("a\x00b\nc", "a b c"),
        ("invoice\u202efdp.exe", "invoice U+202E fdp.exe"),
        ("un\u200bseen\U000e0041", "un U+200B seen U+E0041"),
        ("👩\u200d🚀 می\u200cخواهم", "👩\u200d🚀 می\u200cخواهم"),
    ],
)
def test_every_system_accepts_the_file_names(given: str, name: str) -> None:
    assert readable(given) == name


def test_names_that_differ_only_in_case_are_two_files() -> None:
    names = FileNames()
    assert [names.free("e", name) for name in ("Ann", "ann", "ANN")] == ["e/Ann", "e/ann (2)", "e/ANN (3)"]


def test_a_folder_that_cannot_be_created_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    target = tmp_path / ("folder" * 50)  # longer than a name may be
    with pytest.raises(StoreError, match="cannot be written: File name too long"):
        folder.write(target, [("a.md", "text")])
    assert list(tmp_path.iterdir()) == []
