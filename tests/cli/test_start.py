"""Commands import only what they need, because people, and agents at every turn, wait for them."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest

from memoryd import __main__ as entry
from memoryd import extras
from tests.clients import PATIENCE, environment

SERVER = {"mcp", "mcp_types", "starlette", "uvicorn", "onnxruntime", "httpx2", "limits"}
"""The modules of a server, which take a second to load."""
TOOLS = {"memoryd.toolsets"}

COMMANDS = {
    "hook stop": SERVER | TOOLS,
    "hook session-start": SERVER | TOOLS,
    "workspace list": SERVER | TOOLS,
    "recall port": SERVER,
    "install cursor --dry-run": SERVER,
    "--help": SERVER - {"httpx2"},
    "--version": SERVER | TOOLS | {"memoryd.core.engine"},
}
"""What each command does without."""
IN_EACH = """
import json, os, sys
import apsw, numpy, pydantic, rich.console, typer
given, *commands = sys.argv[1:]
for command in commands:
    ready, given_to = os.pipe()
    if not (child := os.fork()):
        os.dup2(ready, 0)
        os.write(given_to, given.encode())
        os.close(given_to)
        sys.argv = ["memoryd", *command.split()]
        from memoryd.__main__ import main
        try:
            main()
        except SystemExit:
            pass
        print("\\nloaded", json.dumps([command, *sys.modules]), flush=True)
        os._exit(0)
    os.close(ready)
    os.close(given_to)
    os.waitpid(child, 0)
"""
"""A process that runs commands, each in a fork; it has loaded what all commands may."""


@pytest.mark.process
def test_a_command_imports_what_it_needs(home: Path) -> None:
    given = json.dumps({"session_id": "s", "transcript_path": "/nowhere"})
    done = subprocess.run(
        [sys.executable, "-c", IN_EACH, given, *COMMANDS],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    loaded = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("loaded ")]
    assert [command for command, *_ in loaded] == [*COMMANDS]
    for command, *modules in loaded:
        assert "memoryd.cli" in modules
        assert COMMANDS[command].isdisjoint(modules), command


def test_ctrl_c_before_a_command_has_begun_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["memoryd", "recall", "port"])
    monkeypatch.setattr(extras, "named", interrupted)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    gc.enable()
    assert ended.value.code == 130


@pytest.mark.process
def test_what_the_server_shares_with_the_connector_is_imported_on_windows() -> None:
    there = "import json, select, socket, sys; sys.modules['fcntl'] = None; sys.platform = 'win32'"
    code = f"{there}; import memoryd.connect.conversation, memoryd.connect.hook, memoryd.connect.locks"
    subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=True)
