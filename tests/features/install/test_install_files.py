"""`memoryd install` and `memoryd uninstall` on files that are not regular, or have unusual content."""

import os
import socket
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import Run, data, error_line, run
from tests.features.install.test_install import at_home, beside, entry, prepared

__all__ = ["at_home", "data", "run"]  # fixtures

HOOK = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "memoryd hook stop"}]}]} /* mine */}'
ARRAYS = """# mine
model = "o9"  # the best

[[profiles]]  # the first
name = "a"
# inside
[[profiles]]
name = "b"
[[profiles.rules]]
x = 1

# about other
[mcp_servers.other]
command = "npx"

[[profiles.rules]]
x = 2
# the end
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its files are of other kinds")
@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("kind", ["directory", "pipe", "socket", "loop"])
def test_only_regular_files_are_changed(
    at_home: Run, home: Path, kind: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = prepared(home, "cursor")
    if kind == "directory":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            monkeypatch.chdir(file.parent)  # the name of a socket is short
            one.bind(file.name)
    else:
        file.symlink_to(file)
    before = changes(file)
    result = at_home(command, "cursor", code=1)
    reason = "cannot be read" if kind == "loop" else "is not a regular file"
    assert f"{file} was not changed: it {reason}" in result.stderr
    assert (changes(file), beside(file)) == (before, [])


def changes(file: Path) -> tuple[int, ...]:
    """Return what changes when the file or link itself changes, without the access time, which reading changes."""
    now = file.lstat()
    return now.st_mode, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def test_arrays_of_tables_and_comments_stay(at_home: Run, home: Path) -> None:
    file = prepared(home, "codex", ARRAYS)
    at_home("install", "codex")
    assert "command" in entry(file, "codex")
    assert file.read_text(encoding="utf-8").startswith(ARRAYS)
    at_home("uninstall", "codex")
    assert file.read_text(encoding="utf-8") == ARRAYS


def test_only_the_entry_between_arrays_of_tables_is_replaced(at_home: Run, home: Path) -> None:
    before, after = "[[a]]\nx = 1  # one\n", "# about b\n[[b]]\ny = 1\n[[b.c]]\n"
    file = prepared(home, "codex", f'{before}[mcp_servers.memory]\ncommand = "memoryd"\n{after}')
    at_home("install", "codex")
    text = file.read_text(encoding="utf-8")
    assert (text.startswith(before), text.endswith(after)) == (True, True)
    at_home("uninstall", "codex")
    assert file.read_text(encoding="utf-8") == before + after


@pytest.mark.parametrize("client", ["cursor", "gemini", "claude-code"])
@pytest.mark.parametrize("text", ['{"a": 1,} // mine\n', '{"hooks": {"Stop": []}, /* yours */}'])
def test_comments_do_not_matter_without_an_entry_of_ours(at_home: Run, home: Path, client: str, text: str) -> None:
    files = [prepared(home, client, text), *(home / at for at in (".claude/settings.json", ".cursor/hooks.json"))]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert "is not installed" in at_home("uninstall", client).stdout
    assert {file.read_text(encoding="utf-8") for file in files} == {text}


def test_comments_are_refused_with_an_entry_of_ours(at_home: Run, home: Path) -> None:
    file = prepared(home, "cursor", '{"mcpServers": {"memory": {"command": "memoryd"}},}')
    assert "Comments and trailing commas" in at_home("uninstall", "cursor", code=1).stderr
    file.unlink()
    hooks = home / ".cursor/hooks.json"
    hooks.write_text(HOOK, encoding="utf-8")
    assert "docs/hooks.md" in at_home("uninstall", "cursor", code=1).stderr
    assert hooks.read_text(encoding="utf-8") == HOOK


def test_an_entry_without_a_name_is_not_looked_for(at_home: Run, home: Path) -> None:
    prepared(home, "cursor", '{"mcpServers": {"": {"command": "memoryd"}}}')
    assert "--name is empty" in error_line(at_home("uninstall", "cursor", "--name", "", code=2))
