"""docs/hooks.md shows the hooks that `memoryd install --hooks` writes."""

import json
import re
from pathlib import Path

import pytest

from memoryd.features.agents.connected import TOOL
from memoryd.features.install import hooks
from memoryd.features.install.catalog import CLIENTS, ClientName
from memoryd.settings import AUTO
from tests.features.install.test_install_offers import program

PAGE = Path(__file__).parents[3] / "docs/hooks.md"


@pytest.mark.process
@pytest.mark.parametrize("client", hooks.HOOK_FILES)
def test_the_page_shows_what_install_writes(
    client: ClientName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if calls := hooks.HOOK_FILES[client].calls:
        program(tmp_path / calls.program, "9.0.0")
    workspace = ["--workspace", AUTO] if CLIENTS[client].in_project else []  # as that of the tools
    edit = hooks.added(client, ["memoryd"], workspace, "memory").edit
    written = edit("").replace(" --client claude-code", "")  # the default
    shown = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert json.loads(written) in map(json.loads, shown)


def test_hooks_call_the_tool_of_the_server() -> None:
    for client in ("claude-code", "codex"):
        called = hooks.called(client, "memory")
        assert called["tool"] == TOOL.name
        assert TOOL.valid({**called["input"], "cwd": "/"})
