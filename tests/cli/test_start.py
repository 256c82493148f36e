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

CODE = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from memoryd.__main__ import main
sys.argv = ["memoryd", *sys.argv[1:]]
main()
"""


def loaded(home: Path, *arguments: str, stdin: str = "") -> set[str]:
    """Return the modules that a command has loaded when it ends."""
    ended = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        input=stdin,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return set(json.loads(ended.stderr.splitlines()[-1]))


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (["hook", "stop"], SERVER | TOOLS),
        (["hook", "session-start"], SERVER | TOOLS),
        (["workspace", "list"], SERVER | TOOLS),
        (["recall", "port"], SERVER),
        (["install", "cursor", "--dry-run"], SERVER),
        (["--help"], SERVER - {"httpx2"}),
        (["--version"], SERVER | TOOLS | {"memoryd.core.engine"}),
    ],
    ids=lambda given: " ".join(sorted(given) if isinstance(given, set) else given),
)
def test_a_command_imports_what_it_needs(home: Path, arguments: list[str], needless: set[str]) -> None:
    modules = loaded(home, *arguments, stdin=json.dumps({"session_id": "s", "transcript_path": "/nowhere"}))
    assert "memoryd.cli" in modules
    assert modules & needless == set()


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
