"""Gets real clients from the package registries, each into a folder of its own below build/clients."""

import json
import os
import re
import shutil
import subprocess
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.real_clients.place import BIN, BUILD

HERE = Path(__file__).resolve().parent
PATIENCE = 900  # seconds after which npm or pip is given up
LINE = 120  # characters that are shown of a line of theirs


class NotInstalledError(Exception):
    """A client is not to be had; the text says why."""


@dataclass(frozen=True, slots=True)
class Npm:
    """A package of npm, in the version that package.json names."""

    package: str

    def install(self, name: str) -> str:
        """Install it where it is not yet, and return its version. Raise NotInstalledError."""
        wanted: dict[str, str] = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
        version = wanted[self.package]
        folder = BUILD / name
        there = folder / "node_modules" / self.package / "package.json"
        if not (there.exists() and json.loads(there.read_text(encoding="utf-8"))["version"] == version):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
            _run([str(BIN / "npm"), "install", "--prefix", str(folder), *quiet, f"{self.package}@{version}"], there)
        return version


@dataclass(frozen=True, slots=True)
class PyPI:
    """Packages of PyPI, each with its bounds; the first is the client."""

    requirements: Sequence[str]

    def install(self, name: str) -> str:
        """Install them where they are not yet, and return the version of the first. Raise NotInstalledError."""
        folder, wanted = BUILD / name, "\n".join(self.requirements)
        python, done = folder / BIN.name / "python", folder / "requirements.txt"
        if not (done.exists() and done.read_text(encoding="utf-8") == wanted):
            venv.create(folder, with_pip=True, clear=True)
            quiet = ("-qq", "--disable-pip-version-check")
            _run([str(python), "-m", "pip", "install", *quiet, *self.requirements], python)
            done.write_text(wanted, encoding="utf-8")
        package = re.split(r"[\[<>=]", self.requirements[0])[0]
        asked = f"import importlib.metadata as m; print(m.version({package!r}))"
        return subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def _run(command: Sequence[str], result: Path) -> None:
    """Run npm or pip; what it says, its lines cut, is the reason where `result` is not there afterwards."""
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
            env=os.environ | {"PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)])},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"{Path(command[0]).name} took over {PATIENCE} s") from None
    if ended.returncode or not result.exists():
        said = [line.strip()[:LINE] for line in (ended.stderr + ended.stdout).splitlines() if line.strip()]
        raise NotInstalledError("; ".join(said) or f"{Path(command[0]).name} ended with {ended.returncode}")
