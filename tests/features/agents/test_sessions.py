"""What hooks do at the end of a session and in a new workspace, and what they leave alone when they are silenced."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients import rows_of
from tests.commands import Ended, process, run
from tests.conftest import Open
from tests.features.agents.test_hook import (
    ANSWERS,
    ASKED,
    HOOKS,
    SESSION,
    briefing,
    handed,
    line,
    projects,
    recorded,
    remember,
    transcript,
    turns,
)

__all__ = ["projects", "transcript"]  # fixtures


def test_the_end_of_a_codex_session_keeps_its_last_turn_and_a_summary(home: Path) -> None:
    given = handed("session-end", recorded(home, "codex"), "codex")
    run(home, "hook", "session-end", "--client", "codex", stdin=given)
    assert turns(home) == ANSWERS
    assert sum(row["kind"] == "summary" for row in rows_of(home)) == 1


def test_a_session_whose_last_prompt_was_interrupted_ends_with_a_summary(home: Path, transcript: Path) -> None:
    calling = line("assistant", "a2", [{"type": "tool_use", "name": "Bash", "id": "t", "input": {}}], "tool_use")
    begun = '{"type": "user",\n' + line("user", "u1", "Which port?") + line("assistant", "a1", "5433.")
    asked = begun, line("user", "u2", "Try it."), calling
    transcript.write_text(begun)
    quiet: dict[str, Any] = {"last_assistant_message": None}
    assert "1 line" in run(home, "hook", "stop", stdin=handed("stop", transcript, **quiet), code=1).stderr
    transcript.write_text("".join(asked))
    run(home, "hook", "pre-compact", stdin=handed("stop", transcript, **quiet))
    assert [row["kind"] for row in rows_of(home)] == ["interaction"]
    run(home, "hook", "session-end", stdin=handed("session-end", transcript))
    assert sorted(row["kind"] for row in rows_of(home)) == ["interaction", "summary"]


def test_a_session_without_a_finished_turn_leaves_nothing(home: Path, transcript: Path) -> None:
    calling = line("assistant", "a1", [{"type": "tool_use", "name": "Bash", "id": "t", "input": {}}], "tool_use")
    transcript.write_text(line("user", "u1", "Try it.") + calling)
    run(home, "hook", "session-end", stdin=handed("session-end", transcript))
    assert not list(home.rglob("memory.db"))


def test_the_turns_of_a_subagent_are_kept_in_the_session_that_started_it(home: Path, transcript: Path) -> None:
    lines = (HOOKS / "session.jsonl").read_text().splitlines(keepends=True)
    transcript.write_text("".join(lines[:12]))
    own = transcript.parent / SESSION / "subagents" / "agent-b1c2.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text("".join(line for line in lines if '"agentId":"b1c2"' in line))
    given = {"agent_transcript_path": str(own), "last_assistant_message": "Found none besides."}
    for event, more in (("stop", {}), ("subagent-stop", given), ("subagent-stop", given), ("session-end", {})):
        run(home, "hook", event, stdin=handed(event, transcript, **more))
    asked = [("Search all files for ports.", "Found none besides."), (ASKED["mem_u1"], "Staging listens on port 5433.")]
    assert sorted(turns(home)) == asked
    assert {row["session_id"] for row in rows_of(home)} == {SESSION}


def test_codex_has_one_name_and_one_session_whether_it_calls_or_runs_a_hook(home: Path, wire: Open) -> None:
    path = recorded(home, "codex")
    run(home, "hook", "stop", "--client", "codex", stdin=handed("stop", path, "codex"))
    session = json.loads(path.read_text().partition("\n")[0])["payload"]["id"]
    server, configured = wire(), wire(MEMORY_MCP_SESSION_ID="mine")
    for number, one in enumerate((server, configured)):
        one.handshake(name="codex-mcp-client", version="0.169.0")
        turn = {"session_id": session, "thread_id": f"{session}-of-a-subagent", "turn_id": "t1"}
        one.call("memory_store", {"x-codex-turn-metadata": turn}, content=f"Fact number {number}.")
    assert {row["client"] for row in rows_of(home)} == {"codex"}
    assert {row["session_id"] for row in rows_of(home)} == {f"codex:{session}", "mine"}


@pytest.mark.process
@pytest.mark.parametrize("runs", [run, process])
def test_a_variable_silences_all_hooks(home: Path, transcript: Path, runs: Callable[..., Ended]) -> None:
    remember(home, "Staging listens on port 5433.")
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    for event in ("session-start", "stop", "pre-compact", "session-end"):
        ended = runs(home, "hook", event, stdin=handed(event, transcript), MEMORY_HOOKS="off")
        assert (ended.stdout, ended.stderr) == ("", "")
    assert [row["kind"] for row in rows_of(home)] == ["memory"]


def test_a_briefing_tells_of_a_new_workspace_which_may_be_a_typing_error(home: Path) -> None:
    wrong, new = ("claude-code", "--workspace", "shpo"), "The workspace 'shpo' is new. There are: "
    run(home, "store", "Of shop.", "--workspace", "shop")
    assert briefing(home, "startup", *wrong).endswith(f"{new}shop.")
    assert briefing(home, "resume", *wrong) == ""
    run(home, "store", "Of shpo.", "--workspace", "shpo")
    assert new not in briefing(home, "startup", *wrong)
