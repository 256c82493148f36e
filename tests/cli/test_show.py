"""Tables for people, in terminals of any width."""

from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from memoryd.cli import show

TIME = "2026-11-26T17:03:05.113Z"


def printed(monkeypatch: pytest.MonkeyPatch, width: int, heads: Sequence[str], *rows: Sequence[object]) -> list[str]:
    monkeypatch.setattr(show, "out", Console(file=StringIO(), width=width))
    show.numbers(heads, rows)
    text: str = show.out.file.getvalue()  # type: ignore[attr-defined]
    return text.splitlines()


def test_what_is_short_stays_on_one_line_of_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    about = "What is true of me in every project."
    lines = printed(monkeypatch, 60, ("name", "level", "at", "about"), ("personal", "write", TIME, about))
    assert lines[1].startswith("personal  write  2026-11-26 17:03Z  What is")
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(line[36:].strip() for line in lines[1:]) == about


@pytest.mark.parametrize("width", [40, 60, 200])
def test_no_width_loses_a_character(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    cells = [f"{letter}" * length for letter, length in zip("abcdefg", (3, 9, 17, 18, 30, 5, 12), strict=True)]
    text = "".join(printed(monkeypatch, width, ["-"] * 7, cells))
    assert [text.count(cell[0]) for cell in cells] == [len(cell) for cell in cells]


@pytest.mark.parametrize("separator", ["\n", "\r", "\x0b", "\x1c", "\x85", "\u2028"])
def test_a_text_does_not_look_like_two_memories(capsys: pytest.CaptureFixture[str], separator: str) -> None:
    one = {"id": "1", "kind": "memory", "key": None, "type": "", "tags": (), "importance": 0.5, "access_count": 0}
    show.cards([one | {"content": f"first{separator}- second", "created_at": TIME}], {"1": "1"}, {})
    assert capsys.readouterr().out.splitlines()[:2] == ["- first", "  - second"]
