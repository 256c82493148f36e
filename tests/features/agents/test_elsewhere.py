"""Hooks on a memoryd at a URL: the same briefing, recall and turns, and nothing lost while it is away."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.memories import prompted
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.features.agents import command as cli_hook
from memoryd.features.agents import requests, routes
from memoryd.features.agents.spool import ServerSpool, SpooledTurns
from memoryd.model import Interaction
from memoryd.posting import HookServer
from tests.clients import PATIENCE, until
from tests.commands import Ended, process, run
from tests.features.agents.test_hook import ASKED, HOOKS, SESSION, _unhurried, handed, projects, transcript
from tests.http import HttpServer, HttpThread, bearer, beside, free_port, granted, serving
from tests.services import served

__all__ = ["_unhurried", "projects", "transcript"]  # fixtures

FACT = "The staging database of the shop listens on port 5433."
QUESTION = "Which port does the staging database listen on? I want to connect to it."


@pytest.fixture
def server(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpThread]:
    """Return a server on another machine, as far as files go, with a workspace `team` that includes `private`."""
    home.mkdir(exist_ok=True)
    with serving(tmp_path_factory.mktemp("server")) as one:
        with beside(one) as engine:
            remember(engine, "team", FACT)
            remember(engine, "private", "The safe opens with 4711.")
            engine.workspaces.include("team", ["private"])
        yield one


def remember(engine: Engine, workspace: str, text: str) -> None:
    Memories(Scope(engine, engine.workspaces.ensure(workspace))).store(text)


def to(server: HttpServer, workspace: str = "team") -> tuple[str, ...]:
    return ("--http", f"{server.url}/mcp", "--workspace", workspace, "--token-variable", "TEAM_TOKEN")


def hook(
    home: Path, event: str, at: HttpServer, token: str, code: int = 0, runs: Callable[..., Ended] = run, **given: str
) -> Ended:
    path = next((home / ".claude").rglob("*.jsonl"), "")
    stdin = json.dumps({"session_id": SESSION, **given}) if event == "prompt-submit" else handed(event, path, **given)
    ended = runs(home, "hook", event, *to(at), stdin=stdin, code=code, TEAM_TOKEN=token)
    assert ended.stderr.count("\n") == code
    return ended


def context(ended: Ended) -> str:
    return str(json.loads(ended.stdout)["hookSpecificOutput"]["additionalContext"]) if ended.stdout else ""


def rows(server: HttpServer, kind: str = "interaction") -> list[str]:
    """Return the ids of the records of a kind in the workspace `team`."""
    with beside(server) as engine:
        found = engine.store.read(
            engine.workspaces.ensure("team"), lambda q: q.all("moved.records_first", limit=100_000)
        )
    return sorted(row["id"] for row in found if row["kind"] == kind)


@pytest.mark.process
@pytest.mark.parametrize("runs", [run, process])
def test_a_session_is_briefed_once_and_its_turns_are_kept_on_the_server(
    home: Path, server: HttpThread, transcript: Path, runs: Callable[..., Ended]
) -> None:
    token = granted(server, "laptop", "write")
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    first = hook(home, "session-start", server, token, runs=runs)
    assert FACT in context(first)
    assert "4711" in context(first)
    until(lambda: not hook(home, "session-start", server, token, runs=runs, source="resume").stdout, "the note")
    for event in ("session-end", "stop", "pre-compact", "stop"):
        assert hook(home, event, server, token, runs=runs).stdout == ""
    assert rows(server) == sorted(ASKED)
    assert len(rows(server, "summary")) == 1
    assert not (home / "data" / "memory.db").exists(), "nothing is stored on this machine"
    assert not list((home / "data" / "spool").rglob("*.json"))


def test_a_prompt_gets_what_bears_on_it(
    home: Path, tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((prompted, "READY"), (requests, "PROMPTED")):
        monkeypatch.setattr(module, name, PATIENCE)
    home.mkdir(exist_ok=True)
    with serving(
        tmp_path, MEMORY_EMBEDDER="bundled", MEMORY_RERANKER="bundled", MEMORY_MODEL_DIR=str(model_dir)
    ) as one:
        with beside(one) as engine:
            remember(engine, "team", FACT)
        monkeypatch.setattr(cli_hook, "ASKING", PATIENCE)
        token = granted(one, "laptop", "read")
        assert FACT in context(hook(home, "prompt-submit", one, token, prompt=QUESTION))
        until(lambda: not hook(home, "prompt-submit", one, token, prompt=QUESTION).stdout, "the note")
        assert hook(home, "prompt-submit", one, token, prompt="Thanks, go on.", session_id="other").stdout == ""


@pytest.mark.process
@pytest.mark.parametrize("runs", [run, process])
def test_while_a_server_is_away_nothing_is_lost_and_nothing_blocks(
    home: Path, tmp_path: Path, transcript: Path, runs: Callable[..., Ended]
) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    port = free_port()
    away = HttpServer(f"http://127.0.0.1:{port}", {})
    assert "does not answer" in hook(home, "session-start", away, "t", code=1, runs=runs).stderr
    silent = hook(home, "prompt-submit", away, "t", runs=runs, prompt=QUESTION)
    assert (silent.stdout, silent.stderr) == ("", "")
    for event in ("stop", "session-end"):
        assert "The turns wait in" in hook(home, event, away, "t", code=1, runs=runs).stderr
    with serving(tmp_path, "--port", str(port)) as back:
        with beside(back) as engine:
            remember(engine, "team", FACT)
        assert "401: It takes valid tokens only." in hook(home, "stop", back, "wrong", code=1, runs=runs).stderr
        assert rows(back) == []
        token = granted(back, "laptop", "write")
        hook(home, "stop", back, token, runs=runs)
        assert rows(back) == sorted(ASKED)
        assert not list((home / "data" / "spool").rglob("*.json"))


def test_a_token_gives_no_more_than_its_rights(home: Path, server: HttpThread, transcript: Path) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    with beside(server) as engine:
        team, private = (engine.workspaces.ensure(name).name for name in ("team", "private"))
    reader, bound = granted(server, "reader", "read"), granted(server, "bound", "write", workspace=team)
    assert FACT in context(hook(home, "session-start", server, reader))
    refused = hook(home, "stop", server, reader, code=1).stderr
    assert "403: This token does not allow add_memory." in refused
    assert rows(server) == []
    seen = context(hook(home, "session-start", server, bound))
    assert FACT in seen, "of another principal, although the session's id is the same"
    assert "4711" not in seen, "of a workspace that the token does not see"
    elsewhere_bound = granted(server, "elsewhere", "write", workspace=private)
    assert "bound to a workspace other than team" in hook(home, "stop", server, elsewhere_bound, code=1).stderr
    hook(home, "stop", server, bound)
    assert rows(server) == sorted(ASKED)


def test_a_read_only_server_keeps_no_turns(home: Path, tmp_path: Path, transcript: Path) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    with serving(tmp_path) as one, beside(one) as engine:
        remember(engine, "team", FACT)
    with serving(tmp_path, "--read-only") as one:
        answer = one.request("POST", routes.PATH, json=posted(), headers={"X-Memory-Workspace": "team"})
    assert (answer.status_code, "--read-only" in answer.json()["error"]) == (400, True)


def posted(**turn: object) -> dict[str, object]:
    usual = {"id": "mem_1", "session_id": "s", "created_at": "2026-03-04T10:00:00Z", "prompt": "Why?", "thought": ""}
    return {"event": "turns", "client": "claude-code", "turns": [{**usual, "response": "So.", **turn}]}


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ({"event": "stop", "client": "codex", "budget": 1, "input": "{}", "home": "/"}, 400, "are: session-start"),
        ({"event": "session-start"}, 400, "not the request of a hook"),
        ({"event": "session-start", "client": "codex", "budget": 9, "input": "[]"}, 400, "not a JSON object"),
        (posted(created_at="yesterday"), 400, "is not an ISO 8601 time"),
        (posted(id=""), 400, "turns.0.id"),
        (posted(session_id="s" * 300), 400, "turns.0.session_id"),
        (posted(tags=["x"]), 400, "turns.0.tags"),
        ({**posted(), "turns": []}, 400, "turns: "),
        (posted(), 200, ""),
        (posted(prompt="half \ud83d and \0"), 200, ""),
    ],
)
@pytest.mark.slow
def test_what_is_posted_is_checked(server: HttpThread, body: object, status: int, problem: str) -> None:
    headers = {"X-Memory-Workspace": "team", "Content-Type": "application/json"}
    answer = server.request("POST", routes.PATH, content=json.dumps(body), headers=headers)
    assert answer.status_code == status, answer.text
    assert problem in answer.text


def test_a_workspace_must_be_named_and_exist(server: HttpThread) -> None:
    assert server.request("POST", routes.PATH, json=posted()).status_code == 400
    missing = server.request("POST", routes.PATH, json=posted(), headers={"X-Memory-Workspace": "nowhere"})
    assert (missing.status_code, missing.json()["error"]) == (404, "Workspace not found: nowhere")
    granted(server, "laptop", "write")
    locked = server.request("POST", routes.PATH, json=posted(), headers=bearer("no", X_Memory_Workspace="team"))
    assert locked.status_code == 401


def test_a_redirection_gets_no_token(home: Path, transcript: Path) -> None:
    transcript.write_bytes((HOOKS / "session.jsonl").read_bytes())
    asked: list[str] = []

    def answer(path: str, _body: object) -> tuple[int, object]:
        asked.append(path)
        return 307, "/elsewhere"

    with served(answer) as url:
        assert "answered 307" in hook(home, "stop", HttpServer(url, {}), "t", code=1).stderr
    assert asked == ["/mcp/hooks"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--http", "memory.example.org"), "is not the URL of a server"),
        (("--http", "http://[::1/mcp"), "is not the URL of a server"),
        (("--http", "http://127.0.0.1:9/mcp", "--token-variable", "ODD"), "ODD holds is no token"),
        (("--http", "http://127.0.0.1:9/mcp", "--token-variable", "NOT_SET"), "NOT_SET"),
        (("--http", "http://127.0.0.1:9/mcp", "--workspace", "auto"), "name a --workspace"),
    ],
)
@pytest.mark.parametrize("runs", [run, process])
@pytest.mark.process
def test_what_cannot_work_is_explained(
    home: Path, transcript: Path, options: tuple[str, ...], problem: str, runs: Callable[..., Ended]
) -> None:
    for event in ("session-start", "stop"):
        ended = runs(home, "hook", event, *options, stdin=handed(event, transcript), code=1, ODD="a\nsecret")
        assert problem in ended.stderr
        assert "secret" not in ended.stderr
        assert ended.stderr.count("\n") == 1


def test_many_turns_are_posted_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.features.agents.spool.PIECE", 500)
    usual = {"session_id": "s", "created_at": "2026-03-04T10:00:00.000Z", "thought": "", "response": "So."}
    turns = tuple(Interaction(id=f"mem_{number}", prompt="Why? " * 20, **usual) for number in range(7))
    got = list[dict[str, Any]]()

    def answer(_path: str, body: dict[str, Any]) -> tuple[int, object]:
        got.append(body)
        return (200, {}) if len(got) != 2 else (503, {"error": "later"})

    with served(answer) as url:
        spool = ServerSpool(HookServer(url, "team", "", {}), tmp_path)
        spool.put(SpooledTurns("team", "codex", turns, ("s",)))
        with pytest.raises(Exception, match="503: later"):
            spool.take_in(lambda: False)
        assert len(spool.waiting()) == 1
        spool.take_in(lambda: False)
    assert spool.waiting() == []
    ids = [turn["id"] for body in got for turn in body["turns"]]
    assert sorted(set(ids)) == sorted(turn.id for turn in turns)
    assert [body["ended"] for body in got if body["ended"]] == [["s"]]
