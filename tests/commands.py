"""Runs the `memoryd` command on the test's own home: in this process, or in a separate one."""

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
    """Run a command in this process, with the environment that a separate process would have.

    Starting a process costs more than most commands do: use `process` only for what this cannot show.
    """
    given = list(map(str, arguments))
    environ: dict[str, str | None] = {**dict.fromkeys(os.environ), **environment(home), **settings}
    ended = CliRunner().invoke(app, given, input=stdin, env=environ)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return as_expected(Ended(given, ended.exit_code, ended.stdout, ended.stderr), code)


def process(home: Path, *arguments: object, stdin: str = "", code: int = 0, **settings: str) -> Ended:
    """Run a command in a separate process."""
    ended = forks.run(
        [sys.executable, "-m", "memoryd", *map(str, arguments)],
        env=environment(home) | settings,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return as_expected(ended, code)


def as_expected(ended: Ended, code: int) -> Ended:
    assert ended.returncode == code, ended
    assert "Traceback" not in ended.stderr
    return ended


REHEARSED = """
import os, typer.main
from typer.testing import CliRunner
from memoryd.cli import app
dict(typer.main.get_command(app).commands)
def rehearse(*commands):
    places = "MEMORY_DATA_DIR", "MEMORY_MODEL_DIR"
    before = {name: os.environ.pop(name, None) for name in places}
    os.environ.update(dict.fromkeys(places, "/dev/null/x"))
    for command in commands:
        assert CliRunner().invoke(app, command).exit_code
    for name in places:
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if value})
"""
"""Imports what commands need, while that is allowed: another user may not be able to read Python, or this code."""
