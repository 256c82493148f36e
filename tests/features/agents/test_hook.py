"""`memoryd hook` as a coding agent runs it, and `memoryd import --from claude-code`, with the results read over MCP."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.features.agents import command as cli_hook
from memoryd.settings import Settings
from tests import forks
from tests.clients import PATIENCE, Agent, environment, rows_of
from tests.commands import Ended, process, run
from tests.conftest import Open, Start

HOOKS = Path(__file__).parents[2] / "hooks"
SESSION = "5f0c1c52-7d3e-4b57-9a55-0c7b6f6f2a01"

ASKED = {
    "mem_u1": "Which port does staging use?",
    "mem_u2": "Grüße auf Japanisch? 挨拶 \N{GRINNING FACE}",
    "mem_c5": "/review the last commit",
    "mem_u3": "Convert the prices.\n\n[image]\n\nAnd to euros, please.",
    "mem_u4": "Deploy it.\n\nDeploy it now.",
    "mem_u6": "Run the tests in the background.",
    "mem_w1": "Run the tests in the background.",
    "mem_w2": "Run the tests in the background.",
}
"""The finished turns of session.jsonl."""


@pytest.fixture
def projects(home: Path) -> Path:
    directory = home / ".claude" / "projects" / "-srv-shop"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def transcript(projects: Path) -> Path:
    return Path(projects / f"{SESSION}.jsonl")


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep hooks from ending the process, which is the test's here."""
    for limit in ("ASKING", "READING"):
        monkeypatch.setattr(cli_hook, limit, PATIENCE)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


def handed(event: str, transcript: Path | str = "", client: str = "claude-code", **more: Any) -> str:
    """Return what a client sends to its hook."""
    recorded: dict[str, Any] = json.loads((HOOKS / f"{client}-{event}.json").read_text())
    if recorded.get("transcript_path"):
        recorded["transcript_path"] = str(transcript)
    return json.dumps(recorded | more)


def hook(
    home: Path,
    event: str,
    transcript: Path,
    *arguments: str,
    code: int = 0,
    runs: Callable[..., Ended] = run,
    **more: Any,
) -> Ended:
    """Run a hook that stores turns: it prints nothing, or one line of error."""
    ended = runs(home, "hook", event, *arguments, stdin=handed(event, transcript, **more), code=code)
    assert (ended.stdout, ended.stderr.count("\n")) == ("", code)
    return ended


def kept(agent: Agent, session: str = SESSION) -> dict[str, str]:
    """Return the prompts of a session, by id."""
    memories = agent.ok("get_session_memories", sessionId=session)["memories"]
    return {memory["id"]: memory["prompt"] for memory in memories}


def remember(home: Path, *texts: str) -> None:
    """Store memories directly, without a process."""
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        for text in texts:
            Memories(Scope(engine, engine.workspace(make=True))).store(text)


def line(kind: str, uuid: str, content: object, stop_reason: str = "end_turn") -> str:
    message = {"role": kind, "id": f"msg_{uuid}", "content": content, "stop_reason": stop_reason}
    value = {"type": kind, "uuid": uuid, "timestamp": "2026-03-04T10:00:00Z", "sessionId": SESSION, "message": message}
    return json.dumps(value) + "\n"


# storing turns -------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_the_turns_of_a_session_are_kept_once_and_found_over_mcp(home: Path, transcript: Path, start: Start) -> None:
    data = (HOOKS / "session.jsonl").read_bytes()
    first = data.index(b'{"parentUuid":"a5"')  # when the agent stops for the first time
    transcript.write_bytes(data[:first])
    hook(home, "stop", transcript, runs=process, last_assistant_message="Staging listens on port 5433.")
    agent = start("--toolsets", "journal")
    (turn,) = agent.ok("get_session_memories", sessionId=SESSION)["memories"]
    assert turn == {
        "id": "mem_u1",
        "sessionId": SESSION,
        "timestamp": "2026-03-04T09:00:01.001Z",
        "type": "agent-interaction",
        "prompt": "Which port does staging use?",
        "thought": "The compose file will tell.\n\nI look into the compose file.\n\nSo it is 5433.",
        "response": "Staging listens on port 5433.",
    }
    transcript.write_bytes(data)
    for event in ("pre-compact", "stop", "session-end", "stop"):
        hook(home, event, transcript)
    assert kept(agent) == ASKED
    found = agent.ok("query_raw_memories", query="staging port")
    assert [memory["id"] for memory in found["results"]][:1] == ["mem_u1"]


