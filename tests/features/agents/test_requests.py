"""The requests of a hook to a service, in this process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from memoryd.core.engine import Engine
from memoryd.core.memories import prompted
from memoryd.features.agents import requests
from memoryd.features.agents.requests import HookRequests
from memoryd.server.calls import Calls
from memoryd.settings import Settings
from tests.clients import PATIENCE
from tests.core.kit import memories

PROMPT = "Which port does the staging database listen on?"


@pytest.fixture
def engine(home: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    for module, name in ((prompted, "READY"), (requests, "PROMPTED")):
        monkeypatch.setattr(module, name, PATIENCE)
    with Engine(Settings.read({"MEMORY_DATA_DIR": str(home), "MEMORY_MODEL_DIR": str(model_dir)})) as engine:
        memories(engine).store("The staging database listens on port 5433.")
        yield engine


def asked(engine: Engine, *, delivered: bool = True, **given: str) -> str:
    """Return what a hook prints for a prompt."""
    handed = json.dumps({"session_id": "s", "prompt": PROMPT} | given)
    request = {"event": "prompt-submit", "client": "claude-code", "budget": 300, "home": "/", "input": handed}

    async def converse() -> dict[str, Any]:
        hook = HookRequests(Calls(engine.client(engine.settings, "", Path("/"))))
        answer = await hook.answer(request)
        if answer.get("print") and delivered:
            assert await hook.answer({}) == {"print": ""}
        return answer

    answer = anyio.run(converse)
    assert set(answer) == {"print"}, answer
    return str(answer["print"])


def test_a_prompt_gets_related_memories_until_they_are_delivered(engine: Engine) -> None:
    first = asked(engine, delivered=False)
    assert "5433" in json.loads(first)["hookSpecificOutput"]["additionalContext"]
    assert asked(engine) == first
    assert asked(engine) == ""
    assert asked(engine, session_id="other", prompt="Thanks, go on.") == ""


def test_a_prompt_does_not_wait_for_a_slow_memory(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PROMPTED", 0.0)
    assert asked(engine) == ""
