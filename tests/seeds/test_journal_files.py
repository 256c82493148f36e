"""Seed e: export_database and import_database."""

import json
import re
import stat
from pathlib import Path

import pytest

from tests.clients import Agent, Json
from tests.seeds.journal import (
    EMPTY,
    add,
    emptied,
    ended,
    export,
    lines_of,
    memories,
    prompts,
    put,
    summaries,
    summarize,
)

NEO_TURN = {
    "id": "mem_2025-10-08T12:00:00.000Z",
    "metadata": {
        "prompt": "What is a worker?",
        "thought": "He means the App worker.",
        "response": "A thread of its own.",
        "sessionId": "session_1696800000000",
        "timestamp": "2025-10-08T12:00:00.000Z",
        "type": "agent-interaction",
    },
    "document": "User Prompt: What is a worker?\nAgent Thought: He means the App worker.\nAgent Response: A thread.",
    "embedding": [0.1, -0.2, 0.3],
}
NEO_SUMMARY = {
    "id": "summary_session_1696800000000",
    "metadata": {
        "sessionId": "session_1696800000000",
        "timestamp": "2025-10-08T13:00:00.000Z",
        "memoryCount": 15,
        "title": "Workers",
        "category": "feature",
        "quality": 85,
        "productivity": 90.0,
        "impact": 75,
        "complexity": 60,
        "technologies": "neo.mjs,nodejs, chromadb",
    },
    "document": "We talked about workers.",
    "embedding": [0.1],
}


def texts(*objects: Json) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


@pytest.fixture
def full(journal: Agent) -> Agent:
    """Return a journal with two sessions, one of them summarized."""
    add(journal, "Fix the crash. \U0001f680", "Done.\n\nReally.", "one")
    add(journal, "And the other one.", "Also done.", "one")
    add(journal, "Hello.", "Hello!", "two")
    summarize(journal, "one")
    return journal


def everything(journal: Agent) -> list[Json]:
    return [*memories(journal, "one"), *memories(journal, "two"), *summaries(journal)]


# export --------------------------------------------------------------------------------------------------------------


def test_an_export_contains_everything(full: Agent) -> None:
    result = full.ok("export_database")
    file = Path(result["file"])
    lines = lines_of(file)
    assert (result["memories"], result["summaries"], result["bytes"]) == (3, 1, file.stat().st_size)
    assert [one["collection"] for one in lines] == ["neo-agent-memory"] * 3 + ["neo-agent-sessions"]
    assert {line["metadata"]["prompt"] for line in lines[:3]} == {
        "Fix the crash. \U0001f680",
        "And the other one.",
        "Hello.",
    }
    assert lines[3]["metadata"]["title"] == "Fix the crash"


def test_an_export_is_in_the_export_directory_and_private(full: Agent) -> None:
    file = export(full)
    assert file.is_relative_to(full.data / "exports")
    assert re.fullmatch(r"memory-backup-\d{8}T\d{9}Z\.jsonl", file.name)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not list(file.parent.glob("*.partial"))


@pytest.mark.parametrize("include", [["memories"], ["summaries"], ["summaries", "memories"]])
def test_include_chooses_the_collections(full: Agent, include: list[str]) -> None:
    kinds = {"neo-agent-memory": "memories", "neo-agent-sessions": "summaries"}
    assert {kinds[one["collection"]] for one in lines_of(export(full, *include))} == set(include)


def test_equal_journals_are_equal_files(full: Agent) -> None:
    assert export(full).read_bytes() == export(full).read_bytes()


def test_an_empty_journal_is_exported_and_imported(journal: Agent) -> None:
    file = export(journal)
    add(journal, "Something.")
    journal.ok("import_database", file=str(file), mode="replace")
    assert prompts(journal) == []


# import --------------------------------------------------------------------------------------------------------------


def test_an_export_is_imported_unchanged(full: Agent) -> None:
    before, file = everything(full), export(full)
    emptied(full)
    result = full.ok("import_database", file=str(file))
    assert (result["mode"], result["memories"], result["newMemories"], result["newSummaries"]) == ("merge", 3, 3, 1)
    assert everything(full) == before
    assert export(full).read_bytes() == file.read_bytes()


def test_a_merge_adds_only_new_records(full: Agent) -> None:
    file = export(full)
    add(full, "Later.", session="two")
    for _ in range(2):
        result = full.ok("import_database", file=str(file), mode="merge")
        assert (result["memories"], result["newMemories"], result["newSummaries"]) == (3, 0, 0)
    assert prompts(full, "two") == ["Hello.", "Later."]


