"""Runs npm and pip to install what tests drive: real clients, the protocol's suite, a browser."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
"""The directory of everything installed, each in its own folder."""
BIN = Path(sys.executable).parent
"""The directory of `memoryd`, and of npm and Node from the extra `dev`."""
QUIET_NPM = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
PATIENCE = 900  # the time limit of npm and pip in seconds
LINE = 120  # the number of characters shown of each line of their output


class NotInstalledError(Exception):
    """A program could not be installed; the text says why."""


def around() -> dict[str, str]:
    """Return this process's environment, with the programs of this Python first."""
    return os.environ | {"PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)])}


def install(command: Sequence[str | Path], result: Path) -> None:
    """Run npm or pip, which must create `result`; raise NotInstalledError with their output if they fail."""
    program, *arguments = command
    try:
        ended = subprocess.run(
            [BIN / program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=around(),
        )
    except FileNotFoundError:
        raise NotInstalledError(f"{BIN} has no {program}. Install it with: pip install 'memoryd[dev]'") from None
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"{program} took over {PATIENCE} s") from None
    if ended.returncode or not result.exists():
        lines = [line.strip()[:LINE] for line in (ended.stderr + ended.stdout).splitlines() if line.strip()]
        raise NotInstalledError("; ".join(lines) or f"{program} ended with {ended.returncode}")