@pytest.mark.parametrize("how", ["forget", "purge"])
def test_a_removed_turn_does_not_come_back_when_it_is_read_again(
    home: Path, transcript: Path, start: Start, how: str
) -> None:
    transcript.write_text(line("user", "u1", "My card ends in 4711.") + line("assistant", "a1", "Noted."))
    hook(home, "stop", transcript)
    agent = start("--toolsets", "recall,journal")
    run(home, how, "mem_u1", "--yes")
    with transcript.open("a") as file:
        file.write(line("user", "u2", "Forget that.") + line("assistant", "a2", "Done."))
    hook(home, "stop", transcript)
    assert list(kept(agent)) == ["mem_u2"]
    run(home, "import", "--from", "claude-code", str(transcript))
    assert list(kept(agent)) == ["mem_u2"]


@pytest.mark.process
def test_concurrent_hooks_and_a_writing_server_duplicate_nothing(home: Path, transcript: Path, start: Start) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    agent = start("--toolsets", "journal")
    done = threading.Event()

    def write() -> int:
        number = 0
        while not done.is_set():
            agent.ok("add_memory", prompt=f"Question {number}", thought="Hm", response="Answer", sessionId="server")
            number += 1
        return number

    with ThreadPoolExecutor(4) as pool:
        writing = pool.submit(write)
        events = [pool.submit(hook, home, event, transcript, runs=process) for event in ("stop", "stop", "pre-compact")]
        for event in events:
            event.result()
        done.set()
        number = writing.result()
    assert kept(agent) == ASKED
    assert agent.ok("get_session_memories", sessionId="server", limit=1)["total"] == number > 0


def test_a_session_that_is_resumed_under_another_id_repeats_no_turn(home: Path, transcript: Path) -> None:
    transcript.write_bytes((HOOKS / "resumed.jsonl").read_bytes())
    hook(home, "stop", transcript)
    again = transcript.with_name("again.jsonl")
    more = line("user", "u10", "More?") + line("assistant", "a10", "No.")
    again.write_bytes((transcript.read_bytes() + more.encode()).replace(SESSION.encode(), b"again"))
    hook(home, "stop", again, session_id="again")
    second = "9b2e7a10-1c44-4e0f-8d21-3b1d8c9e5b02"
    assert {row["id"]: row["session_id"] for row in rows_of(home)} == {
        "mem_u1": SESSION,
        "mem_u8": second,
        "mem_u9": second,
        "mem_u10": "again",
    }


def test_each_workspace_keeps_what_its_own_hooks_read(home: Path, transcript: Path, start: Start) -> None:
    transcript.write_text(line("user", "u", "Which port?") + line("assistant", "a", "5433."))
    hook(home, "stop", transcript, "--workspace", "shop")
    assert rows_of(home) == []
    hook(home, "stop", transcript)
    assert [row["id"] for row in rows_of(home)] == ["mem_u"]
    assert list(kept(start("--toolsets", "journal", "--workspace", "shop"))) == ["mem_u"]


def test_the_tools_and_hooks_of_one_conversation_share_its_session(home: Path, transcript: Path, wire: Open) -> None:
    transcript.write_text(line("user", "u", "Which port?") + line("assistant", "a", "5433."))
    given = {"CLAUDE_CODE_SESSION_ID": SESSION}
    hook(home, "stop", transcript)
    agent, nested, configured = wire(**given), wire(**given), wire(**given, MEMORY_MCP_SESSION_ID="mine")
    agent.handshake(name="claude-code", version="2.1.330")
    nested.handshake(name="gemini-cli-mcp-client")  # started in the agent's shell, so it inherits its variables
    configured.handshake(name="claude-code")
    for number, one in enumerate((agent, nested, configured)):
        one.call("memory_store", content=f"Fact number {number} of this conversation.")
    sessions = {row["body"][:13]: row["session_id"] for row in rows_of(home)}
    assert {sessions["Which port?\n\n"], sessions["Fact number 0"]} == {SESSION}
    assert sessions["Fact number 1"] not in ("", SESSION)
    assert sessions["Fact number 2"] == "mine"