def test_a_merge_restores_deleted_summaries(full: Agent) -> None:
    before, file = summaries(full), export(full)
    full.ok("delete_all_summaries")
    assert full.ok("import_database", file=str(file))["newSummaries"] == 1
    assert summaries(full) == before


def test_replace_really_replaces(full: Agent) -> None:
    file = export(full)
    add(full, "Later.", session="three")
    summarize(full, "three")
    full.ok("import_database", file=str(file), mode="replace")
    assert prompts(full, "three") == []
    assert len(summaries(full)) == 1
    assert len(prompts(full, "one")) == 2


def test_replacing_one_collection_leaves_the_other(full: Agent) -> None:
    file = export(full, "memories")
    add(full, "Later.", session="three")
    full.ok("import_database", file=str(file), mode="replace")
    assert prompts(full, "three") == []
    assert len(summaries(full)) == 1


def test_imported_turns_are_found(full: Agent) -> None:
    file = export(full)
    full.ok("import_database", file=str(file), mode="replace")
    found = full.ok("query_raw_memories", query="fix the crash")["results"]
    assert found[0]["prompt"] == "Fix the crash. \U0001f680"


def test_the_records_of_other_toolsets_stay(remembering: Agent) -> None:
    kept = remembering.store("The harbour freezes in January.")
    add(remembering, "Something.")
    emptied(remembering)
    assert [one["id"] for one in remembering.whole(kept)] == [kept]


def test_files_of_neo_mjs_are_read(journal: Agent) -> None:
    file = put(journal, "neo.jsonl", texts(NEO_TURN, NEO_SUMMARY))
    result = journal.ok("import_database", file=file)
    assert (result["newMemories"], result["newSummaries"]) == (1, 1)
    (turn,) = memories(journal, "session_1696800000000")
    (summary,) = summaries(journal)
    assert (turn["prompt"], turn["timestamp"]) == ("What is a worker?", "2025-10-08T12:00:00.000Z")
    assert (summary["summary"], summary["memoryCount"]) == ("We talked about workers.", 15)
    assert (summary["quality"], summary["productivity"]) == (85, 90)
    assert summary["technologies"] == ["neo.mjs", "nodejs", "chromadb"]


def test_a_turn_of_neo_mjs_with_texts_only_in_the_document_is_read(journal: Agent) -> None:
    kept = {key: NEO_TURN["metadata"][key] for key in ("sessionId", "type")} | {"timestamp": 1696800000000}  # type: ignore[index]
    journal.ok("import_database", file=put(journal, "old.jsonl", texts(NEO_TURN | {"metadata": kept})))
    (turn,) = memories(journal, "session_1696800000000")
    assert (turn["prompt"], turn["response"]) == ("What is a worker?", "A thread.")
    assert turn["timestamp"] == "2023-10-08T21:20:00.000Z"


def test_a_file_is_named_by_its_name_or_its_path(full: Agent) -> None:
    file = export(full)
    relative = file.relative_to(full.data / "exports").as_posix()
    for name in (relative, str(file)):
        assert full.ok("import_database", file=name)["memories"] == 3


def test_two_turns_that_share_an_id_are_both_kept(journal: Agent) -> None:
    other = {**NEO_TURN, "metadata": {**NEO_TURN["metadata"], "prompt": "Something else?"}}  # type: ignore[dict-item]
    file = put(journal, "twice.jsonl", texts(NEO_TURN, NEO_TURN, other))
    for new in (2, 0):
        assert journal.ok("import_database", file=file)["newMemories"] == new
    assert sorted(prompts(journal, "session_1696800000000")) == ["Something else?", "What is a worker?"]


# bad files -----------------------------------------------------------------------------------------------------------


def without(line: Json, name: str) -> Json:
    return {**line, "metadata": {key: value for key, value in line["metadata"].items() if key != name}}


def having(line: Json, **more: object) -> Json:
    return {**line, "metadata": {**line["metadata"], **more}}


