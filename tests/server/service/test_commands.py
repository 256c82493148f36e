"""Hooks and small commands with a service, which does their work, and without one."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import apsw
import pytest

from memoryd.core.search.briefing import BUDGET, CONTEXT_BUDGET
from memoryd.features.agents import command
from tests.clients import PATIENCE, environment, rows_of
from tests.commands import run as here
from tests.server.service.kit import ON, connected, homes, pid, state

if sys.platform != "win32":
    from memoryd.connect import channel, hook

pytestmark = pytest.mark.process

HOOKS = Path(__file__).parents[2] / "hooks"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with homes(tmp_path_factory) as shared:
        with connected(shared) as wire:
            wire.call("memory_store", content="There is a database.")
        yield shared


SCRIPT = """
import apsw, atexit, sys
opened = []
apsw.connection_hooks.append(lambda connection: opened.append(connection.filename))
atexit.register(lambda: opened and print("opened", opened, file=sys.stderr))
from memoryd.__main__ import main
main()
"""


def ended(home: Path, *arguments: str, stdin: str = "", code: int = 0, **settings: str) -> tuple[str, str]:
    """Return a command's stdout and stderr; stderr also lists the databases that the command itself opened."""
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        input=stdin,
        env=environment(home) | ON | settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert process.returncode == code, process
    return process.stdout, process.stderr


def run(home: Path, *arguments: str, stdin: str = "", code: int = 0) -> str:
    """Return the output of a command, which must open no database."""
    out, errors = ended(home, *arguments, stdin=stdin, code=code)
    assert "opened" not in errors
    return out


def handed(session: str, **more: Any) -> str:
    return json.dumps({"session_id": session, **more})


def test_the_turns_of_a_session_are_kept_once(home: Path) -> None:
    transcript = home / ".claude" / "projects" / "-srv-shop" / "5f0c1c52-7d3e-4b57-9a55-0c7b6f6f2a01.jsonl"
    transcript.parent.mkdir(parents=True)
    shutil.copy(HOOKS / "session.jsonl", transcript)
    for event in ("stop", "stop", "session-end"):
        run(home, "hook", event, stdin=handed(transcript.stem, transcript_path=str(transcript)))
    turns = [row["body"] for row in rows_of(home) if row["kind"] == "interaction"]
    assert len(turns) == len(set(turns)) == 8


def test_a_briefing_has_only_what_the_session_was_not_shown_yet(home: Path) -> None:
    with connected(home) as wire:
        wire.call("memory_store", content="Staging listens on port 5433.", importance=0.9)
    for client, field in (("claude-code", "hookSpecificOutput"), ("cursor", "additional_context")):
        first, second = (
            run(home, "hook", "session-start", "--client", client, stdin=handed(client, source="resume")) for _ in "12"
        )
        assert "5433" in json.dumps(json.loads(first)[field])
        assert "5433" not in second


def test_an_error_of_a_hook_is_one_line(home: Path) -> None:
    given = {
        "longer than 16 MB": ("stop", handed("s", prompt="x" * hook.INPUT)),
        "not JSON": ("stop", "not JSON"),
        "no transcript": ("stop", handed("s")),
        "no session": ("session-start", "{}"),
    }
    for wrong, (event, stdin) in given.items():
        out, errors = ended(home, "hook", event, stdin=stdin, code=1)
        assert (out, len(errors.splitlines())) == ("", 1)
        assert wrong.removeprefix("no ") in errors
    assert run(home, "--read-only", "hook", "stop", stdin=handed("s", transcript_path="/x"), code=1) == ""


@pytest.mark.parametrize("end", [b"", b'{"failed": "The disk is full."}\n'])
def test_a_briefing_is_printed_even_if_it_cannot_be_noted(end: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b'{"print": "A briefing."}\n' + end)
        theirs.shutdown(socket.SHUT_WR)
        request = hook.request_of(["session-start"])
        assert request
        assert hook.run(channel.Lines(ours), request, b"{}") == ""
    printed = capfd.readouterr()
    assert printed.out == "A briefing."
    assert "may repeat this one" in printed.err


def test_the_connector_and_the_command_have_the_same_options() -> None:
    assert set(get_args(command.HookEvent)) == hook.EVENTS
    assert set(get_args(command.HookClient)) == hook.CLIENTS
    assert (BUDGET, str(CONTEXT_BUDGET)) == (hook.BUDGET, hook.DEFAULTS["budget"])


def test_a_prompt_has_its_own_budget() -> None:
    for arguments, budget in ((["prompt-submit"], 300), (["stop"], 800), (["prompt-submit", "--budget", "90"], 90)):
        request = hook.request_of(arguments)
        assert request
        assert request["budget"] == budget
    assert hook.request_of(["--budget", "300"]) is None
    for wrong in ("0", "50001", "9" * 5_000, "-1", "x", ""):
        assert hook.request_of(["stop", "--budget", wrong]) is None, "the command says what is wrong with it"


def test_a_prompt_without_models_or_a_service_gets_no_memories(home: Path, tmp_path: Path) -> None:
    given = handed("s", prompt="Which port does the staging database listen on?")
    for place in (home, tmp_path / "no service"):
        assert run(place, "hook", "prompt-submit", stdin=given) == ""
    assert not (tmp_path / "no service" / "data").exists()
    assert run(home, "hook", "prompt-submit", stdin="not JSON", code=1) == ""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the databases that commands of this process open themselves."""
    found: list[str] = []
    hooks = [*apsw.connection_hooks, lambda connection: found.append(connection.filename)]
    monkeypatch.setattr(apsw, "connection_hooks", hooks)
    return found


def test_commands_use_the_service(home: Path, opened: list[str]) -> None:
    service = pid(home)

    def asked(*arguments: str, code: int = 0) -> str:
        ended = here(home, "--workspace", "commands", *arguments, code=code, **ON)
        return ended.stdout + ended.stderr

    assert "no workspace" in asked("recall", "ferry", code=1)
    stored = asked("store", "The ferry leaves at seven.", "--tag", "ferry")
    assert "seven" in asked("recall", "ferry")
    found = json.loads(asked("recall", "ferry", "--json"))["memories"]
    assert "seven" in asked("context", "ferry")
    assert json.loads(asked("inspect", "--json"))["stats"]["total"] == 1
    short = found[0]["id"][:8]
    assert f"Stored memory {short}.\n" in stored
    assert f"  {short}  " in asked("recall", "ferry")
    assert "seven" in asked("inspect", short)
    assert "--read-only" in asked("--read-only", "store", "No.", code=2)
    assert json.loads(asked("forget", "--tag", "ferry", "--yes", "--json"))["forgotten"] == 1
    assert pid(home) == service
    assert state(home)["clients"] == 1
    assert opened == []
    here(home, "--workspace", "commands", "store", "Without it.", code=0, **ON | {"MEMORY_SERVICE": "off"})
    assert opened


def test_without_a_service_a_hook_opens_the_database_itself(home: Path) -> None:
    _, errors = ended(home, "hook", "session-start", stdin=handed("s", source="startup"), MEMORY_SERVICE="off")
    assert "opened" in errors
