"""The configuration directory of Claude Desktop, which differs for a Windows package."""

import json
from pathlib import Path

import pytest

from memoryd.features.install.catalog import packaged
from tests.commands import run

PACKAGE = "Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming"


def test_without_a_package_the_usual_directory_is_used(tmp_path: Path) -> None:
    (tmp_path / "Packages/Other_1/LocalCache/Roaming").mkdir(parents=True)
    assert packaged(tmp_path, tmp_path / "Claude") == tmp_path / "Claude"


@pytest.mark.parametrize("started", [True, False])
def test_a_package_uses_its_own_directory(home: Path, monkeypatch: pytest.MonkeyPatch, *, started: bool) -> None:
    local = home / "local"
    for directory in (home / "config/Claude", local / PACKAGE, *([local / PACKAGE / "Claude"] if started else [])):
        directory.mkdir(parents=True, exist_ok=True)
    where = {"XDG_DATA_HOME": str(local), "XDG_CONFIG_HOME": str(home / "config")}  # what the two are on Linux
    result = run(home, "install", "claude-desktop", code=0 if started else 1, **where)
    file = local / PACKAGE / "Claude/claude_desktop_config.json"
    assert file.exists() == started
    assert not (home / "config/Claude/claude_desktop_config.json").exists()
    assert "memory" in json.loads(file.read_text())["mcpServers"] if started else "was never started" in result.stderr