GOOD = texts(NEO_TURN)
BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "blank": ("\n\n  \n", "is empty"),
    "no JSON": (GOOD + "prompt: hello\n", "Line 2 "),
    "truncated": (GOOD + GOOD[: len(GOOD) // 2], "Line 2 .* may be truncated.*; correct the file and import it again"),
    "a list": (GOOD + "[1, 2]\n", "Line 2 .* not a JSON object"),
    "nested deeply": (GOOD + "[" * 100_000 + "\n", "Line 2 "),
    "neither": (GOOD + '{"id": "a", "metadata": {"x": 1}}\n', "Line 2 .* neither a prompt nor a title"),
    "no metadata": (GOOD + '{"id": "a"}\n', "Line 2 .* no metadata"),
    "no id": (GOOD + texts({**NEO_TURN, "id": ""}), "Line 2 .* id"),
    "no session": (GOOD + texts(without(NEO_TURN, "sessionId")), "Line 2 .* sessionId"),
    "no time": (GOOD + texts(without(NEO_TURN, "timestamp")), "Line 2 .* timestamp"),
    "bad time": (GOOD + texts(having(NEO_TURN, timestamp="yesterday")), "Line 2 .*yesterday"),
    "far time": (GOOD + texts(having(NEO_TURN, timestamp=1e300)), "Line 2 "),
    "number for text": (GOOD + texts(having(NEO_TURN, prompt=5) | {"document": ""}), "Line 2 .* prompt"),
    "bad score": (GOOD + texts(having(NEO_SUMMARY, quality="high")), "Line 2 .* quality"),
    "NUL": (GOOD + texts(having(NEO_TURN, prompt="a\0b")), r"Line 2 .* U\+0000"),
    "lone surrogate": (GOOD + texts(having(NEO_TURN, prompt="\ud800")), r"Line 2 .* U\+D800"),
    "no UTF-8": (GOOD.encode() + b'{"id": "\xff"}\n', "Line 2 .* UTF-8"),
    "a database": (b"SQLite format 3\0" + bytes(100), "is a database"),
    "binary": (bytes(range(256)) * 10, "not UTF-8 text"),
    "without its end": (EMPTY, "its end is missing"),
    "an end that does not fit": (EMPTY + GOOD + ended(EMPTY).splitlines()[1] + "\n", "does not match"),
    "more after its end": (ended(EMPTY) + GOOD, "Line 3 .* follows the end"),
    "a newer version": (ended(EMPTY.replace('"version":1', '"version":2')), "newer version"),
    "another kind": (ended(EMPTY.replace('"journal"', '"workspaces"')), "memoryd import"),
}


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_the_error_of_a_bad_file_is_named_and_nothing_changes(full: Agent, mode: str) -> None:
    before = everything(full)
    for name, (text, expected) in BAD.items():
        message = full.refused("import_database", file=put(full, "bad.jsonl", text), mode=mode)
        assert re.search(expected, message), name
    assert everything(full) == before
    assert prompts(full, "session_1696800000000") == []


def test_a_changed_export_is_refused(full: Agent) -> None:
    file = export(full)
    file.write_text(file.read_text(encoding="utf-8").replace("Hello.", "Hallo."), encoding="utf-8")
    assert "does not match" in full.refused("import_database", file=str(file))


# where files may be --------------------------------------------------------------------------------------------------


def test_paths_outside_are_refused(full: Agent) -> None:
    before = everything(full)
    for file in ("/etc/hostname", "../memory.db", "..", ".", "x/../../memory.db", "~/a.jsonl", "a\nb", "x" * 4_000):
        message = full.refused("import_database", file=file, mode="replace")
        assert "Tool Error: Invalid arguments. Message: " in message, file
    assert everything(full) == before


def test_a_symlink_that_leads_outside_is_refused(full: Agent, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text(GOOD)
    link = full.data / "exports" / "link.jsonl"
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "secret.jsonl")
    assert "outside the directory of exports" in full.refused("import_database", file="link.jsonl")


def test_a_directory_and_a_missing_file_are_refused(full: Agent) -> None:
    (full.data / "exports" / "folder.jsonl").mkdir(parents=True, exist_ok=True)
    for name in ("folder.jsonl", "missing.jsonl"):
        assert f"There is no file '{name}'" in full.refused("import_database", file=name)


def test_an_export_can_be_named_by_its_file_name(full: Agent) -> None:
    before, file = everything(full), export(full)
    copied = full.data / "exports" / "copied.jsonl"
    copied.write_text(file.read_text())
    for name in (file.name, f"{file.parent.name}/{file.name}", copied.name, str(copied)):
        emptied(full)
        assert full.ok("import_database", file=name)["newMemories"] == 3
        assert everything(full) == before


def test_exports_of_another_workspace_are_refused(full: Agent) -> None:
    other = full.data / "exports" / "another"
    other.mkdir(parents=True, exist_ok=True)
    (other / "theirs.jsonl").write_text(GOOD)
    assert "outside" in full.refused("import_database", file="another/theirs.jsonl")
