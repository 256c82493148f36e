"""`memoryd import` as a person or a script uses it."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.clients import environment
from tests.commands import Ended, run

LINES: list[dict[str, Any]] = [
    {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Ann climbs on Tuesdays.", ""]},
    {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works at"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return path


def imported(home: Path, file: Path, *arguments: str, code: int = 0, **settings: str) -> Ended:
    return run(home, "import", "--from", "server-memory", file, *arguments, code=code, **settings)


def test_what_was_imported_is_counted_and_found(home: Path, file: Path) -> None:
    result = imported(home, file)
    assert re.findall(r"^(\w+) +(\d+) +(\d+) +(\d+)", result.stdout, re.MULTILINE) == [
        ("entities", "2", "2", "0"),
        ("observations", "1", "1", "0"),
        ("relations", "1", "1", "0"),
    ]
    assert "Omitted: 1 empty observations." in result.stdout
    unknown = "which is not in the source: created, of type unknown, unless it exists."
    hint = f"memory.jsonl, line 2 relates 'Acme', {unknown}\n"
    assert result.stderr == hint
    assert "Ann climbs on Tuesdays." in run(home, "recall", "who climbs").stdout
    again = imported(home, file)
    assert re.findall(r" (\d+) +(\d+) +(\d+)", again.stdout) == [("2", "0", "2"), *[("1", "0", "1")] * 2]
    assert again.stderr == hint


def test_as_json_for_a_script(home: Path, file: Path) -> None:
    report = json.loads(imported(home, file, "--json").stdout)
    numbers = {"entities": 2, "observations": 1, "relations": 1}
    assert (report["path"], report["format"], report["found"]) == (str(file), "server-memory", numbers)
    assert (report["left_out"], report["faults"], report["hints"]) == ({"empty observations": 1}, 0, 1)
    (workspace,) = report["workspaces"]
    assert (workspace["workspace"], workspace["read"], workspace["new"]) == ("default", numbers, numbers)


def test_a_workspace_may_be_new(home: Path, file: Path) -> None:
    imported(home, file, "--workspace", "from elsewhere")
    assert "climbs" in run(home, "recall", "climbs", "--workspace", "from elsewhere").stdout
    assert "There is no workspace 'default'" in run(home, "recall", "climbs", code=1).stderr


def test_a_torn_line_is_reported_and_the_command_fails_though_the_rest_is_imported(home: Path, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9] + b"\n" + b"broken\n" * 25)
    result = imported(home, file, code=1)
    assert "memory.jsonl, line 2: is not JSON" in result.stderr
    assert "... and 6 more like that." in result.stderr
    assert "Parts that were not imported: 26." in result.stderr
    assert "climbs" in run(home, "recall", "climbs").stdout
    script = imported(home, file, "--json", code=1)
    assert json.loads(script.stdout)["faults"] == 26
    assert script.stderr.count("\n") == 1


def test_a_database_is_not_a_file_to_import(home: Path, file: Path) -> None:
    run(home, "store", "Ann climbs.")
    assert "is a memoryd database" in imported(home, home / "data" / "memory.db", code=2).stderr


def test_with_models_the_vectors_are_made_unless_they_are_left_to_a_server(
    home: Path, file: Path, model_dir: Path
) -> None:
    models: dict[str, Any] = {"MEMORY_EMBEDDER": "bundled", "MEMORY_MODEL_DIR": str(model_dir)}
    imported(home, file, "--no-vectors", **models)
    assert _embedded(home, **models) == {}
    imported(home, file, **models)
    assert list(_embedded(home, **models).values()) == [3]


def _embedded(home: Path, **models: Any) -> dict[str, int]:
    return dict(json.loads(run(home, "inspect", "--json", **models).stdout)["stats"]["embedded"])


def test_missing_model_files_are_reported_and_the_import_works(home: Path, file: Path, tmp_path: Path) -> None:
    result = imported(home, file, MEMORY_EMBEDDER="bundled", MEMORY_MODEL_DIR=str(tmp_path / "none"))
    assert "memoryd models pull" in result.stderr
    assert "climbs" in run(home, "recall", "climbs").stdout


@pytest.mark.process
def test_a_terminal_shows_progress(home: Path, file: Path) -> None:
    many = (json.dumps({**LINES[0], "name": f"E{number}"}) for number in range(200))
    file.write_text("\n".join(many))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "memoryd", "import", "--from", "server-memory", str(file)]
    shown = b""
    with (home.parent / "out").open("w") as out:
        with subprocess.Popen(command, env=environment(home), stdout=out, stderr=theirs) as process:
            os.close(theirs)
            with suppress(OSError):  # the error of a terminal whose other side is closed
                while part := os.read(ours, 4_096):  # it holds no more
                    shown += part
        os.close(ours)
        assert process.returncode == 0
    assert b"importing default" in shown  # the last step, so it is always shown
    assert "importing" not in (home.parent / "out").read_text()
