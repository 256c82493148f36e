"""When a turn of a transcript may be stored, and where reading continues."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.security.secrets import Secrets
from memoryd.errors import InvalidInputError
from memoryd.features.agents import transcripts
from memoryd.features.agents.hooks import SHOWN, SessionNotes, parse
from memoryd.features.agents.transcripts import AgentStop, ReadPosition, Tally
from memoryd.features.imports.formats.claude_code import Turn
from memoryd.model import Interaction, Workspace

HOOKS = Path(__file__).parents[2] / "hooks"
HOME = Workspace(id="w1", name="default")
OTHER = Workspace(id="w2", name="other")


def line(kind: str, uuid: str, text: str, **message: Any) -> str:
    whole = {"role": kind, "id": f"msg_{uuid}", "content": [{"type": "text", "text": text}], **message}
    value = {"type": kind, "uuid": uuid, "timestamp": "2026-03-04T09:00:00Z", "sessionId": "s", "message": whole}
    return json.dumps(value) + "\n"


TOOL = line("assistant", "t", "", content=[{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


START = ReadPosition()


def over(path: Path, place: ReadPosition = START, *, ended: bool = False, last: str | None = None) -> list[str]:
    turns = transcripts.collect(path, "s", place, AgentStop(ended, last), Tally())
    return [turn.uuid for turn in turns if turn.ended]


def place(turn: Turn) -> ReadPosition:
    return ReadPosition(turn.offset, turn.origin)


# when a turn is over -------------------------------------------------------------------------------------------------


def test_the_agents_last_message_is_awaited(path: Path) -> None:
    path.write_text(line("user", "u", "Which port?") + line("assistant", "a", "I look.") + TOOL)

    def finish() -> None:
        with path.open("a") as file:
            file.write(line("assistant", "b", "It is\n  5433."))

    late = threading.Timer(0.3, finish)
    late.start()
    assert over(path, last="It is 5433.") == ["u"]
    late.join()


def test_a_turn_whose_last_message_does_not_arrive_is_left_for_the_next_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "LATE", 0.0)
    path.write_text(line("user", "u", "Which port?") + line("assistant", "a", "I look."))
    assert over(path, last="It is 5433.") == []
    assert over(path) == []
    assert over(path, ended=True) == ["u"]


def test_at_the_end_of_a_session_a_turn_with_open_tool_calls_is_left(path: Path) -> None:
    path.write_text(line("user", "u", "Which port?") + line("assistant", "a", "I look.") + TOOL)
    assert over(path, ended=True) == []


# where reading continues ---------------------------------------------------------------------------------------------


def test_reading_continues_at_the_last_turn_or_restarts_in_another_file(path: Path) -> None:
    one = line("user", "u", "One?") + line("assistant", "a", "One.", stop_reason="end_turn")
    two = line("user", "v", "Two?") + line("assistant", "b", "Two.", stop_reason="end_turn")
    path.write_text(one + two)
    last = transcripts.collect(path, "s", ReadPosition(), AgentStop(), Tally())[-1]
    assert over(path, place(last)) == ["v"]
    path.write_text(two + one)
    assert over(path, place(last)) == ["v", "u"]
    path.write_text(two)
    assert over(path, place(last)) == ["v"]
    path.write_text(one.replace("One?", "O?") + two)
    assert over(path, place(last)) == ["u", "v"]


def test_a_turn_with_a_refused_secret_is_left_out_with_a_sentence(path: Path) -> None:
    key, at = "ghp_" + "a1B2" * 9, "2026-03-04T09:00:00.000Z"
    turn = Interaction(id="t", session_id="s", created_at=at, prompt=f"My token is {key}.", thought="", response="")
    tally = Tally()
    assert list(transcripts.cleaned([turn], Secrets("refuse"), tally, path)) == []
    fault = tally.first
    assert fault
    assert fault.text.startswith(f"the turn of {at} is left out: its prompt contains what looks like a secret (")
    assert key not in fault.text


def test_a_file_that_is_not_a_transcript_is_refused(path: Path) -> None:
    path.write_bytes(b"\x00binary\n" * 9)
    with pytest.raises(InvalidInputError, match="is not a transcript"):
        over(path)


def test_a_transcript_must_be_below_the_home_after_resolving_links(tmp_path: Path) -> None:
    home, secret = tmp_path / "home", tmp_path / "secret.jsonl"
    home.mkdir()
    secret.touch()
    (home / "link.jsonl").symlink_to(secret)
    os.mkfifo(home / "pipe.jsonl")
    for wrong in (secret, home / "link.jsonl", home / ".." / "secret.jsonl"):
        with pytest.raises(InvalidInputError, match="is not below"):
            transcripts.transcript(str(wrong), home)
    for wrong in (home, home / "pipe.jsonl"):
        with pytest.raises(InvalidInputError, match="is not a file"):
            transcripts.transcript(str(wrong), home)
    for none in (str(home / "none"), "\0", "x" * 5_000):
        with pytest.raises(InvalidInputError, match="cannot be read"):
            transcripts.transcript(none, home)


# the notes of a session ----------------------------------------------------------------------------------------------


def test_each_workspace_has_its_own_notes(tmp_path: Path) -> None:
    notes = SessionNotes(tmp_path / "hooks", "s")
    notes.set_shown(HOME, ["a"])
    notes.set_position("w1", Path("t.jsonl"), ReadPosition(7, "u"))
    assert (notes.shown(HOME), notes.shown(OTHER)) == (["a"], [])
    assert notes.position("w1", Path("t.jsonl")) == ReadPosition(7, "u")
    assert notes.position("w1", Path("other.jsonl")) == notes.position("w2", Path("t.jsonl")) == ReadPosition()
    assert SessionNotes(tmp_path / "hooks", "../s").shown(HOME) == []


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", f'{{"{SHOWN}": 5, "read": {{"w1": {{"path": "t", "offset": "x"}}}}}}']
)
def test_damaged_notes_are_ignored(tmp_path: Path, damaged: str) -> None:
    notes = SessionNotes(tmp_path, "s")
    notes.set_shown(HOME, ["a"])
    (file,) = tmp_path.iterdir()
    file.write_text(damaged)
    assert (notes.shown(HOME), notes.position("w1", Path("t"))) == ([], ReadPosition())
    notes.set_shown(HOME, ["b"])
    assert notes.shown(HOME) == ["b"]


def test_old_notes_are_removed_when_others_are_written(tmp_path: Path) -> None:
    SessionNotes(tmp_path, "old").set_shown(HOME, ["a"])
    (old,) = tmp_path.iterdir()
    os.utime(old, (0, 0))
    SessionNotes(tmp_path, "new").set_shown(HOME, ["b"])
    assert SessionNotes(tmp_path, "old").shown(HOME) == []
    assert len(list(tmp_path.iterdir())) == 1


# the input of hooks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", sorted(path.stem for path in HOOKS.glob("*.json")))
def test_the_input_of_each_client_is_parsed(recorded: str) -> None:
    event = parse((HOOKS / f"{recorded}.json").read_bytes())
    assert event.session == "5f0c1c52-7d3e-4b57-9a55-0c7b6f6f2a01"
    assert event.source in ({"startup", "new"} if recorded.endswith("start") else {""})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "session_id"),
        (b'{"session_id": 5}', "session_id is not a text"),
        (b'{"session_id": " "}', "session_id must be"),
        (b'{"session_id": "s", "transcript_path": {}}', "transcript_path is not a text"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_malformed_input_is_refused_with_the_problem(data: bytes, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        parse(data)
