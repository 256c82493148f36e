"""docs/hooks.md shows the hooks that `memoryd install --hooks` writes."""

import json
import re
from pathlib import Path

import pytest

from memoryd.features.install import hooks
from memoryd.features.install.catalog import CLIENTS, ClientName
from memoryd.settings import AUTO

PAGE = Path(__file__).parents[3] / "docs/hooks.md"


@pytest.mark.parametrize("client", hooks.HOOK_FILES)
def test_the_page_shows_what_install_writes(client: ClientName) -> None:
    workspace = ["--workspace", AUTO] if CLIENTS[client].in_project else []  # as that of the tools
    written = hooks.added(client, ["memoryd"], workspace).edit("").replace(" --client claude-code", "")  # the default
    shown = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert json.loads(written) in map(json.loads, shown)
