"""Runs tools inside this process."""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memoryd.api import tools
from memoryd.core.base.results import compact
from memoryd.core.engine import Engine
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, MemorydError, NotFoundError
from memoryd.model import Workspace
from memoryd.settings import Settings
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Answer, Call, Tool


class LocalTools:
    """The engine of a memory, its tools, and the session and process that use it."""

    def __init__(self, settings: Settings, session: str) -> None:
        self.engine = Engine(settings, fetch=False)
        self.session = session
        self.offered = chosen(["all"], read_only=False)
        self._tools: Mapping[str, Tool] = self.offered | {tool.name: tool for tool in tools.TOOLS}
        self._process: int | None = None
        self.client = _program()

    def result(self, name: str, method: str = "", *, absent: object = None, **arguments: Any) -> Any:
        """Return the result of a tool for a method; `absent` if the tool only reads and nothing was ever stored."""
        answer = self.answer(name, given(arguments), method or name)
        return absent if answer is None else answer.result

    def answer(self, name: str, arguments: Any, method: str = "") -> Answer[Any] | None:
        """Run a tool; None if there is nothing to read yet. The messages of errors are in the words of a `method`."""
        tool = self._tools[name]
        try:
            if tool.capability != "read" and self.engine.settings.read_only:
                raise InvalidInputError(f"{name} changes the memory, which read_only forbids.")
            tool.valid(arguments)  # before a workspace is made
            workspace = self.workspace(make=tool.capability != "read")
            if workspace is None and tool.needs != "nothing":
                return None
            with written_by(self.client, method or name):
                return tool.run(Call(self.engine, workspace, self.session), arguments)
        except MemorydError as error:
            if method:
                error.args = (worded(str(error), method, name),)
            raise

    def text(self, name: str, arguments: Any) -> str:
        """Return what a model is to read as the answer to its call of a tool: the answer, or what was wrong."""
        if name not in self.offered:
            return f"There is no tool {name[:100]!r}. There are: {', '.join(self.offered)}."
        try:
            answer = self.answer(name, arguments)
        except MemorydError as error:
            return f"Error: {error}"
        if answer is None:
            return "Nothing is stored yet."
        return compact(answer.shown) if answer.text is None else answer.text

    def chosen(self, toolsets: Sequence[str]) -> Iterable[Tool]:
        """Return the tools of some toolsets that this memory may run."""
        return chosen(toolsets, read_only=self.engine.settings.read_only).values()

    def workspace(self, *, make: bool) -> Workspace | None:
        """Return the workspace, created on first use if `make`; else None if nothing was ever stored in it."""
        self.begin()
        try:
            return self.engine.workspace(make=make)
        except NotFoundError:
            return None

    def scope(self, *, make: bool) -> Scope | None:
        """Return the scope of core's work; None as for `workspace`."""
        if make and self.engine.settings.read_only:
            raise InvalidInputError("This changes the memory, which read_only forbids.")
        workspace = self.workspace(make=make)
        return Scope(self.engine, workspace, self.session) if workspace else None

    def begin(self) -> None:
        """Start the background work and the models on first use. Raise InvalidInputError in a fork."""
        self.demand_own()
        if self._process is None:
            self._process = os.getpid()
            self.engine.begin()
            self.engine.helpers.embedder.start()
            self.engine.helpers.embedder.get(self.engine.helpers.patience)

    def close(self) -> None:
        """Finish accepted work, and close the files; nothing in a fork."""
        if not self._forked:
            self.engine.close()

    @property
    def _forked(self) -> bool:
        """Whether this is a fork of the process that uses it, where threads, models and files have stayed."""
        return self._process not in (None, os.getpid())

    def demand_own(self) -> None:
        """Raise InvalidInputError in such a fork."""
        if self._forked:
            raise InvalidInputError(
                f"This Memory is in use by process {self._process}, of which this one is a fork. Close it before the "
                "fork and create one in each process, or start this process with `spawn`."
            )


def _program() -> str:
    """Return the name of the program, which records keep as their client."""
    name = Path(sys.argv[0] if sys.argv else "").stem
    return name if name.strip("-_") not in ("", "c", "main") else "python"


# the words of this API in place of those of tools and commands, for messages of errors ------------------------------

SAYINGS = {
    "find ids with memory_recall": "find ids with recall()",
    "confirm=true": "confirm=True",
    "dry_run=true": "dry_run=True",
    "MEMORY_READ_ONLY": "read_only",
    "List deleted ones with `memoryd history`": "List deleted ones with history()",
    "List what can be restored with `memoryd history`": "List what can be restored with history()",
    "delete it with the graph's tools": "delete it with delete_entities()",
    "Replace observations with the graph's tools": "Change observations through the graph's tools",
}
"""What core says to callers of tools and commands, and the same for callers of a method."""


def worded(message: str, method: str, tool: str) -> str:
    """Return a message about a method, which may run a tool of another name."""
    for old, new in SAYINGS.items():
        message = message.replace(old, new)
    return re.sub(rf"\b{re.escape(tool)}\b", method, message) if tool != method else message


def given(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return arguments as tools take them: lists in place of other sequences; a text is not one."""
    return {
        name: list(value) if isinstance(value, tuple | set | frozenset) else value for name, value in arguments.items()
    }
