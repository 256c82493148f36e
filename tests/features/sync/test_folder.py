"""The export for people: the files, that equal contents give equal files, and that everything can be imported."""

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from memoryd.core.transfer.export_formats import FolderChanges
from memoryd.core.transfer.file_names import readable
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.sync import edited, folder
from tests.core.exports_kit import everything


def written(engine: Engine, path: Path) -> dict[str, str]:
    """Export the workspace `default`; return the files."""
    folder.export(engine, [engine.workspaces.find("default")], path, lambda *_: None)
    return {one.relative_to(path).as_posix(): one.read_bytes().decode() for one in path.rglob("*") if one.is_file()}


def brought(engine: Engine, path: Path, *, forget: bool = False) -> FolderChanges:
    """Import a tree with one workspace; check that the preview shows the same, and that a second one adds nothing."""
    (shown,) = edited.compare(engine, path, "", forget=forget, apply=False)
    (done,) = edited.compare(engine, path, "", forget=forget, apply=True)
    assert (shown.changes, shown.refused) == (done.changes, done.refused)
    (again,) = edited.compare(engine, path, "", forget=forget, apply=True)
    assert not [one for one in again.changes if one.what != "removed"]
    return done


def filled(engine: Engine) -> Scope:
    """A workspace with texts that look like the structure around them."""
    scope = Scope(engine, engine.workspaces.ensure("default"))
    hostile = "---\ntitle: no\n---\n# Heading\n\n## Observations\n\n- [x] (y)\n\n## Relations\n\n- a [[b]] ^3\n"
    Memories(scope).store(hostile, tags=["two words", "42", "yes"], importance=0.9)
    Memories(scope).store("Ann prefers tea. #plain")
    Vault(scope).commit("vault", "notes/ü: a?", "  kept as it is\r\n")
    Vault(scope).commit("vault", " notes/ü: a?", "of a key that begins with a blank")
    graph = Graph(scope)
    observed = ("Lives in Berlin.", "[fact] Likes (green) tea", "ends ^7", "ends (so)", hostile)
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


@pytest.mark.parametrize("fill", [filled, everything])
def test_what_was_exported_comes_back_and_is_exported_as_the_same_bytes(
    engine: Engine, other: Engine, tmp_path: Path, fill: object
) -> None:
    fill(engine)  # type: ignore[operator]
    first = written(engine, tmp_path / "first")
    done = brought(other, tmp_path / "first")
    assert not done.refused
    assert {one.what for one in done.changes} == {"added"}
    assert written(other, tmp_path / "second") == first
    assert not brought(engine, tmp_path / "first").changes


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
    changed = out / new.pop()
    changed.write_text("Edited.")
    Memories(scope).store("And one more.")
    with pytest.raises(InvalidInputError, match="was edited since it was exported"):
        written(engine, out)
    changed.unlink()
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
    (tmp_path / "out" / "default").rename(tmp_path / "elsewhere")
    (tmp_path / "out" / "default").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInputError, match="symbolic link"):
        written(engine, tmp_path / "out")


OURS = "---\nid: a\nimportance: 0.5\n---\nOurs."
PLACE = "default/vault/aa"


