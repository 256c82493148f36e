"""Runs npm and pip for what tests drive and Python has not: real clients, the protocol's suite, a browser."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
"""Where all of it is kept, each in a folder of its own."""
BIN = Path(sys.executable).parent
"""Where `memoryd` is found, and npm and Node of the extra `dev`."""
QUIET_NPM = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
PATIENCE = 900  # seconds after which npm or pip is given up
LINE = 120  # characters that are shown of a line of theirs


class NotInstalledError(Exception):
    """Something is not to be had; the text says why."""


def around() -> dict[str, str]:
    """Return this process's environment, with the programs of this Python first."""
    return os.environ | {"PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)])}


def install(command: Sequence[str | Path], result: Path) -> None:
    """Run npm or a pip, which make `result`; raise NotInstalledError with what they say where they do not."""
    program, *arguments = command
    try:
        ended = subprocess.run(
            [BIN / program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            check=False, env=around(),
        )  # fmt: skip
    except FileNotFoundError:
        raise NotInstalledError(f"{BIN} has no {program}. Install it with: pip install 'memoryd[dev]'") from None
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"{program} took over {PATIENCE} s") from None
    if ended.returncode or not result.exists():
        said = [line.strip()[:LINE] for line in (ended.stderr + ended.stdout).splitlines() if line.strip()]
        raise NotInstalledError("; ".join(said) or f"{program} ended with {ended.returncode}")