def test_bad_lines_are_reported_in_one_line_and_the_rest_is_kept(home: Path, transcript: Path) -> None:
    transcript.write_text(line("user", "u", "Which port?") + "torn\n" * 3 + line("assistant", "a", "5433."))
    stderr = hook(home, "stop", transcript, code=1).stderr
    assert f"3 lines or turns of {transcript} could not be stored; the first: a line is not JSON" in stderr
    assert [row["id"] for row in rows_of(home)] == ["mem_u"]


# errors never block --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["hook"], "", "EVENT"),
        (["hook", "stop", "--frobnicate"], "", "--frobnicate"),
        (["hook", "stop"], "", "not JSON"),
        (["hook", "stop"], handed("stop", ""), "has no transcript_path"),
        (["hook", "stop"], handed("stop", "/etc/passwd"), "is not below"),
        (["hook", "stop", "--client", "vscode"], handed("stop", ""), "vscode cannot be read"),
        (["--read-only", "hook", "stop"], handed("stop", ""), "--read-only"),
        (["hook", "stop", "--workspace", " "], handed("stop", "~/.profile"), "is not a valid workspace name"),
    ],
)
def test_every_error_is_one_line_and_never_the_exit_code_that_blocks(
    home: Path, arguments: Sequence[str], stdin: str, message: str
) -> None:
    home.mkdir()
    (home / ".profile").touch()
    ended = run(home, *arguments, stdin=stdin, code=1)
    assert message in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n")) == ("", 1)


@pytest.mark.files
def test_wrong_settings_and_a_broken_database_block_nothing_either(home: Path, transcript: Path) -> None:
    transcript.write_text(line("user", "u", "Which port?") + line("assistant", "a", "5433."))
    wrong = run(home, "hook", "stop", stdin=handed("stop", transcript), code=1, MEMORY_PORT="x")
    broken = run(home, "hook", "stop", stdin=handed("stop", transcript), code=1, MEMORY_DB_PATH=str(transcript))
    assert (wrong.stderr.count("\n"), broken.stderr.count("\n")) == (1, 1)
    assert "MEMORY_PORT" in wrong.stderr
    assert transcript.read_text().startswith('{"type"')


