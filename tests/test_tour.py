"""The tour of `make run`, which newcomers see first."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import SOURCE, environment

pytestmark = pytest.mark.process

TOUR = SOURCE.parent / "examples" / "tour.py"


@pytest.mark.long
def test_the_tour_finds_its_facts_and_loses_none(tmp_path: Path, model_dir: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(TOUR)],
        env=environment(tmp_path, model_dir),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "51 of 51 facts survived a kill -9" in ended.stdout
    assert "explained in two sentences" not in re.findall(r"^missed +(.+?) *$", ended.stdout, re.MULTILINE)
