"""`memoryd install` and `memoryd uninstall` on the configuration files in the test's own home."""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import platformdirs
import platformdirs.macos
import pytest

from memoryd import __version__
from memoryd.features.install.catalog import CLIENTS, entry_with_url
from tests.cli.test_commands import UNPRIVILEGED, Run, data, error_line, run, script
from tests.clients import PATIENCE, environment
from tests.commands import REHEARSED, process
from tests.commands import run as run_at
from tests.installers import BIN

__all__ = ["data", "run"]  # fixtures

APPLICATIONS = "Library/Application Support" if sys.platform == "darwin" else ".config"
FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": f"{APPLICATIONS}/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": f"{APPLICATIONS}/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "antigravity": ".gemini/config/mcp_config.json",
    "copilot": ".copilot/mcp-config.json",
    "opencode": ".config/opencode/opencode.json",
    "qwen": ".qwen/settings.json",
}
TABLES = {"vscode": "servers", "codex": "mcp_servers", "opencode": "mcp"}
URL = "https://memory.example.org/mcp"
WITH_URL = [client for client in FILES if client != "claude-desktop"]

every_client = pytest.mark.parametrize("client", FILES)

FOREIGN_JSON = """{
    "größe": "☃ \\u00e9 a\\/b",  "numStartups": 1.50e2,
    "list": [1,  2,
        3],
    "TABLE": {
        "other": {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "secret"}}
    },
    "projects": {"/a": {"mcpServers": {"memory": {"command": "elsewhere"}}}}
}
"""
FOREIGN_TOML = '''# mine, keep it
model = "o9"   # the best

[mcp_servers.other]
command = "npx"
args = [
  "-y",   # yes
  "x",
]

# about größe ☃
[profiles."größe"]
text = """
[mcp_servers.memory]
"""
'''


def foreign(client: str) -> str:
    """Return a configuration that other programs wrote."""
    return FOREIGN_TOML if client == "codex" else FOREIGN_JSON.replace("TABLE", TABLES.get(client, "mcpServers"))


