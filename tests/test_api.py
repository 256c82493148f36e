"""`from memoryd import Memory`: the examples of docs/python.md run, and the package itself stays light."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, assert_type

import pytest

import memoryd
from memoryd import AsyncMemory, Memory
from memoryd.api.keyed import KeyedTexts
from memoryd.api.parts import MemoryGraph, MemoryTurns, MemoryVault
from memoryd.api.tools import RecalledHit, RecordFields
from memoryd.core.journal.view import ShownTurn
from memoryd.core.memories.vault import KeyedChange
from memoryd.core.search import ranking
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.toolsets import TOOLSETS
from tests.clients import PATIENCE, environment
from tests.test_docs import ROOT, fences

PARTS = ("vault", "turns", "graph")
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
    for example in (one for one in fences(PAGE, "python") if "assistant" not in one):
        exec(compile(example, PAGE.name, "exec"), scope)
    shown = capsys.readouterr().out
    assert "Staging listens on port 5433." in shown
    assert "The office closes at seven." in shown
    assert "['Lives in Berlin.', 'Prefers tea.']" in shown
    assert len(list((tmp_path / "atlas").rglob("Ann*.md"))) == 1


def test_every_method_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    parts = {"": Memory, "vault.": MemoryVault, "turns.": MemoryTurns, "graph.": MemoryGraph}
    named = [place + name for place, part in parts.items() for name, _ in inspect.getmembers(part, inspect.isfunction)]
    methods = [name for name in named if "_" not in (name[0], name.partition(".")[2][:1])]
    former = {"commit_memory", "search_memories", "add_memory", "get_session_memories"}
    assert [name for name in methods if f"`{name}(" not in text and name not in former] == []


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
        memory.graph.create_relations(("Ann", "works_at"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="None is not a relation"):
        memory.graph.create_relations(None)  # type: ignore[arg-type]


def test_an_unknown_format_of_an_export_is_an_error(memory: Memory, tmp_path: Path) -> None:
    memory.store("A fact.")
    with pytest.raises(InvalidInputError, match="Unknown format 'md'"):
        memory.export(tmp_path / "notes", format="md")  # type: ignore[arg-type]
    assert not (tmp_path / "notes").exists()


READS: dict[str, tuple[Callable[[Memory], object], object]] = {
    "recall": (lambda memory: memory.recall("which port?"), []),
    "context": (lambda memory: memory.context("a task"), ""),
    "list": (lambda memory: memory.list(), []),
    "history": (lambda memory: memory.history(), []),
    "workspaces": (lambda memory: memory.workspaces(), []),
    "inspect": (lambda memory: memory.inspect("recent")["memories"], []),
    "vault.get": (lambda memory: memory.vault.get("style"), None),
    "vault.keys": (lambda memory: memory.vault.keys(), []),
    "vault.search": (lambda memory: memory.vault.search("style"), []),
    "turns.list": (lambda memory: memory.turns.list("s1"), []),
    "graph.open_nodes": (lambda memory: memory.graph.open_nodes("Ann")["entities"], []),
    "graph.search_nodes": (lambda memory: memory.graph.search_nodes("Ann")["result"], []),
}


@pytest.mark.parametrize("read", READS)
def test_reading_where_nothing_was_stored_returns_nothing_and_makes_nothing(read: str, home: Path) -> None:
    work, nothing = READS[read]
    with Memory("fresh", data_dir=home / "empty") as memory:
        assert work(memory) == nothing
        assert memory.workspaces() == []
        with pytest.raises(InvalidInputError, match="query"):
            memory.recall("")
        with pytest.raises(NotFoundError, match="nothing is stored yet"):
            memory.get("abc")


def test_a_budget_counts_the_text_of_hits_and_a_limit_their_number(memory: Memory) -> None:
    for hour in ("six on Mondays", "seven on Fridays", "four on Sundays"):
        memory.store(f"The office closes at {hour}.")
    question = "when does the office close?"
    assert len(memory.recall(question)) == 3
    assert len(memory.recall(question, token_budget=1)) == 1
    assert len(memory.recall(question, token_budget=20)) == 2
    assert len(memory.recall(question, limit=2)) == 2


def test_what_is_only_related_does_not_outweigh_the_hits(memory: Memory) -> None:
    for number in range(12):
        memory.store(f"Budget report {number}.")
    for number in range(3):
        memory.store(
            f"Report {number} of the budget committee: " + "every figure was read aloud, and all agreed. " * 10
        )
    hits = memory.recall("budget report", token_budget=5_000)
    related = [hit["content"] for hit in hits if hit.get("related")]
    assert related
    assert max(map(len, related)) < 100, "the long ones take more than all that bears on the question"
    assert len(hits) - len(related) == ranking.RECALL.keep


def test_a_hit_is_plain_and_says_why_on_request(memory: Memory) -> None:
    memory.store("The office closes at six.")
    (hit,) = memory.recall("when does the office close?")
    assert type(hit["kind"]) is str
    assert hit["client"]
    assert "why" not in hit
    assert memory.recall("when does the office close?", why=True)[0]["why"]["words"] == 1.0


def test_what_a_door_stores_names_the_program(memory: Memory) -> None:
    fact = memory.store("The office closes at six.")
    KeyedTexts(memory, "langgraph").change([KeyedChange(key="hours", content="From nine.")])
    kept = memory.vault.get("hours")
    assert kept
    assert kept["client"] == memory.get(fact["id"])["client"] != ""


def test_errors_are_in_the_words_of_the_api(memory: Memory) -> None:
    memory.store("A fact.")
    with pytest.raises(InvalidInputError, match="confirm=True"):
        memory.forget(tags=["x"])
    with pytest.raises(InvalidInputError, match=r"Invalid arguments for store\. content"):
        memory.store("")
    with pytest.raises(NotFoundError, match=r"find ids with recall\(\)"):
        memory.store("Another.", supersedes=["zzz"])
    with pytest.raises(InvalidInputError, match=r"Invalid arguments for vault\.set\. key"):
        memory.vault.set("", "x")


def test_former_names_work_with_a_warning(memory: Memory) -> None:
    with pytest.warns(DeprecationWarning, match=r"vault\.set"):
        memory.commit_memory("style", "Short sentences.")
    with pytest.warns(DeprecationWarning, match=r"vault\.search"):
        assert memory.search_memories("sentences")[0]["key"] == "style"
    with pytest.warns(DeprecationWarning, match=r"turns\.add"):
        memory.add_memory("Which port?", "Look.", "5433.", session_id="s1")
    with pytest.warns(DeprecationWarning, match=r"turns\.list"):
        assert memory.get_session_memories("s1")[0]["response"] == "5433."
    with pytest.warns(DeprecationWarning, match=r"graph\.create_entities"):
        memory.create_entities({"name": "Ann", "entity_type": "person"})


def test_a_session_marks_what_is_stored(home: Path) -> None:
    with Memory("atlas", session="chat-17") as memory:
        kept = memory.store("A fact.")
        memory.turns.add("Which port?", "5433.")
        assert memory.get(kept["id"])["session_id"] == "chat-17"
        (turn,) = memory.turns.list()
        assert (turn["prompt"], turn["thought"]) == ("Which port?", "")


def test_the_asynchronous_class_has_the_same_methods(memory: Memory) -> None:
    twin = AsyncMemory("atlas")
    former = {"add_memory"}  # of the synchronous class alone, which had it
    for part, other in ((memory, twin), *((getattr(memory, name), getattr(twin, name)) for name in PARTS)):
        names = [name for name in public(type(part)) if name not in former]
        assert public(type(other)) == names, "as an editor, which runs nothing, shows them"
        assert set(public(other)) - set(PARTS) == set(names)
        for name in names:
            own, awaited = getattr(part, name), getattr(other, name)
            assert inspect.iscoroutinefunction(awaited)
            assert (inspect.signature(awaited), awaited.__doc__) == (inspect.signature(own), own.__doc__)


def public(owner: object) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def test_type_checkers_know_what_the_asynchronous_methods_take_and_return(home: Path) -> None:
    async def work() -> None:
        async with AsyncMemory("atlas") as memory:
            assert_type(await memory.recall("port", limit=1), list[RecalledHit])
            assert_type(await memory.vault.get("key"), RecordFields | None)
            assert_type(await memory.turns.list("s1"), list[ShownTurn])
            with pytest.raises(TypeError):
                await memory.recall("port", limits=1)  # type: ignore[call-arg] # mypy reports ignores without a fault
            with pytest.raises(AttributeError):
                await memory.recal("port")  # type: ignore[attr-defined]

    asyncio.run(work())


def test_asynchronous_calls_run_side_by_side(home: Path) -> None:
    async def work() -> list[str]:
        async with AsyncMemory("atlas") as memory:
            await asyncio.gather(*(memory.vault.set(f"key {number}", "text") for number in range(8)))
            return await memory.vault.keys()

    assert asyncio.run(work()) == [f"key {number}" for number in range(8)]


@pytest.mark.parametrize(
    ("form", "schema"),
    [("openai", "parameters"), ("chat", "parameters"), ("anthropic", "input_schema"), ("mcp", "inputSchema")],
)
def test_a_model_gets_tools_and_answers(memory: Memory, form: Any, schema: str) -> None:
    tools = {tool["name"]: tool for tool in (tool.get("function", tool) for tool in memory.tools(form))}
    every = [tool for name in TOOLSETS for tool in memory.tools(form, toolsets=[name])]
    assert memory.tools(form, toolsets="all") == every
    assert "query" in tools["memory_recall"][schema]["properties"]
    assert memory.call("memory_recall", {"query": "the port"}) == "Nothing is stored yet."
    memory.call("memory_store", '{"content": "Staging listens on port 5433."}')
    assert "5433" in memory.call("memory_recall", {"query": "which port has staging?"})
    assert memory.call("memory_recall", {}).startswith("Error: Invalid arguments")
    assert "confirm=true" in memory.call("memory_forget", {"tags": ["a"]}), "a model writes JSON"
    assert memory.call("no_such_tool", {}).startswith("There is no tool")


FORKED = """
import os
from memoryd import AsyncMemory, Memory
from memoryd.api.parts import MemoryGraph, MemoryTurns, MemoryVault
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
