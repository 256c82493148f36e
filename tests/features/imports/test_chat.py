"""Conversations of messages with roles: many shapes of them, one reader, and nothing but what the two sides wrote."""

import json
import sqlite3
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.source import opened
from memoryd.features.imports.formats.table import FORMATS
from tests.features.imports.formats_kit import bring
from tests.features.imports.test_formats import records

MAY = "2026-05-02T08:00:00Z"
TURN = "Which port?\n\n\n\n5433."
THOUGHT = "Which port?\n\nLook.\n\n5433."
SECRET = "You are a careful agent."


def message(role: str, words: object, **more: object) -> dict[str, Any]:
    return {"role": role, "content": words} | more


def blocks(*parts: object) -> list[Any]:
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]


def jsonl(*values: object) -> str:
    return "".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in values)


THINKS = {"type": "thinking", "thinking": "Look."}
CALL, OUTPUT = {"type": "tool_use", "name": "Read"}, {"type": "tool_result", "content": "PORT=5433"}
ASK, ANSWER = message("user", "Which port?", timestamp=MAY), message("assistant", "5433.")
TREE = {
    "a": {"id": "a", "parentId": None, "role": "user", "content": "Which port?", "timestamp": 1_777_708_800},
    "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "An older answer."},
    "c": {"id": "c", "parentId": "a", "role": "assistant", "content": "5433."},
}
SHAPES: dict[str, tuple[str, str]] = {
    "a list": (json.dumps([message("system", SECRET), ASK, message("tool", "PORT=5433"), ANSWER]), TURN),
    "lines": (jsonl(message("system", SECRET), ASK, ANSWER), TURN),
    "blank and torn lines, a BOM": ("\ufeff\n" + jsonl("\n", message("system", SECRET), "{torn\n", ASK, ANSWER), TURN),
    "blocks": (json.dumps([message("user", blocks("Which port?"), ts=1_777_708_800), message("assistant", blocks(CALL)),
                           message("user", [OUTPUT]), message("assistant", blocks("5433."))]), TURN),
    "a wrapped message": (jsonl(
        {"type": "session_start", "id": "s", "title": "Ports"},
        {"type": "message", "timestamp": MAY, "message": message("user", blocks("Which port?"))},
        {"type": "message", "message": message("toolResult", "PORT=5433")},
        {"type": "custom_message", "content": SECRET},
        {"type": "message", "message": message("assistant", blocks(THINKS, "5433."))},
    ), THOUGHT),
    "types for roles": (jsonl(
        {"type": "system", "content": SECRET},
        {"type": "user", "content": blocks("<user_info>OS: x</user_info>"), "synthetic_reason": "context"},
        {"type": "user", "content": blocks("Which port?"), "created_at": MAY},
        {"type": "tool_result", "content": "PORT=5433"}, {"type": "assistant", "content": "5433."},
    ), TURN),
    "steps": (jsonl(
        {"source": "USER_EXPLICIT", "type": "USER_INPUT", "created_at": MAY,
         "content": "<USER_REQUEST>\nWhich port?\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>x</USER_SETTINGS_CHANGE>"},
        {"source": "MODEL", "type": "VIEW_FILE", "content": "PORT=5433"},
        {"source": "MODEL", "type": "PLANNER_RESPONSE", "thinking": "Look.", "content": "5433."},
    ), THOUGHT),
    "streamed events": (jsonl(
        {"type": "config", "systemPrompt": SECRET},
        {"type": "append", "message": message("user", blocks("Which port?"), origin={"kind": "user"}), "time": MAY},
        {"type": "append", "message": message("user", blocks("Injected."), origin={"kind": "trigger"})},
        {"type": "event", "event": {"type": "content.part", "part": {"type": "think", "think": "Look."}}},
        {"type": "event", "event": {"type": "content.part", "part": {"type": "text", "text": "5433."}}},
    ), THOUGHT),
    "events with data": (jsonl(
        {"type": "session.start", "data": {"sessionId": "s", "context": {"cwd": "/srv/shop"}}},
        {"type": "system.message", "data": {"role": "system", "content": SECRET}},
        {"type": "user.message", "data": {"content": "Which port?"}, "timestamp": MAY},
        {"type": "tool.execution_complete", "data": {"result": {"content": "PORT=5433"}}},
        {"type": "assistant.message", "data": {"content": "5433."}},
    ), TURN),
    "parts": (json.dumps({"sessionId": "s", "turns": [
        {"role": "user", "parts": [{"text": "Which port?"}], "createTime": 1, "created": MAY},
        {"role": "model", "parts": [{"text": "Look.", "thought": True}, {"text": "5433."}]},
    ]}), THOUGHT),
    "a task": (json.dumps([
        message("user", blocks("<task>\nWhich port?\n</task>", f"<environment_details>{SECRET}</environment_details>"),
             ts=1_777_708_800_000),
        message("assistant", blocks("Let me look.")),
        message("user", blocks("[read_file for 'x'] Result:", "PORT=5433")), message("assistant", blocks("5433.")),
    ]), "Which port?\n\n\n\nLet me look.\n\n5433."),
    "messages in an object": (json.dumps({"session_id": "s", "messages": [ASK, ANSWER]}, indent=1), TURN),
    "sender and text": (json.dumps({"conversationId": "s", "title": "Ports", "messages": [
        {"sender": "User", "text": "Which port?", "isCreatedByUser": True, "createdAt": MAY},
        {"sender": "GPT-5", "text": "5433.", "isCreatedByUser": False},
    ]}), TURN),
    "from and value": (jsonl({"id": "s", "conversations": [
        {"from": "human", "value": "Which port?", "time": MAY}, {"from": "gpt", "value": "5433."}]}), TURN),
    "a tree": (json.dumps([{"id": "s", "chat": {"history": {"messages": TREE, "currentId": "c"}}}]), TURN),
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "name"), [*zip(SHAPES, cycle(["chat.json", "sessions/2026/log.jsonl"]), strict=False)]
)
def test_a_conversation_of_any_shape_becomes_turns_of_what_both_sides_wrote(
    engine: Engine, tmp_path: Path, shape: str, name: str
) -> None:
    content, expected = SHAPES[shape]
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
    for _ in range(2):
        read, (done,) = bring(engine, tmp_path if "/" in name else file)
        assert (read.form.name, dict(read.numbers)) == ("chat", {"turns": 1})
    assert not +done.new
    ((body, turn),) = records(engine).items()
    assert (body, turn.created_at[:10]) == (expected, "2026-05-02")
    assert str(turn.session_id).startswith("chat:")


