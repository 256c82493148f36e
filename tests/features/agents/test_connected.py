"""What the hook of an agent calls at a prompt through its connection: a tool that no list shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.memories import prompted
from memoryd.features.agents.connected import TOOL
from tests.clients import LEGACY, PATIENCE, Json
from tests.conftest import Open
from tests.features.agents.test_elsewhere import FACT, QUESTION, remember
from tests.http import Ears, bearer, beside, granted, serving

MODELS: Json = {"MEMORY_EMBEDDER": "bundled", "MEMORY_RERANKER": "bundled"}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompted, "READY", PATIENCE)


def added(result: Json) -> str:
    """Return what a hook adds to a prompt by the result of its tool, which is the same in both fields."""
    assert not result.get("isError"), result
    output: dict[str, Any] = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == output
    return str(output["hookSpecificOutput"]["additionalContext"]) if output else ""


def test_a_prompt_gets_what_bears_on_it_once_in_a_session(wire: Open, model_dir: Path, tmp_path: Path) -> None:
    one = wire(models=model_dir)
    one.handshake()
    one.call("memory_store", content=FACT)
    asked: Json = {"session_id": "s1", "cwd": str(tmp_path), "client": "codex"}
    assert FACT in added(one.call(TOOL.name, prompt=QUESTION, **asked))
    assert added(one.call(TOOL.name, prompt=QUESTION, **asked)) == "", "the session has seen it"
    assert added(one.call(TOOL.name, prompt="Thanks, go on.", session_id="s2")) == ""
    assert FACT in added(one.call(TOOL.name, prompt=QUESTION, session_id="s2"))
    assert "session_id" in one.call(TOOL.name, prompt=QUESTION)["content"][0]["text"]


def test_no_list_shows_the_tool(wire: Open) -> None:
    for toolsets in ("all", "vault"):
        one = wire("--toolsets", toolsets)
        one.handshake()
        assert TOOL.name not in json.dumps(one.result("tools/list"))
        assert TOOL.name not in json.dumps(one.request("tools/call", {"name": "none", "arguments": {}}))
        assert added(one.call(TOOL.name, prompt=QUESTION, session_id="s")) == "", "there is no memory"


def test_hooks_can_be_silenced(wire: Open, model_dir: Path) -> None:
    one = wire(models=model_dir, MEMORY_HOOKS="off")
    one.handshake()
    one.call("memory_store", content=FACT)
    assert added(one.call(TOOL.name, prompt=QUESTION, session_id="s")) == ""


def test_a_prompt_makes_no_workspace(wire: Open, home: Path, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    one = wire("--workspace", "auto", "--toolsets", "all")
    one.handshake()
    before = one.call("list_projects")["structuredContent"]
    assert added(one.call(TOOL.name, prompt=QUESTION, session_id="s", cwd=str(tmp_path / "shop"))) == ""
    assert one.call("list_projects")["structuredContent"] == before


def test_over_http_it_is_the_workspace_of_the_request_and_the_right_to_recall(tmp_path: Path, model_dir: Path) -> None:
    with serving(tmp_path, **MODELS, MEMORY_MODEL_DIR=str(model_dir)) as server:
        with beside(server) as engine:
            remember(engine, "team", FACT)
            remember(engine, "other", "The user prefers tabs over spaces in Python.")

        def asked(token: str, workspace: str) -> Json:
            headers = bearer(token, X_Memory_Workspace=workspace)
            arguments = {"prompt": QUESTION, "session_id": "s"}
            ears = Ears(server, LEGACY, headers)
            try:
                return ears.request("tools/call", name=TOOL.name, arguments=arguments)
            finally:
                ears.close()

        recalling = granted(server, "recalling", tools=("memory_recall",))
        assert FACT in added(asked(recalling, "team")["result"])
        assert added(asked(recalling, "other")["result"]) == ""
        storing = granted(server, "storing", tools=("memory_store",))
        assert "Unknown tool" in json.dumps(asked(storing, "team"))
