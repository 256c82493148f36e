"""`memoryd import` of other programs' files, as a person uses it."""

import json
import re
import shutil
import zipfile
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from memoryd.core.workspaces.project import declare
from memoryd.features.imports import command as intake
from memoryd.features.imports.formats.json_lines import SIMPLE
from tests.commands import run
from tests.features.imports.formats_kit import sample
from tests.features.imports.test_source import lowered

MEMORY = {"content": "Ann prefers tea.", "project": "shop", "created_at": "2026-03-15T10:30:00Z"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    path.write_text(json.dumps(MEMORY) + "\n{torn\n")
    return path


def test_an_unreadable_file_is_named_and_not_called_unknown() -> None:
    with TemporaryDirectory() as place:  # which others may traverse
        Path(place).chmod(0o755)
        home, folder, note = Path(place), Path(place, "locked"), Path(place, "note.md")
        folder.mkdir()
        note.write_text("Ann prefers tea.")
        for path in (folder, note):
            path.chmod(0)
        with lowered():
            assert f"locked cannot be read ({folder}: Permission denied)" in run(home, "import", folder, code=2).stderr
            error = run(home, "import", note, code=1).stderr
        folder.chmod(0o700)
    assert error.startswith(f"{note} cannot be used: Permission denied. Check that it exists")


def test_without_consent_the_format_is_named_and_nothing_is_written(home: Path, file: Path) -> None:
    ended = run(home, "import", file, code=2)
    assert "notes.jsonl is a file of JSON objects" in ended.stderr
    assert "--dry-run" in ended.stderr
    assert "--yes or --from jsonl" in ended.stderr
    assert not (home / "data").exists()


def test_a_dry_run_shows_numbers_projects_and_the_first_of_each(home: Path, file: Path) -> None:
    shown = run(home, "import", file, "--dry-run")
    assert "memories  1      1    0" in shown.stdout
    assert "By project: shop 1." in shown.stdout
    assert "2026-03-15  Ann prefers tea." in shown.stdout
    assert "Nothing was imported." in shown.stdout
    assert "notes.jsonl, line 2: is not JSON" in shown.stderr
    assert not (home / "data").exists()


def test_torn_parts_make_the_command_fail_though_the_rest_is_imported(home: Path, file: Path) -> None:
    ended = run(home, "import", file, "--yes", code=1)
    assert "Parts that were not imported: 1." in ended.stderr
    assert "Ann prefers tea." in run(home, "recall", "tea").stdout


def test_as_json_for_a_script(home: Path, file: Path) -> None:
    report = json.loads(run(home, "import", file, "--from", "jsonl", "--json", code=1).stdout)
    assert (report["format"], report["found"], report["projects"], report["faults"]) == (
        "jsonl",
        {"memories": 1},
        {"shop": 1},
        1,
    )
    assert report["workspaces"][0]["new"]["memories"] == 1
    again = json.loads(run(home, "import", file, "--dry-run", "--json").stdout)
    assert again["first"]["memories"]
    assert (again["found"], again["new"]) == ({"memories": 1}, {"memories": 0})


def test_each_project_can_be_a_workspace(home: Path, file: Path) -> None:
    run(home, "import", file, "--yes", "--by-project", code=1)
    assert "Ann prefers tea." in run(home, "recall", "tea", "--workspace", "shop").stdout


def test_omitted_parts_are_listed_and_can_be_included(home: Path, tmp_path: Path) -> None:
    path = sample("claude-mem", tmp_path)
    assert "Omitted: 1 prompts (--include prompts imports them)." in run(home, "import", path, "--yes").stdout
    run(home, "import", path, "--yes", "--include", "prompts")
    assert "Which port has staging?" in run(home, "recall", "which port has staging").stdout
    assert "can include: prompts" in run(home, "import", path, "--yes", "--include", "x", code=2).stderr


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A folder of a graph, notes, a conversation, and a file that may be anything."""
    folder = tmp_path / "several"
    folder.mkdir()
    graph = {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Climbs."]}
    messages = [{"role": "user", "content": "Which port?"}, {"role": "assistant", "content": "5433."}]
    (folder / "memory.jsonl").write_text(json.dumps(graph))
    (folder / "Tea.md").write_text("Bob prefers tea.")
    (folder / "chat.json").write_text(json.dumps(messages))
    (folder / "fixtures.json").write_text(json.dumps([MEMORY]))
    (folder / "picture.png").write_bytes(b"")
    return folder


@pytest.mark.parametrize("zipped", [False, True])
def test_each_kind_in_a_folder_is_imported_and_the_rest_named(home: Path, several: Path, zipped: bool) -> None:
    source = Path(shutil.make_archive(str(several), "zip", several)) if zipped else several
    error = run(home, "import", source, code=2).stderr
    assert all(f"({form})" in error for form in ("server-memory", "chat", "markdown"))
    assert not (home / "data").exists()
    shown = run(home, "import", source, "--dry-run")
    assert shown.stdout.count("It contains:") == 3
    assert "Nothing was imported." in shown.stdout
    path = "fixtures.json" if zipped else several / "fixtures.json"
    assert f"fixtures.json may contain memories too: `memoryd import {path}`" in shown.stderr
    ended = run(home, "import", source, "--yes")
    assert "Omitted: 1 other files (1 .png)." in ended.stdout
    for query, text in (("climbs", "Climbs."), ("tea", "Bob prefers tea."), ("port", "5433.")):
        assert text in run(home, "recall", query).stdout
    assert "Ann prefers tea" not in run(home, "recall", "tea").stdout
    again = json.loads(run(home, "import", source, "--dry-run", "--json").stdout)
    assert [sum(kind["new"].values()) for kind in again] == [0, 0, 0]


def test_of_a_folder_of_several_kinds_one_can_be_named(home: Path, several: Path) -> None:
    shown = run(home, "import", several, "--dry-run", "--from", "markdown")
    assert shown.stdout.count("It contains:") == 1
    assert "3 other files" not in shown.stdout
    run(home, "import", several, "--from", "jsonl", "--yes")
    assert "Ann prefers tea." in run(home, "recall", "tea").stdout


def test_a_kind_with_nothing_to_import_does_not_stop_the_others(home: Path, several: Path) -> None:
    (several / "chat.json").write_text(json.dumps([{"role": "user", "content": ""}, {"role": "user", "content": " "}]))
    ended = run(home, "import", several, "--yes")
    assert "contains nothing in the format chat" in ended.stderr
    assert "Bob prefers tea." in run(home, "recall", "tea").stdout


def test_a_folder_with_nothing_to_import_says_what_was_left_out_and_why(home: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "CLAUDE.md").write_text("Be kind.")
    error = run(home, "import", tmp_path / "project", "--yes", code=2).stderr
    assert "1 files of instructions" in error
    assert f"`memoryd import {tmp_path / 'project' / 'CLAUDE.md'}` imports it" in error
    run(home, "import", tmp_path / "project" / "CLAUDE.md", "--yes")
    assert "Be kind." in run(home, "recall", "kind").stdout


def test_a_refusal_names_what_was_tried_and_shows_the_simple_format(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "issues.json"
    path.write_text(json.dumps([{"number": 7, "state": "open"}]))
    error = run(home, "import", path, code=2).stderr
    assert "Tried: server-memory, claude-code, qwen," in error
    assert all(f"`{line}`" in error for line in SIMPLE)
    path.write_text("\n".join(SIMPLE))
    assert "memories  1     1" in run(home, "import", path, "--yes").stdout


def test_a_dry_run_of_our_own_export_imports_nothing(home: Path, tmp_path: Path) -> None:
    run(home, "store", "Ann prefers tea.")
    run(home, "export", tmp_path / "own.jsonl")
    shown = run(home, "import", tmp_path / "own.jsonl", "--dry-run", "--workspace", "copy").stdout
    assert "Nothing was imported." in shown
    assert "memories  1      1    0" in shown
    assert "memories  1      0    1" in run(home, "import", tmp_path / "own.jsonl", "--dry-run").stdout
    assert "no workspace 'copy'" in run(home, "recall", "tea", "--workspace", "copy", code=1).stderr


def test_our_own_exports_in_a_folder_or_an_archive_are_named(home: Path, tmp_path: Path) -> None:
    folder, archive = tmp_path / "folder", tmp_path / "archive.zip"
    folder.mkdir()
    run(home, "store", "Ann prefers tea.")
    run(home, "export", folder / "own.jsonl")
    with zipfile.ZipFile(archive, "w") as made:
        made.write(folder / "own.jsonl", "own.jsonl")
    for path in (folder, archive):
        error = run(home, "import", path, code=2).stderr
        assert error.startswith(f"{path.name} contains memoryd exports: own.jsonl.")
    (folder / "own.jsonl").unlink()
    assert "folder contains nothing in a recognized format" in run(home, "import", folder, code=2).stderr


def test_a_dry_run_creates_no_workspace_for_the_current_project(home: Path, file: Path, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    declare(shop, "shop")
    there = partial(run, home, MEMORY_NAMESPACE="auto", MEMORY_PROJECT_DIR=str(shop))
    run(home, "store", "Elsewhere.", "--workspace", "other")
    run(home, "export", tmp_path / "own.jsonl", "--workspace", "other")
    there("import", file, "--dry-run")
    there("import", tmp_path / "own.jsonl", "--dry-run")
    there("import", tmp_path / "absent.jsonl", code=2)
    assert "shop" not in run(home, "workspace", "list").stdout
    there("import", tmp_path / "own.jsonl")
    there("import", file, "--yes", code=1)
    assert all(word in there("recall", word).stdout for word in ("Elsewhere", "tea"))
    assert "shop-2" not in run(home, "workspace", "list").stdout


def test_a_dry_run_of_a_replacement_says_what_would_be_removed(home: Path, tmp_path: Path) -> None:
    run(home, "store", "Ann prefers tea.")
    run(home, "export", tmp_path / "own.jsonl")
    run(home, "store", "Bread needs yeast.")
    shown = run(home, "import", tmp_path / "own.jsonl", "--dry-run", "--mode", "replace").stdout
    assert re.search(r"found +removed\nmemories +1 +2\nevents +1 +2\nNothing was imported", re.sub(" +\n", "\n", shown))
    it = run(home, "import", tmp_path / "own.jsonl", "--dry-run", "--mode", "replace", "--json", "--workspace", "new")
    assert json.loads(it.stdout)["workspaces"] == [{"workspace": "new", "memories": 1, "events": 1, "removed": {}}]
    run(home, "workspace", "archive", "default")
    again = run(home, "import", tmp_path / "own.jsonl", "--dry-run", "--mode", "replace", code=2)
    assert "is archived" in again.stderr


def test_without_an_embedder_no_vectors_are_promised(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MANY", 0)
    path = tmp_path / "notes.jsonl"
    path.write_text(json.dumps(MEMORY))
    assert "Vectors" not in run(home, "import", path, "--yes").stderr