@pytest.mark.parametrize(
    "values",
    [
        [message("system", SECRET)],
        [message("system", SECRET), message("tool", "PORT=5433")],
        [{"type": "system", "content": SECRET}, {"type": "tool_result", "content": "PORT=5433"}],
    ],
    ids=str,
)
def test_system_prompts_and_tool_output_alone_are_no_memories_and_no_success(
    engine: Engine, tmp_path: Path, values: list[object]
) -> None:
    for name, content in (("a.jsonl", jsonl(*values)), ("a.json", json.dumps(values))):
        file = tmp_path / name
        file.write_text(content)
        with pytest.raises((InvalidInputError, ValueError)):
            bring(engine, file)
    assert not engine.store.placement.exists() or not records(engine)


def test_memories_about_users_are_no_conversation(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        jsonl({"type": "user", "content": "Ann prefers tea."}, {"type": "project", "content": "Ends in May."})
    )
    read, _ = bring(engine, file)
    assert (read.form.name, read.numbers["memories"]) == ("jsonl", 2)


def test_two_conversations_of_a_folder_stay_two_and_one_that_was_moved_stays_one(
    engine: Engine, tmp_path: Path
) -> None:
    for name, word in (("a", "port"), ("b", "host")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "history.json").write_text(json.dumps([message("user", f"Which {word}?", ts=MAY), ANSWER]))
    bring(engine, tmp_path)
    assert len({turn.session_id for turn in records(engine).values()}) == 2
    (tmp_path / "a").rename(tmp_path / "c")
    _, (again,) = bring(engine, tmp_path)
    assert not +again.new


