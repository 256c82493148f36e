"""Installs real clients from the package registries, each into its own folder below build/clients."""

import json
import re
import shutil
import subprocess
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.installers import BIN, QUIET_NPM, install
from tests.real_clients.place import BUILD

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Npm:
    """A package of npm, in the version that package.json names."""

    package: str

    def install(self, name: str) -> str:
        """Install the package unless it is up to date, and return its version; raise NotInstalledError."""
        wanted: dict[str, str] = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
        version = wanted[self.package]
        folder = BUILD / name
        there = folder / "node_modules" / self.package / "package.json"
        if not (there.exists() and json.loads(there.read_text(encoding="utf-8"))["version"] == version):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            install(["npm", "install", "--prefix", folder, *QUIET_NPM, f"{self.package}@{version}"], there)
        return version


@dataclass(frozen=True, slots=True)
class PyPI:
    """Packages of PyPI, each with its bounds; the first is the client."""

    requirements: Sequence[str]

    def install(self, name: str) -> str:
        """Install the packages unless they are up to date; return the version of the first; raise NotInstalledError."""
        folder, wanted = BUILD / name, "\n".join(self.requirements)
        python, done = folder / BIN.name / "python", folder / "requirements.txt"
        if not (done.exists() and done.read_text(encoding="utf-8") == wanted):
            venv.create(folder, with_pip=True, clear=True)
            quiet = ("-qq", "--disable-pip-version-check")
            install([python, "-m", "pip", "install", *quiet, *self.requirements], python)
            done.write_text(wanted, encoding="utf-8")
        package = re.split(r"[\[<>=]", self.requirements[0])[0]
        asked = f"import importlib.metadata as m; print(m.version({package!r}))"
        return subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
