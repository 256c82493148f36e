"""Clients without a model: they list tools, call them, and show the answers."""

import json
import shutil
from abc import ABC, abstractmethod
from typing import ClassVar

from tests.installers import BIN
from tests.real_clients.dialects import Call, Json, compact
from tests.real_clients.packages import Npm, PyPI
from tests.real_clients.place import BUILD, PASSWORD, PROGRAMS, WORKSPACE, Place


class Caller(ABC):
    """A client that calls tools."""

    name: ClassVar[str]
    package: ClassVar[Npm | PyPI]

    @abstractmethod
    def call(self, place: Place, *calls: Call) -> tuple[list[Json], list[Json]]:
        """Return the tools and the complete answer of each call; raise RuntimeError if one fails."""


class Inspector(Caller):
    """The inspector: each of its calls is a separate connection."""

    name = "inspector"
    package = Npm("@modelcontextprotocol/inspector")

    def call(self, place: Place, *calls: Call) -> tuple[list[Json], list[Json]]:
        answers = [
            self._asked(place, "tools/call", "--tool-name", call.tool, "--tool-args-json", compact(call.arguments))
            for call in calls
        ]
        return self._asked(place, "tools/list")["tools"], answers

    def _asked(self, place: Place, method: str, *options: str) -> Json:
        program = str(BUILD / self.name / "node_modules" / ".bin" / "mcp-inspector")
        patient = ["--connect-timeout", "60000"]  # milliseconds: it starts the server again for each call
        command = [program, "--cli", *patient, "--method", method, *options, "--format", "json", str(BIN / "memoryd")]
        found: Json = json.loads(place.output(command))["result"]
        return found


class FastMCP(Caller):
    """The client of fastmcp: all calls are on one connection."""

    name = "fastmcp"
    package = PyPI(("fastmcp>=3.4,<5",))

    def call(self, place: Place, *calls: Call) -> tuple[list[Json], list[Json]]:
        python = BUILD / self.name / BIN.name / "python"
        wanted = compact([[call.tool, call.arguments] for call in calls])
        found = json.loads(
            place.output([str(python), str(PROGRAMS / "fastmcp_client.py"), str(BIN / "memoryd"), wanted])
        )
        return found["tools"], found["answers"]


class TypeScript(Caller):
    """The TypeScript SDK: it logs in at a public address, where a person chooses the workspace; its token expires
    after each call."""

    name = "typescript"
    package = Npm("@modelcontextprotocol/sdk")

    def call(self, place: Place, *calls: Call) -> tuple[list[Json], list[Json]]:
        program = shutil.copy(PROGRAMS / "typescript_client.mjs", BUILD / self.name)  # next to its node_modules
        wanted = compact([[call.tool, call.arguments] for call in calls])
        with place.published() as url:
            found = json.loads(place.output([str(BIN / "node"), str(program), url, PASSWORD, WORKSPACE, wanted]))
        if found["logins"] != 1:
            raise RuntimeError(f"a person had to log in {found['logins']} times")
        return found["tools"], found["answers"]


CALLERS = (Inspector(), FastMCP(), TypeScript())
