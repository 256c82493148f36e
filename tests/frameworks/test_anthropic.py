"""Anthropic's memory tool: the same random commands give the same answers as the SDK's own tool for a folder."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from memoryd.anthropic import AsyncMemorydMemoryTool, MemorydMemoryTool

NAMES = ("a", "b.md", "notes", "ü x")
TEXTS = ("", "one\ntwo\none\n", "tea", "\n\n", "a\r\nb\n", "one two one")


def _path(chance: random.Random) -> str:
    parts = [chance.choice(NAMES) for _ in range(chance.randint(0, 3))]
    return "/".join(["/memories", *parts]) if chance.random() < 0.97 else chance.choice(("/etc/x", "/memories/../x"))


def _command(chance: random.Random) -> dict[str, Any]:
    path = _path(chance)
    match chance.randrange(10):
        case 0 | 1 | 2:
            return {"command": "create", "path": path, "file_text": chance.choice(TEXTS)}
        case 3 | 4:
            lines = chance.choice((None, [1, 2], [2, -1]))
            return {"command": "view", "path": path, **({"view_range": lines} if lines else {})}
        case 5:
            old, new = chance.choice(("one", "two", "tea", "x")), chance.choice(("", "two\nthree", "one"))
            return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}
        case 6 | 7:
            return {"command": "insert", "path": path, "insert_line": chance.randint(-1, 4), "insert_text": "new\n"}
        case 8:
            return {"command": "delete", "path": path}
    return {"command": "rename", "old_path": path, "new_path": _path(chance)}


def _answer(tool: Any, command: dict[str, Any]) -> tuple[str, str]:
    try:
        return "answer", tool.call(command)
    except ToolError as error:
        return "error", str(error)
    except (OSError, ValueError) as error:  # what the folder's tool does not foresee, such as a file as a folder
        return "unforeseen", str(error)


def _files(answer: str) -> list[str]:
    """Return the lines of a list that name files: a folder in a memory has the size of its files, not of its entry."""
    return [line for line in answer.splitlines()[2:] if not line.endswith("/")]


def _tidy(folder: Path) -> None:
    """Remove empty folders, which a memory does not keep."""
    for one in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        if not any(one.iterdir()):
            one.rmdir()


def test_it_does_what_the_tool_for_a_folder_does(tmp_path: Path, operations: int) -> None:
    chance = random.Random(7)
    tool, reference = MemorydMemoryTool("conformance"), BetaLocalFilesystemMemoryTool(str(tmp_path / "reference"))
    for number in range(operations):
        command = _command(chance)
        (kind, expected), (found_kind, found) = _answer(reference, command), _answer(tool, command)
        _tidy(reference.memory_root)
        place = f"{number}: {command}: {expected!r} {found!r}"
        assert found_kind == ("error" if kind == "unforeseen" else kind), place
        if kind == "answer" and expected.startswith("Here're"):
            assert _files(found) == _files(expected), place
        elif kind != "unforeseen":
            assert found == expected, place
    tool.memory.close()


def test_the_asynchronous_tool_does_the_same() -> None:
    tool = AsyncMemorydMemoryTool("a")
    create = {"command": "create", "path": "/memories/tea.md", "file_text": "green\n"}
    assert "successfully" in asyncio.run(tool.call(create))  # type: ignore[operator]
    assert "green" in asyncio.run(tool.call({"command": "view", "path": "/memories/tea.md"}))  # type: ignore[operator]
    assert tool.tool.memory.recall("green tea")[0]["key"] == "/memories/tea.md"
    assert asyncio.run(tool.clear_all_memory()) == "All memory cleared"
    assert tool.tool.memory.recall("green tea") == []


def test_a_file_that_changed_meanwhile_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = MemorydMemoryTool("a")
    tool.call({"command": "create", "path": "/memories/x", "file_text": "one"})
    read = tool._file

    def late(given: str) -> tuple[str, str, str]:
        found = read(given)
        tool.memory.vault.set("/memories/x", "other")
        return found

    monkeypatch.setattr(tool, "_file", late)
    with pytest.raises(ToolError, match="changed meanwhile"):
        tool.call({"command": "str_replace", "path": "/memories/x", "old_str": "one", "new_str": "two"})
    assert tool.memory.vault.get("/memories/x")["content"] == "other"  # type: ignore[index]
