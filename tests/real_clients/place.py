"""The place of a client under test: its own home and project, and the memoryd of this Python."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from memoryd import __version__
from memoryd.settings import DEFAULT_WORKSPACE, Settings
from tests import installers
from tests.http import HttpProcess, free_port
from tests.installers import BIN
from tests.real_clients.dialects import Json
from tests.wires import ProcessWire

BUILD = installers.BUILD / "clients"
PROGRAMS = Path(__file__).resolve().parent / "programs"
KEPT = ("LANG", "LC_ALL", "TZ", "TERM", "SYSTEMROOT")
"""The variables of this process that a client sees: no keys and no settings."""
UVX = """#!/bin/sh
[ "$1 $2 $3" = "--from memoryd>={version} memoryd" ] || exit 9
shift 3
exec {memoryd} "$@"
"""
"""Replaces uvx, which would look for memoryd in a package index."""
PASSWORD, WORKSPACE = "correct horse battery", DEFAULT_WORKSPACE
"""The password of the person who logs clients in, and the workspace that this person chooses."""
OPENING = """#!/bin/sh
exec {python} {browser} {person} "$1"
"""
PATIENCE = 240  # the time limit of a client in seconds


@dataclass
class Place:
    """A client's place; `variables` are additional ones that it needs."""

    root: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    workspace: str = DEFAULT_WORKSPACE
    """The workspace that the client's tools and hooks use."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of everything that runs in this place."""
        path = os.pathsep.join([str(self.root / "bin"), str(BIN), os.environ.get("PATH", os.defpath)])
        around = {name: os.environ[name] for name in KEPT if name in os.environ}
        browser = {"BROWSER": str(self.root / "bin" / "xdg-open")}
        return {**around, **browser, "HOME": str(self.home), "PATH": path, "NO_COLOR": "1", **self.variables}

    def clear(self) -> None:
        """Start with an empty home that links to this user's bundled models."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.project.mkdir(parents=True)
        models = self.home / Settings.read({}).models.relative_to(Path.home())
        models.parent.mkdir(parents=True)
        models.symlink_to(Settings.read(os.environ).models)
        (self.root / "bin").mkdir()
        self._script("uvx", UVX.format(version=__version__, memoryd=BIN / "memoryd"))
        person = f"{shlex.quote(PASSWORD)} {WORKSPACE}"
        self._script("xdg-open", OPENING.format(python=sys.executable, browser=PROGRAMS / "browser.py", person=person))

    def _script(self, name: str, text: str) -> None:
        file = self.root / "bin" / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    @contextmanager
    def published(self) -> Iterator[str]:
        """Yield the URL of a server that knows its public address, where a person with a password can log in."""
        self.output([str(BIN / "memoryd"), "login", "set"], input=f"{PASSWORD}\n")
        port = free_port()
        public = {"MEMORY_PUBLIC_URL": f"http://127.0.0.1:{port}", "MEMORY_LOGIN_DOCUMENTS": "off"}
        server = HttpProcess(self.environment | public, "--port", str(port), log=self.root / "server.log")
        try:
            yield server.url
        finally:
            server.stop()

    def write(self, path: str, content: object) -> None:
        """Write a file below the home: text, or an object as JSON."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def made(self, path: str) -> Path:
        """Create a folder below the home and return it."""
        folder = self.home / path
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def run(self, command: Sequence[str], *, input: str = "") -> subprocess.CompletedProcess[str]:  # noqa: A002 - as subprocess
        """Run a command in the project within the time limit; append its output to a log."""
        try:
            ended = subprocess.run(
                command,
                cwd=self.project,
                env=self.environment,
                input=input,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            out, errors = (str(part or b"", "utf-8", "replace") for part in (error.stdout, error.stderr))
            ended = subprocess.CompletedProcess(command, -1, out, f"{errors}\nIt took over {PATIENCE} s.")
        with (self.root / "output.log").open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n{ended.stdout}{ended.stderr}= {ended.returncode}\n\n")
        return ended

    def output(self, command: Sequence[str], *, input: str = "") -> str:  # noqa: A002 - as subprocess
        """Return the stdout of a command; raise RuntimeError if it fails."""
        ended = self.run(command, input=input)
        if ended.returncode:
            raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip() or ended.stdout.strip()}")
        return ended.stdout

    def memoryd(self, *arguments: str) -> str:
        """Return the stdout of a command of memoryd; raise RuntimeError if it fails."""
        return self.output([str(BIN / "memoryd"), *arguments])

    def ask(self, toolset: str, tool: str, *calls: Json) -> list[Json]:
        """Call a tool without the client, in its workspace, and return the data of each answer.

        Raise RuntimeError on an error.
        """
        options = ["--toolsets", toolset, "--workspace", self.workspace]
        with ProcessWire(self.environment, *options, cwd=self.project) as wire:
            wire.handshake()
            answers = [wire.call(tool, **arguments) for arguments in calls]
        for answer in answers:
            if answer.get("isError"):
                raise RuntimeError(f"{tool}: {answer}")
        return [answer.get("structuredContent", {}) for answer in answers]
