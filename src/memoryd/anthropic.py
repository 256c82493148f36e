"""memoryd as the files of Anthropic's memory tool: `pip install 'memoryd[anthropic]'`.

The texts for the model, and its errors, are those of the SDK's own tool for a folder of files.
"""

import asyncio
import re
from typing import Any

from memoryd.api.keyed import KeyedTexts
from memoryd.api.memory import Memory
from memoryd.core.memories.vault import KeyedChange, version_of
from memoryd.errors import MemorydError
from memoryd.extras import Needing
from memoryd.model import Record

with Needing("anthropic"):
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

ROOT = "/memories"
WIDTH, AROUND, DEPTH = 6, 2, 2  # of line numbers; lines around a change; listed levels of a folder: the SDK's
EMPTY = "\n"  # what is stored of an empty file, since a memory has a text


class MemorydMemoryTool(BetaAbstractMemoryTool):
    """The memory tool (`memory_20250818`): files are memories, their paths keys; folders last as long as files."""

    def __init__(self, memory: Memory | str | None = None, **options: Any) -> None:
        """Keep files in a memory, or in the workspace of that name; for `options` see the SDK's class."""
        super().__init__(**options)
        self._texts = KeyedTexts(memory, "anthropic")
        self.memory = self._texts.memory

    def view(self, command: Any) -> str:
        """Return the numbered lines of a file, or a list of a folder."""
        path = _valid(command.path)
        if (file := self._texts.get(path)) is None:
            return self._listed(command.path, path)
        lines = _content(file).split("\n")
        first, last = 0, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0]) - 1
            last = len(lines) if command.view_range[1] == -1 else command.view_range[1]
        return f"Here's the content of {command.path} with line numbers:\n{_numbered(lines[first:last], first + 1)}"

    def create(self, command: Any) -> str:
        """Create a file; return that it was done. Raise ToolError if it exists."""
        path = _valid(command.path)
        if self._texts.get(path) or self._texts.keys(f"{path}/"):
            raise ToolError(f"File {command.path} already exists")
        self._demand_folders(path)
        self._change(KeyedChange(key=path, content=command.file_text or EMPTY, seen=""))
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        """Replace the only occurrence of a text; return the lines around it."""
        path, content, version = self._file(command.path)
        places = [found.start() for found in re.finditer(f"(?={re.escape(command.old_str)})", content)]
        missing = "No replacement was performed"
        if not places:
            raise ToolError(f"{missing}, old_str `{command.old_str}` did not appear verbatim in {command.path}.")
        if content.count(command.old_str) > 1:
            lines = ", ".join(str(content[:place].count("\n") + 1) for place in places)
            many = f"Multiple occurrences of old_str `{command.old_str}` in lines: {lines}. Please ensure it is unique"
            raise ToolError(f"{missing}. {many}")
        changed = content.replace(command.old_str, command.new_str)
        self._change(KeyedChange(key=path, content=changed or EMPTY, seen=version))
        at = content[: places[0]].count("\n")
        first = max(0, at - AROUND)
        shown = _numbered(changed.split("\n")[first : at + AROUND + 1], first + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    def insert(self, command: Any) -> str:
        """Insert a text after a line; return that it was done."""
        path, content, version = self._file(command.path)
        lines = content.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        self._change(KeyedChange(key=path, content=changed if changed.endswith("\n") else f"{changed}\n", seen=version))
        return f"The file {command.path} has been edited."

    def delete(self, command: Any) -> str:
        """Delete a file, or a folder with all its files; return that it was done."""
        path = _valid(command.path)
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        gone = [path] if self._texts.get(path) else self._texts.keys(f"{path}/")
        if not gone:
            raise ToolError(f"The path {command.path} does not exist")
        self._change(*(KeyedChange(key=key, content=None) for key in gone))
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        """Rename a file, or a folder with all its files; return that it was done."""
        old, new = _valid(command.old_path), _valid(command.new_path)
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if new == ROOT or self._texts.get(new) or self._texts.keys(f"{new}/"):
            raise ToolError(f"The destination {command.new_path} already exists")
        file = self._texts.get(old)
        moved = [file] if file else self._texts.under(f"{old}/")
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        self._demand_folders(new, but=old)
        texts = [(record.name or "", record) for record in moved]
        added = [KeyedChange(key=new + key[len(old) :], content=one.body, tags=one.tags) for key, one in texts]
        self._change(*added, *(KeyedChange(key=key, content=None) for key, _ in texts))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Delete all files."""
        self._change(*(KeyedChange(key=key, content=None) for key in self._texts.keys(f"{ROOT}/")))
        return "All memory cleared"

    def _demand_folders(self, path: str, but: str = "") -> None:
        """Raise ToolError if a part of a path is a file, or the path `but`, which is to be moved there."""
        parents = [path[: found.start()] for found in re.finditer("/", path)][2:]
        if wrong := [one for one in parents if one == but or self._texts.get(one)]:
            raise ToolError(f"The path {wrong[0]} is not a directory that can contain {path}.")

    def _file(self, given: str) -> tuple[str, str, str]:
        """Return the path, the content and the version of a file."""
        path = _valid(given)
        if file := self._texts.get(path):
            return path, _content(file), version_of(file)
        if path == ROOT or self._texts.keys(f"{path}/"):
            raise ToolError(f"The path {given} is not a file.")
        raise ToolError(f"The path {given} does not exist. Please provide a valid path.")

    def _listed(self, given: str, path: str) -> str:
        files = sorted(self._texts.under(f"{path}/"), key=lambda record: (record.name or "").split("/"))
        if not files and path != ROOT:
            raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = {}
        for file in files:
            parts = (file.name or "").removeprefix(f"{path}/").split("/")
            if not any(part.startswith(".") for part in parts[:DEPTH]):
                for depth in range(1, min(len(parts), DEPTH) + 1):
                    name = "/".join(parts[:depth]) + "/" * (depth < len(parts))
                    sizes[name] = sizes.get(name, 0) + len(_content(file).encode())
        lines = [(sum(len(_content(file).encode()) for file in files), given)]
        lines += [(size, f"{given}/{name}") for name, size in sizes.items()]
        shown = "\n".join(f"{_size(size)}\t{name}" for size, name in lines)
        return f"Here're the files and directories up to 2 levels deep in {given}, excluding hidden items:\n{shown}"

    def _change(self, *texts: KeyedChange) -> None:
        try:
            self._texts.change(texts)
        except MemorydError as error:
            raise ToolError(str(error)) from error


class AsyncMemorydMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for AsyncAnthropic, whose commands run in a thread."""

    def __init__(self, memory: Memory | str | None = None, **options: Any) -> None:
        """Keep files in a memory; see MemorydMemoryTool."""
        super().__init__(**options)
        self.tool = MemorydMemoryTool(memory)

    async def execute(self, command: Any) -> Any:
        """Run a command in a thread; return what the model is to read."""
        return await asyncio.to_thread(self.tool.execute, command)

    async def clear_all_memory(self) -> str:
        """Delete all files."""
        return await asyncio.to_thread(self.tool.clear_all_memory)

    view = create = str_replace = insert = delete = rename = execute


def _valid(path: str) -> str:
    """Return a path without empty parts; raise ToolError if it is not below /memories."""
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with /memories, got: {path}")
    parts: list[str] = []
    for part in path[len(ROOT) :].split("/"):
        if part == ".." and not parts:
            raise ToolError(f"Path {path} would escape /memories directory")
        parts = parts[:-1] if part == ".." else parts if part in ("", ".") else [*parts, part]
    return "/".join([ROOT, *parts])


def _content(file: Record) -> str:
    return "" if file.body == EMPTY else file.body


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{str(number).rjust(WIDTH)}\t{line}" for number, line in enumerate(lines, first))


def _size(size: int) -> str:
    unit = min(max(0, size.bit_length() - 1) // 10, 3)
    shown = size / 1024**unit
    return f"{int(shown) if shown == int(shown) else f'{shown:.1f}'}{'BKMG'[unit]}"
