"""`from memoryd import Memory`: the examples of docs/python.md run, and the package itself stays light."""

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


def test_a_correction_is_found_and_the_replaced_text_is_not(memory: Memory) -> None:
    old = memory.store("The office closes at six.")
    new = memory.correct(old["id"], "The office closes at seven.")
    assert new["status"] == "updated"
    assert [hit["content"] for hit in memory.recall("when does the office close")] == ["The office closes at seven."]


def test_a_recall_is_limited_in_time(memory: Memory) -> None:
    memory.store("The office closes at six.")
    (kept,) = memory.recall("when does the office close")
    (again,) = memory.recall("office", after=kept["created_at"], before="9999-01-01")
    assert again["id"] == kept["id"]
    assert memory.recall("office", before=kept["created_at"]) == []
    assert [hit["content"] for hit in memory.recall("What happened today?")] == ["The office closes at six."]
    with pytest.raises(InvalidInputError, match="not earlier than before"):
        memory.recall("office", after="2026-02-01", before="2026-01-01")


def test_invalid_arguments_are_named(memory: Memory, home: Path) -> None:
    with pytest.raises(InvalidInputError, match="importance"):
        memory.store("x", importance=2)
    with pytest.raises(NotFoundError, match="There is no database yet"):
        Memory("nowhere", data_dir=home / "empty").recall("x")
    with pytest.raises(InvalidInputError, match="There is no setting 'colour'"):
        Memory(colour="blue")
    with pytest.raises(InvalidInputError, match="read_only"):
        Memory(read_only=True).store("x")


def test_a_string_is_not_accepted_as_a_list(memory: Memory) -> None:
    kept = memory.store("Staging listens on port 5433.", tags=("infra",))
    for wrong in (
        lambda: memory.store("Another fact.", tags="infra"),
        lambda: memory.forget(kept["id"]),
        lambda: memory.recall("port", kinds="memory"),
    ):
        with pytest.raises(InvalidInputError, match="valid list"):
            wrong()
    assert memory.inspect(ids=(kept["id"],))["memories"][0]["tags"] == ["infra"]


def test_an_incomplete_relation_is_reported(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match=r"\('Ann', 'works_at'\) is not a relation"):
        memory.create_relations(("Ann", "works_at"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="None is not a relation"):
        memory.create_relations(None)  # type: ignore[arg-type]


def test_an_unknown_format_of_an_export_is_an_error(memory: Memory, tmp_path: Path) -> None:
    memory.store("A fact.")
    with pytest.raises(InvalidInputError, match="Unknown format 'md'"):
        memory.export(tmp_path / "notes", format="md")  # type: ignore[arg-type]
    assert not (tmp_path / "notes").exists()


FORKED = """
import os
from memoryd import Memory
from memoryd.errors import MemorydError

unused = Memory("atlas")
with Memory("atlas") as memory:
    memory.store("Before the fork.")
    child = os.fork()
    if not child:
        for work in (memory.store, Memory("atlas").store):
            try:
                work("In a fork.")
            except MemorydError as error:
                print(error, flush=True)
        raise SystemExit
    assert os.waitpid(child, 0)[1] == 0
    memory.store("After the first fork.")
child = os.fork()
unused.store("In the second." if child else "In the second fork.")
unused.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
    with Memory("atlas") as memory:
        print(sorted(hit["content"] for hit in memory.recall("fork second")))
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
def test_a_fork_damages_nothing(home: Path) -> None:
    """SQLite can corrupt a file that was open before a fork and is opened again in the child."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    used, opened, found = done.stdout.splitlines()
    assert "This Memory is in use by process" in used
    assert "reopening it here would damage it" in opened
    assert found == "['After the first fork.', 'Before the fork.', 'In the second fork.', 'In the second.']"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Memories'"):
        memoryd.Memories  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.process
def test_the_package_imports_almost_nothing_until_the_class_is_used(home: Path) -> None:
    script = "import sys, memoryd; print(sum(name.startswith('memoryd') for name in sys.modules))"
    command = [sys.executable, "-c", script]
    shown = subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert int(shown.stdout) <= 4
