"""Transcripts as turns: what counts as a prompt, as a response or as neither, and when a turn is over."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.journal.journal import Journal
from memoryd.core.maintenance import purging
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.claude_code import CONTINUED, FORMAT, Reader, Turn
from memoryd.features.imports.formats.source import opened
from memoryd.model import Interaction
from memoryd.store import rows
from tests.core import kit
from tests.features.imports.formats_kit import bring, sample
from tests.store import journals

HOOKS = Path(__file__).parents[2] / "hooks"
FIRST, SECOND = "5f0c1c52-7d3e-4b57-9a55-0c7b6f6f2a01", "9b2e7a10-1c44-4e0f-8d21-3b1d8c9e5b02"


def read(data: bytes, offset: int = 0) -> tuple[list[Turn], list[tuple[int, str]]]:
    """The turns, and the lines that could not be used."""
    faults: list[tuple[int, str]] = []
    reader = Reader(io.BytesIO(data), "unnamed", lambda line, text: faults.append((line, text)))
    return list(reader.turns(offset)), faults


def recorded(name: str = "session") -> list[Turn]:
    turns, faults = read((HOOKS / f"{name}.jsonl").read_bytes())
    assert faults == []
    return turns


def of(uuid: str, name: str = "session") -> Interaction:
    return next(turn.interaction() for turn in recorded(name) if turn.uuid == uuid)


def line(kind: str, uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, "id": f"msg_{uuid}", **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "timestamp": "2026-03-04T09:00:00Z", "message": message, **more}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_a_turn_is_kept_verbatim_with_the_thinking_and_texts_before_its_response() -> None:
    assert of("u1") == Interaction(
        id="mem_u1",
        session_id=FIRST,
        created_at="2026-03-04T09:00:01.001Z",
        prompt="Which port does staging use?",
        thought="The compose file will tell.\n\nI look into the compose file.\n\nSo it is 5433.",
        response="Staging listens on port 5433.",
    )


def test_only_what_the_user_typed_begins_a_turn() -> None:
    assert [turn.uuid for turn in recorded()] == ["u1", "u2", "c5", "u3", "u4", "u6", "w1", "w2", "u7"]


def test_unstorable_characters_are_replaced_and_the_rest_is_unchanged() -> None:
    turn = of("u2")
    assert turn.prompt == "Grüße auf Japanisch? 挨拶 \N{GRINNING FACE}"
    assert turn.response == "こんにちは \N{REPLACEMENT CHARACTER} cut"


def test_a_command_that_the_agent_answers_is_a_prompt_as_it_was_typed() -> None:
    assert (of("c5").prompt, of("c5").response) == ("/review the last commit", "The commit is sound.")


def test_a_prompt_typed_while_the_agent_works_belongs_to_the_current_one() -> None:
    assert of("u3").prompt == "Convert the prices.\n\n[image]\n\nAnd to euros, please."


def test_an_answer_that_a_tool_call_follows_is_the_response() -> None:
    assert (of("u3").thought, of("u3").response) == ("", "All prices are in euros.")


def test_a_turn_with_tools_only_names_them_and_a_repeated_prompt_is_merged_with_the_first() -> None:
    assert (of("u4").prompt, of("u4").response) == ("Deploy it.\n\nDeploy it now.", "(no words; tools: Bash)")


def test_an_agent_woken_after_its_end_begins_another_turn_with_the_same_prompt() -> None:
    woken = [of("u6"), of("w1"), of("w2")]
    assert {turn.prompt for turn in woken} == {"Run the tests in the background."}
    assert [turn.response for turn in woken] == [
        "They run.",
        "All 3 tests pass.",
        "They are test_a, test_b and test_c.",
    ]


def test_a_turn_with_a_truncated_last_line_continues() -> None:
    *before, last = recorded()
    assert all(turn.closed for turn in before)
    assert (last.uuid, last.ended) == ("u7", False)


@pytest.mark.parametrize(
    ("reason", "over"), [("end_turn", True), ("max_tokens", True), ("tool_use", False), (None, False)]
)
def test_the_last_turn_is_over_if_the_models_stop_reason_ends_it(reason: str | None, over: bool) -> None:
    answer = line("assistant", "a", [{"type": "text", "text": "Yes."}], message={"stop_reason": reason})
    ((turn,), _) = read(lines(line("user", "u", "Is it?"), answer))
    assert turn.ended is over


def test_two_sessions_in_one_file_are_two() -> None:
    assert [(turn.uuid, turn.session) for turn in recorded("resumed")] == [
        ("u1", FIRST),
        ("u8", SECOND),
        ("u9", SECOND),
    ]


def test_a_compaction_during_a_turn_is_not_a_prompt_and_does_not_end_it() -> None:
    assert of("u9", "resumed").response == "It has one page now."


def test_an_agent_that_answered_before_a_compaction_and_continues_has_another_turn() -> None:
    summary = line("user", "k", "This session is being continued from a previous conversation.")
    asked = line("user", "u", "Shorten it.")
    turns, _ = read(lines(asked, line("assistant", "a", "Done."), summary, line("assistant", "b", "More.")))
    assert [(turn.uuid, turn.prompt, turn.words) for turn in turns] == [
        ("u", "Shorten it.", "Done."),
        ("k", "Shorten it.", "More."),
    ]


def test_the_lines_of_one_message_are_one_turn_whatever_is_between_them() -> None:
    tool = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    result = line("user", "r", [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}])
    between = line("user", "m", "A note of the client.", isMeta=True)
    text = line("assistant", "b", "I wait.", message={"id": "msg_a"})
    more = line("assistant", "c", "Still.", message={"id": "msg_a"})
    asked = line("user", "u", "Run it.")
    turns, _ = read(
        lines(asked, line("assistant", "a", tool), text, between, more, result, line("assistant", "d", "OK."))
    )
    assert [turn.uuid for turn in turns] == ["u"]


def test_a_command_answered_by_the_client_is_not_the_prompt_of_later_lines() -> None:
    own = [line("user", "c", "<command-name>/status</command-name>"), line("user", "o", "<local-command-stdout>ok")]
    woken = [line("user", "w", "<task-notification>done"), line("assistant", "b", "All pass.")]
    turns, _ = read(lines(line("user", "u", "Run it."), line("assistant", "a", "It runs."), *own, *woken))
    assert [(turn.uuid, turn.prompt) for turn in turns] == [("u", "Run it."), ("w", "Run it.")]


def test_a_file_that_begins_with_a_summary_begins_with_a_continued_turn() -> None:
    summary = line("user", "k", "This session is being continued from a previous conversation.", isCompactSummary=True)
    ((turn,), _) = read(lines(summary, line("assistant", "a", "It goes on.")))
    assert (turn.uuid, turn.prompt, turn.session) == ("k", CONTINUED, "unnamed")


def test_the_same_line_twice_counts_once() -> None:
    twice = [line("user", "u", "Hello?"), line("assistant", "a", "Hello.")] * 2
    ((turn,), _) = read(lines(*twice))
    assert (turn.prompt, turn.interaction().response) == ("Hello?", "Hello.")


def test_unusable_lines_are_reported_and_the_rest_is_read() -> None:
    good = line("user", "u", "Hello?"), line("assistant", "a", "Hello.")
    bad = lines([1], {**good[0], "uuid": ""}, {**good[0], "uuid": "v", "timestamp": "soon"}) + b"{torn\n\xff\n"
    turns, faults = read(lines(good[0]) + bad + lines(good[1]))
    assert [turn.uuid for turn in turns] == ["u"]
    assert [number for number, _ in faults] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "user"},
        {"type": "user", "message": None},
        {"type": "user", "message": {"content": 5}},
        {"type": "user", "message": {"content": [None, 5, {"type": "text"}, {"type": "image"}, {}]}},
        {"type": "assistant", "message": {"content": [None, {"type": "tool_use"}, {"type": "thinking"}]}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": 7}},
        {"type": ["user"], "message": 1},
        {"message": {"content": "x"}},
    ],
)
def test_a_line_of_an_unknown_shape_breaks_nothing(value: dict[str, Any]) -> None:
    strange = {"uuid": "s", "timestamp": "2026-03-04T09:00:00Z", **value}
    turns, _ = read(lines(line("user", "u", "Hello?"), strange, line("assistant", "a", "Hello.")))
    assert turns[-1].interaction().response == "Hello."


def test_reading_from_the_last_turn_yields_it_again_and_later_ones() -> None:
    data = (HOOKS / "session.jsonl").read_bytes()
    whole, _ = read(data)
    for known in whole:
        again, _ = read(data, known.offset)
        assert [turn.interaction() for turn in again if turn.uuid == known.uuid] == [known.interaction()]
        assert [turn.uuid for turn in again][-1] == "u7"
    assert whole[7].offset == whole[5].offset  # woken twice: it begins at the prompt


def test_turns_read_from_the_first_lines_stay_as_more_are_written() -> None:
    """However many lines a hook reads, a turn that it takes as ended does not change later."""
    data = (HOOKS / "session.jsonl").read_bytes()
    final = {turn.uuid: turn.interaction() for turn in read(data)[0]}
    rows = data.splitlines(keepends=True)
    for number in range(len(rows)):
        for turn in read(b"".join(rows[:number]))[0]:
            assert not turn.ended or turn.interaction() == final[turn.uuid]


def test_an_endless_line_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.features.imports.formats.claude_code.LINE", 100)
    with pytest.raises(InvalidInputError, match="is not a transcript"):
        read(b"x" * 1_000)


# import --------------------------------------------------------------------------------------------------------------


def test_a_turn_that_was_removed_is_not_imported_again(home: Path, tmp_path: Path) -> None:
    with kit.engine(home) as engine:
        path = sample("claude-code", tmp_path)
        _, (done,) = bring(engine, path)
        assert done.new["turns"] == 2
        scope = Scope(engine, engine.workspaces.find("default"))
        Memories(scope).forget(Criteria(ids=("mem_u1",)))
        _, (again,) = bring(engine, path)
        assert again.new["turns"] == 0
        purging.purge(scope, ["mem_u1"])
        _, (purged,) = bring(engine, path)
        assert purged.new["turns"] == 0


def test_a_turn_is_known_by_its_id_alone_as_hooks_store_it(home: Path, tmp_path: Path) -> None:
    with kit.engine(home) as engine:
        scope = Scope(engine, engine.workspaces.ensure("default"))
        Journal(scope).kept.put([journals.turn(1, "s0", id="mem_u1")])
        _, (done,) = bring(engine, sample("claude-code", tmp_path))
        assert done.new["turns"] == 1


def test_a_transcript_that_is_none_does_not_end_the_import(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.features.imports.formats.claude_code.LINE", 1_000)
    path = sample("claude-code", tmp_path)
    (path / "-srv-shop" / "a.jsonl").write_text('{"sessionId": "s", "uuid": "u"}\n' + "x" * 5_000)
    with kit.engine(home) as engine:
        read, (done,) = bring(engine, path)
    assert done.new["turns"] == 2
    assert read.found.faults.first == ["-srv-shop/a.jsonl, Line 2 is longer than 0 MB: this is not a transcript"]


def test_imported_turns_go_to_the_journal_in_chroma(chroma: str, model_dir: Path, home: Path, tmp_path: Path) -> None:
    path, ours = sample("claude-code", tmp_path), {"MEMORY_JOURNAL_STORE": "chroma", "MEMORY_CHROMA_URL": chroma}
    with journals.engine(home, model_dir, **ours) as engine:
        for new in (2, 0):
            with (
                opened(path) as source,
                intake.staged(engine, source, FORMAT, frozenset(), lambda *_: None, by_project=False) as read,
            ):
                (done,) = read.load(engine, lambda *_: None)
            assert (done.read["turns"], done.new["turns"]) == (2, new)
        workspace = engine.workspaces.find("default")
        ids = [one.id for one in Journal(Scope(engine, workspace)).kept.every_turn()]
        assert [one for one in ids if one.startswith("mem_u")] == ["mem_u1", "mem_u2"]  # others share the server
        assert engine.store.read(workspace, lambda queries: rows.number(queries, "records")) == 0