@pytest.mark.process
def test_without_a_client_the_error_says_how_to_run_it(home: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        command = [sys.executable, "-m", "memoryd", "hook", "stop"]
        ended = forks.run(
            command, stdin=theirs, env=environment(home), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "docs/hooks.md" in ended.stderr


@pytest.mark.process
def test_an_unexpected_error_is_one_line_too(home: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.stdin = object()\n")  # caused by other software
    command = [sys.executable, "-m", "memoryd", "hook", "session-start"]
    ended = subprocess.run(
        command,
        env=environment(home) | {"PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stderr.count(b"\n")) == (1, 1)
    assert ended.stderr.startswith(b"memoryd: AttributeError")


# other agents --------------------------------------------------------------------------------------------------------

PLACES = {
    "codex": ".codex/sessions/2026/03/04/rollout-2026-03-04T09-00-00-s.jsonl",
    "gemini": ".gemini/tmp/shop/chats/session-2026-03-04T09-00-s.jsonl",
    "cursor": ".cursor/projects/srv-shop/agent-transcripts/c1/c1.jsonl",
    "opencode": ".local/share/memoryd-opencode/ses_9.json",
}
"""Where each client keeps its transcripts."""
ANSWERS = [("Which port does staging use?", "Staging listens on port 5433."), ("And production?", "6000.")]


def recorded(home: Path, client: str) -> Path:
    path = home / PLACES[client]
    path.parent.mkdir(parents=True)
    path.write_bytes((HOOKS / f"{client}.jsonl").read_bytes())
    return path


def turns(home: Path) -> list[tuple[str, str]]:
    rows = [(row, row["body"].split("\n\n")) for row in rows_of(home) if row["kind"] == "interaction"]
    return [(words[0], words[-1]) for row, words in sorted(rows, key=lambda one: one[0]["created_at"])]


@pytest.mark.parametrize("client", PLACES)
def test_the_turns_of_other_agents_are_kept_and_an_import_adds_none(home: Path, client: str) -> None:
    path = recorded(home, client)
    event = "session-end" if client == "cursor" else "stop"  # Cursor's stop event lacks the last message
    result = run(home, "hook", event, "--client", client, stdin=handed("stop", path, client))
    assert (result.stdout, result.stderr) == ("", "")
    assert turns(home) == ANSWERS
    (thoughts,) = {
        row["body"].split("\n\n")[1]
        for row in rows_of(home)
        if "staging" in row["body"] and row["kind"] == "interaction"
    }
    assert "compose file" in thoughts or client == "cursor"
    run(home, "import", path, "--yes", "--no-vectors")
    assert turns(home) == ANSWERS
    assert {row["client"] for row in rows_of(home)} == {client}
    assert {row["session_id"].partition(":")[0] for row in rows_of(home)} == {client}


@pytest.mark.parametrize("client", sorted(PLACES.keys() - {"opencode"}))  # which writes its file after the answer
def test_a_turn_of_another_agent_that_may_go_on_is_left_for_the_next_hook(home: Path, client: str) -> None:
    path = recorded(home, client)
    whole = path.read_bytes()
    *before, last = whole.splitlines(keepends=True)
    if client == "codex":
        before.pop()  # the same message as an event
    path.write_bytes(b"".join(before) + last[: len(last) // 2])  # the agent is writing
    quiet = {"last_assistant_message": None, "prompt_response": None}
    given = [client, "--client", client]
    run(home, "hook", "stop", *given[1:], stdin=handed("stop", path, client, **quiet))
    assert turns(home) == ANSWERS[:1]
    path.write_bytes(whole)
    run(home, "hook", "pre-compact", *given[1:], stdin=handed("stop", path, client, **quiet))
    assert turns(home) == ANSWERS[:1]
    for _ in range(2):
        run(home, "hook", "session-end", *given[1:], stdin=handed("stop", path, client, **quiet))
    assert turns(home) == ANSWERS
    assert sum(row["kind"] == "summary" for row in rows_of(home)) == 1


def test_the_client_is_recognized_by_its_transcript(home: Path) -> None:
    """Cursor and VS Code also run the hooks in Claude Code's files."""
    run(home, "hook", "stop", stdin=handed("stop", recorded(home, "codex"), "codex"))
    assert {row["client"] for row in rows_of(home)} == {"codex"}


def test_a_torn_line_of_another_agent_is_reported_and_the_rest_is_kept(home: Path) -> None:
    path = recorded(home, "codex")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\ntorn\n", 3))
    stderr = run(home, "hook", "stop", "--client", "codex", stdin=handed("stop", path, "codex"), code=1).stderr
    assert "3 lines or turns of" in stderr
    assert turns(home) == ANSWERS


# briefings -----------------------------------------------------------------------------------------------------------


def briefing(home: Path, source: str = "startup", client: str = "claude-code", *arguments: str) -> str:
    """Return the briefing at the start of a session; '' if nothing is printed."""
    given = handed("session-start", client=client, source=source)
    result = run(home, "hook", "session-start", "--client", client, *arguments, stdin=given)
    assert result.stderr == ""
    if not result.stdout:
        return ""
    output = json.loads(result.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    return str(output["additionalContext"])


@pytest.mark.files
def test_without_a_memory_nothing_is_printed_or_created(home: Path) -> None:
    assert briefing(home) == ""
    assert not (home / "data").exists()


def test_a_briefing_has_only_what_the_session_has_not_seen_yet(home: Path) -> None:
    remember(home, "Staging listens on port 5433.")
    assert "port 5433" in briefing(home)
    assert briefing(home, "resume") == ""
    remember(home, "Production listens on port 6000.")
    news = briefing(home, "resume")
    assert "6000" in news
    assert "5433" not in news
    assert "5433" in briefing(home, "compact")  # its context is gone, and the briefing with it


def test_a_briefing_keeps_to_its_budget_and_counts_as_no_recall(home: Path) -> None:
    remember(home, *(f"Fact {number}: " + "words and more words " * 8 for number in range(4)))
    assert len(briefing(home, "startup", "claude-code", "--budget", "80")) <= 4 * 80
    assert briefing(home, "startup", "claude-code", "--budget", "5") == ""
    assert {row["access_count"] for row in rows_of(home, "memory_details")} == {0}


def test_a_briefing_names_the_workspace_of_the_project(home: Path, tmp_path: Path) -> None:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / ".memoryd").write_text('workspace = "shop"')

    def briefed(source: str = "startup", project: str = "") -> str:
        given = handed("session-start", source=source, cwd=str(directory))
        printed = run(
            home, "hook", "session-start", stdin=given, MEMORY_WORKSPACE="auto", CLAUDE_PROJECT_DIR=project
        ).stdout
        return json.loads(printed)["hookSpecificOutput"]["additionalContext"] if printed else ""

    remember(home, "Of the default workspace.")
    declared = f"declared by {directory / '.memoryd'}."
    assert briefed().endswith(f"\n\nThis directory has no workspace yet: its first memory makes one, {declared}")
    run(home, "store", "I write in British English.", "--workspace", "personal")
    assert f"its first memory makes one, {declared}" in (about_user := briefed())
    assert "British" in about_user
    run(home, "store", "Staging listens on port 5433.", MEMORY_WORKSPACE="auto", MEMORY_PROJECT_DIR=str(directory))
    assert f'\n\nWorkspace "shop": {declared}\n\n' in (first := briefed())
    assert ("5433" in first, "default" in first) == (True, False)
    assert briefed("resume") == ""
    assert 'Workspace "default": the default, as ' in briefed(project=str(home)), "the client's own variable"


def test_turns_go_to_the_workspace_of_the_project(home: Path, transcript: Path, tmp_path: Path) -> None:
    (tmp_path / ".memoryd").write_text('workspace = "shop"')
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    hook(home, "session-end", transcript, "--workspace", "auto", cwd=str(tmp_path))
    shown = run(home, "inspect", "--workspace", "shop", "--json").stdout
    assert json.loads(shown)["stats"]["kinds"]["interaction"] == len(ASKED)


def test_briefings_have_the_same_form_for_all_clients_but_cursor(home: Path) -> None:
    remember(home, "Staging listens on port 5433.")
    assert "port 5433" in briefing(home, client="codex")
    assert "port 5433" in briefing(home, client="gemini")
    given = json.dumps({"conversation_id": "c1", "hook_event_name": "sessionStart"})
    result = run(home, "hook", "session-start", "--client", "cursor", stdin=given)
    assert "port 5433" in json.loads(result.stdout)["additional_context"]


# import --------------------------------------------------------------------------------------------------------------


def test_all_transcripts_below_a_directory_are_imported_once(home: Path, projects: Path, transcript: Path) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    (projects / "short.jsonl").write_text(line("user", "u", "Which port?") + line("assistant", "a", "5433."))
    hook(home, "stop", projects / "short.jsonl")
    script = json.loads(run(home, "import", "--from", "claude-code", projects.parent, "--json").stdout)
    assert (script["found"], script["workspaces"][0]["new"], script["faults"]) == ({"turns": 9}, {"turns": 8}, 0)
    output = run(home, "import", "--from", "claude-code", projects.parent).stdout
    assert ["turns", "9", "0", "9"] in [row.split() for row in output.splitlines()]
    assert "Omitted: 1 turns that seem unfinished, left for the next import." in output
    assert {row["id"] for row in rows_of(home)} == {*ASKED, "mem_u"}


def test_a_transcript_alone_is_recognized_and_imported(home: Path, transcript: Path) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    assert "transcripts of Claude Code" in run(home, "import", transcript, "--dry-run").stdout
    run(home, "import", transcript, "--yes")
    assert {row["id"] for row in rows_of(home)} == set(ASKED)


def test_an_unfinished_turn_of_an_old_transcript_counts_as_finished(home: Path, transcript: Path) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    os.utime(transcript, (0, 0))
    run(home, "import", "--from", "claude-code", transcript.parent)
    assert {row["id"] for row in rows_of(home)} == {*ASKED, "mem_u7"}


def test_a_bad_line_is_reported_with_its_file_and_the_command_fails_though_the_rest_is_imported(
    home: Path, projects: Path
) -> None:
    bad = projects / "bad.jsonl"
    bad.write_text(line("user", "u", "Which port?") + "torn\n" + line("assistant", "a", "5433."))
    result = run(home, "import", "--from", "claude-code", projects, code=1)
    assert f"{bad.name}, line 2 is not JSON" in result.stderr
    assert [row["id"] for row in rows_of(home)] == ["mem_u"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "--from", "claude-code", "{home}/none"], "There is no file"),
        (["--read-only", "import", "--from", "claude-code", "{home}"], "--read-only"),
        (["import", "--from", "claude", "{home}"], "claude-code"),
    ],
)
def test_invalid_imports_are_reported_and_nothing_is_written(home: Path, arguments: list[str], message: str) -> None:
    given = [one.format(home=home) for one in arguments]
    ended = run(home, *given, code=2)
    assert message in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n")) == ("", 1)
    assert not (home / "data").exists()
