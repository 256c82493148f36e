"""`from memoryd import Memory`: what docs/python.md shows runs, and the package itself stays light."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoryd
from memoryd import Memory
from memoryd.errors import InvalidInputError, NotFoundError
from tests.clients import PATIENCE, environment
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "python.md"


@pytest.fixture(autouse=True)
def _home(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory("atlas") as made:
        yield made


def test_the_examples_run_one_after_the_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scope: dict[str, object] = {}
    for example in fences(PAGE, "python"):
        exec(compile(example, PAGE.name, "exec"), scope)
    shown = capsys.readouterr().out
    assert "Staging listens on port 5433." in shown
    assert "The office closes at seven." in shown
    assert "['Lives in Berlin.', 'Prefers tea.']" in shown
    assert (tmp_path / "atlas" / "entities" / "Ann.md").is_file()


def test_every_method_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    methods = [name for name, _ in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")]
    assert [name for name in methods if f"`{name}(" not in text] == []


def test_a_correction_is_found_and_what_it_replaced_is_not(memory: Memory) -> None:
    old = memory.store("The office closes at six.")
    new = memory.correct(old["id"], "The office closes at seven.")
    assert new["status"] == "updated"
    assert [hit["content"] for hit in memory.recall("when does the office close")] == ["The office closes at seven."]


def test_mistakes_are_named(memory: Memory, home: Path) -> None:
    with pytest.raises(InvalidInputError, match="importance"):
        memory.store("x", importance=2)
    with pytest.raises(NotFoundError, match="There is no database yet"):
        Memory("nowhere", data_dir=home / "empty").recall("x")
    with pytest.raises(InvalidInputError, match="There is no setting 'colour'"):
        Memory(colour="blue")
    with pytest.raises(InvalidInputError, match="read_only"):
        Memory(read_only=True).store("x")


def test_what_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Memories'"):
        memoryd.Memories  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.process
def test_the_package_imports_next_to_nothing_until_the_class_is_used(home: Path) -> None:
    script = "import sys, memoryd; print(sum(name.startswith('memoryd') for name in sys.modules))"
    command = [sys.executable, "-c", script]
    shown = subprocess.run(
        command, env=environment(home), capture_output=True, text=True, timeout=PATIENCE, check=True
    )  # fmt: skip
    assert int(shown.stdout) <= 4