def test_a_list_from_elsewhere_removes_nothing(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    out = tmp_path / "clone" / "out"
    (out / "default/vault").mkdir(parents=True)
    named, files = dict[str, list[str]](), dict[Path, bytes]()
    for name, content in (
        ("own.md", "Mine."),
        ("notes.md", OURS),  # exports write no such file
        (f"{PLACE}/own 0123456789ab.md", "Mine."),
        (f"{PLACE}/notes 0123456789ab.md", OURS),  # its hash is not that of its id
        (f"{PLACE}/notes.md", "\udcff"),
        (f"{PLACE}/deep/notes 0123456789ab.md", OURS),
        ("default/vault/../../up.md", OURS),
        ("default\\vault\\..\\notes.md", OURS),
    ):
        mine, data = out / name, content.encode(errors="surrogateescape")
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_bytes(data)
        files[mine] = data
        named |= {given: [hashlib.sha256(data).hexdigest()] for given in (name, str(mine))}
    (out / folder.LIST).write_text(json.dumps(named))
    done = folder.export(engine, [engine.workspaces.find("default")], out, lambda *_: None)
    assert not done.removed
    assert {mine: mine.read_bytes() for mine in files} == files
    assert (out / "memoryd.json").exists()


def test_a_list_from_elsewhere_overwrites_nothing(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    mine = tmp_path / "memoryd.json"
    mine.write_text("Mine.")
    (tmp_path / folder.LIST).write_text(json.dumps({"memoryd.json": [hashlib.sha256(b"Mine.").hexdigest()]}))
    with pytest.raises(InvalidInputError, match="was edited since it was exported"):
        written(engine, tmp_path)
    assert mine.read_text() == "Mine."


def test_a_list_that_cannot_be_read_is_named(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    written(engine, tmp_path / "out")
    for text in ("[" * 100_000, "9" * 5_000, "{"):
        (tmp_path / "out" / folder.LIST).write_text(text)
        with pytest.raises(InvalidInputError, match="no export has written"):
            written(engine, tmp_path / "out")
        with pytest.raises(InvalidInputError, match="Restore or delete it"):
            brought(engine, tmp_path / "out")


def test_lone_surrogates_in_a_list_are_left_out(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    files = written(engine, tmp_path / "out")
    for name, digest in (("\ud800", "0" * 64), ("a", "\ud800"), ("a", {"\ud800": 1})):
        (tmp_path / "out" / folder.LIST).write_text(json.dumps({f"other/vault/aa/{name} 0123456789ab.md": [digest]}))
        assert written(engine, tmp_path / "out") == files


def test_files_that_left_the_export_are_removed_and_named(engine: Engine, tmp_path: Path) -> None:
    scope = filled(engine)
    before = written(engine, tmp_path / "out")
    assert Memories(scope).forget(Criteria(tags=("42",)), confirm=True)
    entities.delete(Graph(scope), ["Ann"])
    done = folder.export(engine, [scope.workspace], tmp_path / "out", lambda *_: None)
    after = {one.relative_to(tmp_path / "out").as_posix() for one in (tmp_path / "out").rglob("*") if one.is_file()}
    gone = {path.relative_to(tmp_path / "out").as_posix() for path in done.removed}
    assert gone == before.keys() - after
    assert len(gone) == 2


def test_the_export_of_one_workspace_leaves_the_files_of_others(engine: Engine, tmp_path: Path) -> None:
    two = [engine.workspaces.ensure(name) for name in ("default", "Second: one")]
    for workspace in two:
        Memories(Scope(engine, workspace)).store(f"A fact of {workspace.name}.")
    folder.export(engine, two, tmp_path / "out", lambda *_: None)
    Memories(Scope(engine, two[0])).store("Another fact.")
    files = written(engine, tmp_path / "out")
    assert sum(name.endswith(".md") and "A fact of Second" in text for name, text in files.items()) == 1
    assert len(json.loads(files[folder.LIST])) == len(files) - 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes")
def test_an_export_into_a_folder_that_all_can_read_is_private(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    out, before = tmp_path / "out", os.umask(0o022)
    try:
        (out / "default").mkdir(parents=True, mode=0o755)
        (out / folder.LIST).write_text("{}")
        written(engine, out)
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path).as_posix(): path.stat().st_mode & 0o777 for path in out.rglob("*")}
    assert modes.pop("out/default") == 0o755
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
        ("COM¹", "_COM¹"),
        ("conout$", "_conout$"),
        ("console", "console"),
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


def test_a_folder_that_cannot_be_created_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    target = tmp_path / ("folder" * 50)  # longer than a name may be
    with pytest.raises(StoreError, match="cannot be written: File name too long"):
        folder.write(target, [("a.md", b"text")], ("a",))
    assert list(tmp_path.iterdir()) == []


RESERVED = {"con", "prn", "aux", "nul", *(f"{one}{n}" for one in ("com", "lpt") for n in "0123456789¹²³")}


def test_no_path_breaks_on_windows_or_where_case_is_ignored(engine: Engine, tmp_path: Path) -> None:
    names = ("CON", "con", "aux.md", "Aux", "ends.", "ends. ", "a:b", "A:B", "é", "e\u0301", "COM¹", "x" * 90, "LPT1")
    for number, name in enumerate(names):
        workspace = engine.workspaces.ensure(name.strip() if number % 2 else "default")
        Vault(Scope(engine, workspace)).commit("vault", name, f"Fact {number}.")
        entities.create(Graph(Scope(engine, workspace)), [NewEntity(name=name, type="x")])
    folder.export(engine, engine.workspaces.all(), tmp_path / "out", lambda *_: None)
    paths = [one.relative_to(tmp_path / "out").as_posix() for one in (tmp_path / "out").rglob("*")]
    assert len({path.casefold() for path in paths}) == len(paths)
    assert max(map(len, paths)) < 150
    for part in {part for path in paths for part in path.split("/")}:
        assert not part.endswith((".", " "))
        assert not set('<>:"|?*\\') & set(part)
        assert part.split(".")[0].casefold().strip() not in RESERVED
