"""`memoryd export` and `memoryd import` of its files, as a person or a script uses them."""

import json
import re
from pathlib import Path

import pytest

from memoryd.core.base.progress import ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.core.transfer import journal_file
from memoryd.settings import Settings
from tests.clients import environment
from tests.commands import process, run
from tests.core.kit import memories


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "all.jsonl"


@pytest.fixture
def filled(home: Path) -> Path:
    """A home with two workspaces."""
    for name, text in (("default", "The ship sails north."), ("other", "Bread needs yeast.")):
        with opened(home) as engine:
            memories(engine, name=name).store(text, tags=("a",))
    return home


def opened(home: Path) -> Engine:
    return Engine(Settings.read(environment(home)), fetch=False)


def found(home: Path, query: str, name: str = "default") -> str:
    """Return the text of a recall."""
    with opened(home) as engine:
        return memories(engine, name=name).recall(query, 500).text


def numbers(output: str) -> list[tuple[str, ...]]:
    return re.findall(r"^(\w+) +(\d+) +(\d+) +(\d+) *$", output, re.MULTILINE)


@pytest.mark.parametrize(
    "command", [("export",), ("export", "--format", "markdown"), ("backup",), ("models", "export")]
)
def test_nothing_is_written_to_a_file_called_like_stdout(home: Path, command: tuple[str, ...]) -> None:
    assert "Name a file" in run(home, *command, "-", code=2).stderr


@pytest.mark.process
def test_export_from_one_home_and_import_into_another(filled: Path, tmp_path: Path, file: Path) -> None:
    exported = process(filled, "export", file, "--all")
    assert re.findall(r"^(\w+) +(\d+) +(\d+) *$", exported.stdout, re.MULTILINE) == [
        ("default", "1", "1"),
        ("other", "1", "1"),
    ]
    assert f"Wrote {file}: " in exported.stdout
    assert exported.stderr == ""
    imported = run(tmp_path / "there", "import", file)
    assert numbers(imported.stdout) == [("memories", "1", "1", "0"), ("events", "1", "1", "0")] * 2
    run(tmp_path / "there", "export", tmp_path / "again", "--all")
    assert (tmp_path / "again").read_bytes() == file.read_bytes()
    assert (
        numbers(run(tmp_path / "there", "import", file).stdout)
        == [
            ("memories", "1", "0", "1"),
            ("events", "1", "0", "1"),
        ]
        * 2
    )
    assert "sails" in found(tmp_path / "there", "ship")
    assert "yeast" in found(tmp_path / "there", "bread", "other")


def test_one_workspace_under_another_name_as_json_for_a_script(filled: Path, file: Path) -> None:
    report = json.loads(run(filled, "export", file, "--workspace", "other", "--json").stdout)
    assert report == {
        "file": str(file),
        "bytes": file.stat().st_size,
        "workspaces": [{"workspace": "other", "memories": 1, "events": 1}],
    }
    report = json.loads(run(filled, "import", file, "--workspace", "copy", "--json").stdout)
    assert report["workspaces"] == [
        {
            "workspace": "copy",
            "made": True,
            "read": {"memories": 1, "events": 1},
            "new": {"memories": 1, "events": 1},
            "remarks": 0,
            "first_remarks": [],
            "masked": {},
        }
    ]
    assert "yeast" in found(filled, "bread", "copy")


def test_a_file_saved_by_a_windows_editor_is_imported(filled: Path, tmp_path: Path, file: Path) -> None:
    run(filled, "export", file, "--all")
    whole = file.read_bytes()
    file.write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n"))
    shown = run(tmp_path / "there", "import", file)
    assert numbers(shown.stdout) == [("memories", "1", "1", "0"), ("events", "1", "1", "0")] * 2
    file.write_bytes(whole.replace(b"sails", b"sinks").replace(b"\n", b"\r\n"))
    assert "some were changed or lost" in run(tmp_path / "there", "import", file, code=2).stderr


def test_replace_replaces_the_existing_content(filled: Path, file: Path) -> None:
    run(filled, "export", file)
    with opened(filled) as engine:
        memories(engine).store("A zebra has stripes.")
    run(filled, "import", file, "--mode", "replace")
    assert "zebra" not in found(filled, "zebra")
    assert "sails" in found(filled, "ship")