def test_a_second_form_of_a_transcript_adds_nothing(engine: Engine, tmp_path: Path) -> None:
    for name in ("transcript.jsonl", "transcript_full.jsonl"):
        (tmp_path / name).write_text(jsonl(ASK, ANSWER))
    read, _ = bring(engine, tmp_path)
    assert (dict(read.numbers), dict(read.found.left_out)) == ({"turns": 1}, {"duplicate turns": 1})


@pytest.mark.parametrize(
    "script",
    [
        """CREATE TABLE conversations (id, name, model);
        CREATE TABLE responses (id, model, prompt, system, response, conversation_id, datetime_utc);
        INSERT INTO conversations VALUES ('c1', 'Ports', 'm');
        INSERT INTO responses VALUES ('r1', 'm', 'Which port?', 'You are.', '5433.', 'c1', '2026-05-02T08:00:00');""",
        """CREATE TABLE sessions (id, description, working_dir);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json, created_timestamp);
        INSERT INTO sessions VALUES ('c1', 'Ports', '/srv/shop');
        INSERT INTO messages VALUES (1, 'c1', 'user', '[{"type": "text", "text": "Which port?"}]', 1777708800);
        INSERT INTO messages VALUES (2, 'c1', 'tool', '[{"type": "text", "text": "PORT=5433"}]', 1777708801);
        INSERT INTO messages VALUES (3, 'c1', 'assistant', '[{"type": "text", "text": "5433."}]', 1777708802);""",
    ],
    ids=["prompts and responses", "messages"],
)
def test_conversations_in_a_database_are_read_alike(engine: Engine, tmp_path: Path, script: str) -> None:
    file = tmp_path / "logs.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(script)
    bring(engine, file)
    _, (again,) = bring(engine, tmp_path)
    assert not +again.new
    ((body, turn),) = records(engine).items()
    assert (body, turn.session_id, turn.created_at) == (TURN, "chat:c1", "2026-05-02T08:00:00.000Z")
    assert "title:Ports" in turn.tags


def test_the_files_of_opencode_before_its_database_are_read(engine: Engine, tmp_path: Path) -> None:
    asked, answered = {"created": 1_777_708_800_000}, {"created": 1_777_708_801_000}
    files: dict[str, dict[str, Any]] = {
        "session/p1/ses_1.json": {"id": "ses_1", "directory": "/srv/shop", "title": "Ports"},
        "message/ses_1/msg_1.json": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": asked},
        "message/ses_1/msg_2.json": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": answered},
        "part/msg_1/prt_1.json": {"id": "prt_1", "messageID": "msg_1", "type": "text", "text": "Which port?"},
        "part/msg_2/prt_2.json": {"id": "prt_2", "messageID": "msg_2", "type": "tool", "state": {"output": "5433"}},
        "part/msg_2/prt_3.json": {"id": "prt_3", "messageID": "msg_2", "type": "text", "text": "5433."},
    }
    for name, value in files.items():
        file = tmp_path / "storage" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
    read, _ = bring(engine, tmp_path / "storage")
    _, (again,) = bring(engine, tmp_path)
    assert (read.form.name, not +again.new) == ("opencode", True)
    ((body, turn),) = records(engine).items()
    assert (body, turn.session_id, turn.created_at) == (TURN, "opencode:ses_1", "2026-05-02T08:00:00.000Z")


@pytest.mark.parametrize(
    ("head", "form"),
    [
        ({"message": {"role": "user", "content": "Which port?"}}, "claude-code"),
        ({"message": {"role": "user", "parts": [{"text": "Which port?"}]}}, "qwen"),
        ({"message": {"parts": [{"text": "Which port?"}], "role": "user"}}, "qwen"),
    ],
    ids=str,
)
def test_a_transcript_like_that_of_claude_code_is_read_as_what_it_is(
    tmp_path: Path, head: dict[str, Any], form: str
) -> None:
    file = tmp_path / "s1.jsonl"
    file.write_text(jsonl({"uuid": "u1", "sessionId": "s1", "type": "user", "timestamp": MAY} | head))
    with opened(file) as source:
        ((found, _),) = intake.recognize(source, FORMATS.values()).kinds
    assert found.name == form
