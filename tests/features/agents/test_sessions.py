"""What a hook does at the end of a session, and what it leaves alone when it is silenced."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients import rows_of
from tests.commands import Ended, process, run
from tests.features.agents.test_hook import ANSWERS, HOOKS, handed, projects, recorded, remember, transcript, turns

__all__ = ["projects", "transcript"]  # fixtures


def test_the_end_of_a_codex_session_keeps_its_last_turn_and_a_summary(home: Path) -> None:
    given = handed("session-end", recorded(home, "codex"), "codex")
    run(home, "hook", "session-end", "--client", "codex", stdin=given)
    assert turns(home) == ANSWERS
    assert sum(row["kind"] == "summary" for row in rows_of(home)) == 1


@pytest.mark.process
@pytest.mark.parametrize("runs", [run, process])
def test_a_variable_silences_all_hooks(home: Path, transcript: Path, runs: Callable[..., Ended]) -> None:
    remember(home, "Staging listens on port 5433.")
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    for event in ("session-start", "stop", "pre-compact", "session-end"):
        ended = runs(home, "hook", event, stdin=handed(event, transcript), MEMORY_HOOKS="off")
        assert (ended.stdout, ended.stderr) == ("", "")
    assert [row["kind"] for row in rows_of(home)] == ["memory"]