def test_the_environments_workspace_is_the_target_unless_all_is_given(filled: Path, file: Path) -> None:
    run(filled, "export", file, "--all")
    ended = run(filled, "import", file, code=2, MEMORY_NAMESPACE="mine")
    assert "They cannot all be imported as 'mine'" in ended.stderr
    run(filled, "import", file, "--all", MEMORY_NAMESPACE="mine")


def test_an_archived_workspace_is_reported_and_omitted(filled: Path, file: Path) -> None:
    with opened(filled) as engine:
        engine.workspaces.archive("other")
    result = run(filled, "export", file, "--all")
    assert result.stderr.startswith("Archived, and not part of the export: other.")
    assert b"yeast" not in file.read_bytes()
    assert "is archived" in run(filled, "export", file.with_name("o"), "--workspace", "other", code=2).stderr


def test_a_journal_that_the_tool_has_exported_is_imported(home: Path, file: Path) -> None:
    with opened(home / "source") as engine:
        journal = Journal(Scope(engine, engine.workspaces.ensure("default"), "s"))
        journal.add("Why is the sky blue?", "physics", "Rayleigh scattering.", "s")
        journal_file.export(journal.kept, file, ["memories", "summaries"], ignore_progress)
    looked = run(home, "import", file, "--dry-run", "--workspace", "mine").stdout
    assert re.search(r"mine +found *\nturns +1 *\nNothing was imported.", looked)
    report = json.loads(run(home, "import", file, "--json", "--workspace", "mine").stdout)
    assert report == {
        "file": str(file),
        "mode": "merge",
        "workspace": "mine",
        "read": {"turns": 1, "summaries": 0},
        "new": {"turns": 1, "summaries": 0},
        "masked": {},
    }
    assert re.search(r"turns +1 +0", run(home, "import", file, "--workspace", "mine").stdout)
    assert "Rayleigh" in found(home, "sky", "mine")


def test_a_journal_in_chroma_is_reported(filled: Path, file: Path) -> None:
    result = run(filled, "export", file, MEMORY_JOURNAL_STORE="chroma")
    assert result.stderr.startswith("The journal is in ChromaDB (MEMORY_JOURNAL_STORE)")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["export", "{file}"], 1, "There is no database yet"),
        (["import", "{file}"], 2, "There is no file"),
        (["import", "{home}"], 2, "contains nothing in a recognized format"),
        (["import", "{text}"], 2, "is neither a memoryd export nor in another recognized format"),
        (["import", "{text}", "--mode", "add"], 2, "Unknown mode 'add'. Use one of: merge, replace."),
        (["import", "{text}", "--from", "server-memory", "--mode", "replace"], 2, "is only for memoryd's own exports"),
        (["--read-only", "import", "{text}"], 2, "--read-only"),
        (["import", "{text}", "--from", "csv"], 2, "Use one of: server-memory, claude-code, "),
        (["import", "{home}/none", "--from", "server-memory"], 2, "There is no file"),
        (["import", "{text}", "--from", "server-memory"], 2, "line 1: is not JSON"),
    ],
)
def test_impossible_requests_are_reported_and_create_nothing(
    home: Path, tmp_path: Path, file: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "text").write_text("mine\n")
    home.mkdir()
    ended = run(home, *(one.format(file=file, home=home, text=tmp_path / "text") for one in arguments), code=code)
    assert message in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n")) == ("", 1)
    assert not list((home / "data").glob("*.db"))


@pytest.mark.files
def test_what_is_left_of_a_damaged_database_is_exported_and_counted(filled: Path, file: Path) -> None:
    (database,) = filled.rglob("memory.db")
    data = bytearray(database.read_bytes())
    data[:4096] = bytes(4096)
    database.write_bytes(data)
    assert "not a SQLite database" in run(filled, "export", file, code=1).stderr
    done = run(filled, "export", file, "--salvage")
    assert "memory.db: 1 of" in done.stderr
    assert "pages could not be read" in done.stderr
    assert run(filled / "again", "import", file, "--yes").stdout
