"""The `memoryd` command on a home of the test's own: in this process, or in one of its own."""

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from memoryd.cli import app
from tests import forks
from tests.clients import PATIENCE, environment

Ended = subprocess.CompletedProcess[str]


def run(home: Path, *arguments: object, stdin: str | bytes = "", code: int = 0, **settings: str) -> Ended:
    """A command in this process, with the environment that a process of its own would have.

    A start costs more than most commands do: a process of its own is for what shows in one alone.
    """
    given = list(map(str, arguments))
    environ: dict[str, str | None] = {**dict.fromkeys(os.environ), **environment(home), **settings}
    ended = CliRunner().invoke(app, given, input=stdin, env=environ)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return as_expected(Ended(given, ended.exit_code, ended.stdout, ended.stderr), code)


def process(home: Path, *arguments: object, stdin: str = "", code: int = 0, **settings: str) -> Ended:
    """The same in a process of its own."""
    ended = forks.run(
        [sys.executable, "-m", "memoryd", *map(str, arguments)], env=environment(home) | settings, input=stdin,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return as_expected(ended, code)


def as_expected(ended: Ended, code: int) -> Ended:
    assert ended.returncode == code, ended
    assert "Traceback" not in ended.stderr
    return ended