@pytest.fixture
def at_home(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, in the home, without settings from outside."""
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.defpath}")  # without the clients of who runs the tests
    for name in ("MEMORY_DATA_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return run


def prepared(home: Path, client: str, text: str | None = None) -> Path:
    """Return the client's file, in the directory of a client that was started, after writing a text to it, if any."""
    file = home / FILES[client]
    file.parent.mkdir(parents=True, exist_ok=True)
    (home / ".claude").mkdir(exist_ok=True)
    if text is not None:
        file.write_text(text, encoding="utf-8", newline="")
    return file


def held(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    return found


def entry(file: Path, client: str, name: str = "memory") -> dict[str, Any]:
    found: dict[str, Any] = held(file)[TABLES.get(client, "mcpServers")][name]
    return found


def beside(file: Path) -> list[Path]:
    """Return the other files in a file's directory."""
    return sorted(path for path in file.parent.iterdir() if path.is_file() and path != file)


# every client --------------------------------------------------------------------------------------------------------


@every_client
def test_the_first_configuration_of_a_client(home: Path, client: str) -> None:
    file = prepared(home, client)
    result = run_at(home, "install", client, "--workspace", "atlas", "--toolsets", "recall,graph")
    assert str(file) in result.stdout
    assert beside(file) == []
    assert file.stat().st_mode & 0o777 == 0o600
    made = entry(file, client)
    types = {"claude-code": "stdio", "vscode": "stdio", "copilot": "local", "opencode": "local"}
    assert made.get("type") == types.get(client)
    command = command_of(made)
    assert Path(command[0]).is_absolute()
    assert os.access(command[0], os.X_OK)
    for words in (["--workspace", "atlas"], ["--toolsets", "recall,graph"], ["--data-dir", str(home / "data")]):
        assert " ".join(words) in " ".join(command)


def command_of(made: dict[str, Any]) -> list[str]:
    """Return the command of an entry as one list."""
    return [*made["command"]] if isinstance(made["command"], list) else [made["command"], *made["args"]]


@pytest.mark.process
def test_what_is_configured_starts(home: Path) -> None:
    file = prepared(home, "claude-code")
    process(home, "install", "claude-code", "--workspace", "atlas")
    shown = subprocess.run(
        [*command_of(entry(file, "claude-code")), "--version"],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert shown.stdout == f"memoryd {__version__}\n"


@every_client
def test_only_the_entry_is_added_and_removed(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client, foreign(client))
    file.chmod(0o640)
    shown = at_home("install", client, "--dry-run")
    assert file.read_text(encoding="utf-8") == foreign(client)
    assert beside(file) == []
    assert [line for line in shown.stdout.splitlines() if re.match(r"-(?!--)", line)] in ([], [f"-{' ' * 8}{OTHER}"])
    assert "Nothing was changed" in shown.stderr
    at_home("install", client)
    installed = file.read_bytes()
    for line in foreign(client).splitlines():
        assert line in installed.decode()
    (backup,) = beside(file)
    assert re.fullmatch(rf"{re.escape(file.name)}\.\d{{8}}-\d{{6}}\.backup", backup.name)
    assert backup.read_text(encoding="utf-8") == foreign(client)
    assert {path.stat().st_mode & 0o777 for path in (file, backup)} == {0o640}
    assert "already installed" in at_home("install", client).stdout
    assert (file.read_bytes(), beside(file)) == (installed, [backup])
    at_home("uninstall", client)
    assert file.read_text(encoding="utf-8") == foreign(client)
    assert beside(file) == []
    assert "is not installed" in at_home("uninstall", client).stdout
    assert beside(file) == []


OTHER = '"other": {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "secret"}}'


@pytest.mark.parametrize("client", WITH_URL)
def test_a_server_elsewhere(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client, foreign(client))
    at_home("install", client, "--http", URL, "--workspace", "atlas", "--token-variable", "MY_TOKEN")
    made = entry(file, client)
    atlas = {"X-Memory-Workspace": "atlas"}
    assert (
        made
        == {
            "claude-code": {"type": "http", "url": URL, "headers": atlas | {"Authorization": "Bearer ${MY_TOKEN}"}}
            | {"alwaysLoad": True},
            "cursor": {"url": URL, "headers": atlas | {"Authorization": "Bearer ${env:MY_TOKEN}"}},
            "vscode": {
                "type": "http",
                "url": URL,
                "headers": atlas | {"Authorization": "Bearer ${input:memoryd-memory}"},
            },
            "codex": {"url": URL, "bearer_token_env_var": "MY_TOKEN", "http_headers": atlas},
            "gemini": {"httpUrl": URL, "headers": atlas | {"Authorization": "Bearer ${MY_TOKEN}"}},
            "antigravity": {"serverUrl": URL, "headers": atlas | {"Authorization": "Bearer ${MY_TOKEN}"}},
            "copilot": {"type": "http", "url": URL, "headers": atlas | {"Authorization": "Bearer ${MY_TOKEN}"}}
            | {"tools": ["*"]},
            "opencode": {
                "type": "remote",
                "url": URL,
                "headers": atlas | {"Authorization": "Bearer {env:MY_TOKEN}"},
            },
            "qwen": {"httpUrl": URL, "headers": atlas | {"Authorization": "Bearer ${MY_TOKEN}"}},
        }[client]
    )
    assert ("inputs" in held(file)) == (client == "vscode")
    assert (
        "already installed"
        in at_home("install", client, "--http", URL, "--workspace", "atlas", "--token-variable", "MY_TOKEN").stdout
    )
    at_home("install", client)
    assert entry(file, client).keys() <= {"type", "command", "args", "alwaysLoad", "tools", "env_vars"}
    at_home("uninstall", client)
    assert TABLES.get(client, "mcpServers") in held(file)
    assert held(file).get("inputs", []) == []


def test_a_workspace_of_a_server_is_named_in_ascii() -> None:
    made = entry_with_url(CLIENTS["cursor"], "memory", URL, "チーム 1", "")
    assert made["headers"] == {"X-Memory-Workspace": "%E3%83%81%E3%83%BC%E3%83%A0%201"}


@pytest.mark.slow
@every_client
def test_what_cannot_be_read_is_left_alone(at_home: Run, home: Path, client: str) -> None:
    file = prepared(home, client)
    no_list = "[" if client == "codex" else "[]"  # an empty header is no list there
    for text in ("{ // mine\n}", '{"a": 1,}', "[1, 2", "no\nconfiguration", no_list, "\xff"):
        file.write_bytes(text.encode("latin-1"))
        result = at_home("install", client, code=1)
        assert "was not changed" in result.stderr, text
        assert result.stderr.count("\n") == 1
        snippet = result.stdout.partition("\n\n")[2]
        assert "memory" in str(tomllib.loads(snippet) if client == "codex" else json.loads(snippet))
        if text == "\xff":
            assert "was not changed" in error_line(at_home("uninstall", client, code=1))
        else:
            assert "is not installed" in at_home("uninstall", client).stdout
        assert file.read_bytes() == text.encode("latin-1")
        assert beside(file) == []


@every_client
def test_a_client_that_was_never_started(at_home: Run, home: Path, client: str) -> None:
    assert "--force" in error_line(at_home("install", client, code=1))
    assert list(home.iterdir()) == []
    assert "is not installed" in at_home("uninstall", client).stdout
    at_home("install", client, "--force")
    assert "command" in entry(home / FILES[client], client)


@pytest.mark.skipif(sys.platform == "win32", reason="HOME means nothing there")
@every_client
def test_a_home_that_is_not_an_absolute_path_is_refused(
    at_home: Run, home: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """It would lead to files of the current directory, or of the account, that were not asked for."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("MEMORY_DATA_DIR", str(home / "data"))
    for given, wanted in product(("rel", ".", ""), ("install", "uninstall")):
        monkeypatch.setenv("HOME", given)
        done = at_home(wanted, client, "--dry-run", code=2)
        assert "HOME is no absolute path" in done.stderr, given
    assert list(home.iterdir()) == []


def test_where_macos_keeps_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(platformdirs, "PlatformDirs", platformdirs.macos.MacOS)
    support = home / "Library/Application Support"
    assert CLIENTS["claude-desktop"].file() == support / "Claude/claude_desktop_config.json"
    assert CLIENTS["vscode"].file() == support / "Code/User/mcp.json"


# the file ------------------------------------------------------------------------------------------------------------


def test_a_link_stays_a_link(at_home: Run, home: Path) -> None:
    file = prepared(home, "cursor")
    real = home / "dotfiles/cursor.json"
    real.parent.mkdir()
    real.write_text(foreign("cursor"), encoding="utf-8")
    file.symlink_to(real)
    at_home("install", "cursor")
    assert file.is_symlink()
    assert "command" in entry(real, "cursor")
    assert (beside(file), len(beside(real))) == ([], 1)


def test_a_write_protected_file_is_left_alone(at_home: Run, home: Path) -> None:
    file = prepared(home, "codex", foreign("codex"))
    file.chmod(0o444)
    assert "write-protected" in at_home("install", "codex", code=1).stderr
    assert (file.read_text(encoding="utf-8"), beside(file)) == (foreign("codex"), [])


@pytest.mark.process
def test_a_directory_that_is_not_writable(home: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        drop_rights = (
            f"{REHEARSED}\nrehearse(['install', 'cursor', '--file', '/dev/null/mcp.json'])\n"
            f"if os.getuid() == 0: os.setuid({UNPRIVILEGED})"
        )
        ended = script(drop_rights, "install", "cursor", "--file", f"{folder}/mcp.json", home=home)
    assert ended.returncode == 1
    assert "was not changed: it cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_directory_that_is_a_file(at_home: Run, home: Path) -> None:
    (home / ".cursor").write_text("x", encoding="utf-8")
    assert "cannot be read" in at_home("install", "cursor", "--force", code=1).stderr


def written_between(monkeypatch: pytest.MonkeyPatch, file: Path, times: int) -> None:
    """Let another program add to a file `times` times, each time just after ours was written."""
    sync, left = os.fsync, list(range(times))

    def fsync(handle: int) -> None:
        if left:
            left.pop()
            file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)


def test_what_another_writes_meanwhile_is_kept(at_home: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = prepared(home, "cursor", foreign("cursor"))
    written_between(monkeypatch, file, 1)
    at_home("install", "cursor")
    assert file.read_text(encoding="utf-8").endswith("}\n\n")
    assert "command" in entry(file, "cursor")
    (backup,) = beside(file)
    assert backup.read_text(encoding="utf-8") == foreign("cursor") + "\n"


def test_a_file_that_keeps_changing_is_left_alone(at_home: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = prepared(home, "cursor", foreign("cursor"))
    written_between(monkeypatch, file, 1_000)
    assert "close the client first" in at_home("install", "cursor", code=1).stderr
    assert "memoryd" not in file.read_text(encoding="utf-8")
    assert beside(file) == []


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_line_ends_and_byte_order_mark_stay(at_home: Run, home: Path, client: str) -> None:
    text = "\N{ZERO WIDTH NO-BREAK SPACE}" + foreign(client).replace("\n", "\r\n")
    file = prepared(home, client, text)
    at_home("install", client)
    installed = file.read_bytes().decode()
    assert installed.count("\n") == installed.count("\r\n") > text.count("\n")
    at_home("uninstall", client)
    assert file.read_bytes().decode() == text


@pytest.mark.parametrize(
    ("text", "installed"),
    [
        ("", '{\n  "mcpServers": {\n    "memory": ENTRY\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "memory": ENTRY\n  }\n}'),
        ('{"a":1}', '{"a":1, "mcpServers": {"memory": ENTRY}}'),
        ('{"mcpServers":{}}', '{"mcpServers":{"memory": ENTRY}}'),
        ('{\n\t"mcpServers": {}\n}', '{\n\t"mcpServers": {\n\t\t"memory": ENTRY\n\t}\n}'),
        ('{\n "mcpServers": {\n  "x": 1\n }, "b":2}', '{\n "mcpServers": {\n  "x": 1,\n  "memory": ENTRY\n }, "b":2}'),
    ],
)
def test_the_layout_of_json_stays(at_home: Run, home: Path, text: str, installed: str) -> None:
    file = prepared(home, "cursor", text)
    at_home("install", "cursor")
    layout = re.sub(r'("memory": )\{.*?\}', r"\1ENTRY", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert layout == installed


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {other = {command = "x"}}  # inline\n',
        '[mcp_servers]\nother = {command = "x"}  # inline\n',
        'mcp_servers.other.command = "x"  # dotted\n',
        '[mcp_servers.memory]\ncommand = "memoryd"\n# what follows\n[other]\na = 1\n[mcp_servers.memory.env]\nA = "b"',
        "[other]\na = [\n[1],\n]\n\n\n# the end",
    ],
)
def test_every_form_of_toml(at_home: Run, home: Path, text: str) -> None:
    file = prepared(home, "codex", text)
    before = held(file)
    at_home("install", "codex")
    assert "command" in entry(file, "codex")
    for comment in re.findall("#.*", text):
        assert comment in file.read_text(encoding="utf-8")
    at_home("uninstall", "codex")
    after = held(file)
    before.get("mcp_servers", {}).pop("memory", None)
    assert {name: part for name, part in after.items() if part} == {name: part for name, part in before.items() if part}
    for comment in re.findall("#.*", text):
        assert comment in file.read_text(encoding="utf-8")


def test_what_the_user_added_to_the_entry_stays(at_home: Run, home: Path) -> None:
    ours = {"timeout": 9, "command": "memoryd", "env": {"A": "b"}, "args": ["--read-only"]}
    file = prepared(home, "cursor", json.dumps({"mcpServers": {"memory": ours}}))
    at_home("install", "cursor", "--workspace", "w")
    assert {name: entry(file, "cursor")[name] for name in ("timeout", "env")} == {"timeout": 9, "env": {"A": "b"}}
    assert entry(file, "cursor")["args"][-2:] == ["--workspace", "w"]
    at_home("install", "cursor", "--http", "http://localhost:8765")
    default = {"X-Memory-Workspace": "default"}
    assert entry(file, "cursor") == {"timeout": 9, "url": "http://localhost:8765/mcp", "headers": default}


def test_another_server_of_that_name_is_left_alone(at_home: Run, home: Path) -> None:
    official = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}
    file = prepared(home, "cursor", json.dumps({"mcpServers": {"memory": official}}))
    assert "--name" in at_home("install", "cursor", code=1).stderr
    assert "--force" in error_line(at_home("uninstall", "cursor", code=1))
    assert entry(file, "cursor") == official
    at_home("install", "cursor", "--name", "memoryd")
    assert list(held(file)["mcpServers"]) == ["memory", "memoryd"]
    at_home("install", "cursor", "--force")
    assert entry(file, "cursor") != official


@pytest.mark.parametrize(
    "text", ['{"mcpServers": []}', '{"mcpServers": {}, "mcpServers": {}}', '{"mcpServers": {"memory": 1}}']
)
def test_a_table_of_the_wrong_type_is_left_alone(at_home: Run, home: Path, text: str) -> None:
    file = prepared(home, "cursor", text)
    at_home("install", "cursor", code=1)
    assert file.read_text(encoding="utf-8") == text


def test_another_file_of_the_client(at_home: Run, home: Path) -> None:
    at_home("install", "vscode", "--file", str(home / "mcp.json"))
    assert "command" in entry(home / "mcp.json", "vscode")
    assert "--force" in error_line(at_home("install", "vscode", "--file", str(home / "nowhere/mcp.json"), code=1))


# messages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("claude-desktop", "--http", URL), "takes commands and no URLs"),
        (("cursor", "--http", "memory.example.org"), "is not the URL of a server"),
        (("cursor", "--http", "https://me:secret@memory.example.org"), "Use a token"),
        (("cursor", "--http", URL, "--token-variable", "$X"), "is not a valid variable"),
        (("cursor", "--http", URL, "--workspace", "auto"), "does not see the project"),
        (("cursor", "--token-variable", "X"), "is for --http"),
        (("cursor", "--name", "a b"), "is not a valid name"),
        (("cursor", "--toolsets", "nothing"), "There are: recall"),
    ],
)
def test_impossible_requests_are_reported(at_home: Run, home: Path, arguments: tuple[str, ...], message: str) -> None:
    prepared(home, "cursor")
    assert message in error_line(at_home("install", *arguments, code=2))
    assert list((home / ".cursor").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cursor", "--http", URL), "takes the token from its variable MEMORYD_TOKEN"),
        (("codex", "--http", URL), "takes the token from its variable MEMORYD_TOKEN"),
        (("vscode", "--http", URL), "asks for the token"),
        (("cursor", "--http", "http://memory.example.org"), "unencrypted"),
        (("cursor", "--http", URL, "--toolsets", "all"), "The server decides"),
        (("cursor", "--http", URL, "--workspace", "atlas"), "memoryd workspace create atlas"),
        (("cursor", "--read-only"), "Restart the client"),
    ],
)
def test_remaining_steps_are_listed(at_home: Run, home: Path, arguments: tuple[str, ...], message: str) -> None:
    prepared(home, arguments[0])
    assert message in at_home("install", *arguments).stderr


def test_on_this_machine_no_token_is_needed(at_home: Run, home: Path) -> None:
    for url in ("http://127.0.0.1:8765/mcp", "http://[::1]:8765", "http://localhost:8765/"):
        file = prepared(home, "claude-code")
        at_home("install", "claude-code", "--http", url)
        assert entry(file, "claude-code") == {
            "type": "http",
            "url": re.sub("/?$", "", url).removesuffix("/mcp") + "/mcp",
            "headers": {"X-Memory-Workspace": "default"},
            "alwaysLoad": True,
        }
