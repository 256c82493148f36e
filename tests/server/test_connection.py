"""The session of a request."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from memoryd.connect.conversation import SESSION_META
from memoryd.server.connection import Callers

CLIENT = "io.modelcontextprotocol/clientInfo"


def request(meta: object = None, initialized: object = None) -> Any:
    """Return a request as the SDK passes it, after an `initialize` with these parameters."""
    connection = SimpleNamespace(state={})
    session = SimpleNamespace(_connection=connection)
    hello = SimpleNamespace(method="initialize", params=initialized, session=session, request=None)

    async def nothing(_ctx: object) -> None:
        return

    anyio.run(Callers("own").remember, hello, nothing)
    return SimpleNamespace(params={"_meta": meta}, session=session, request=None)


def named(session: object) -> dict[str, Any]:
    return {"clientInfo": {"extra": {"sessionId": session}}}


def session_of(sessions: Callers, ctx: object) -> str:
    return sessions.caller(ctx).session_id


def test_the_nearest_source_wins() -> None:
    client = {CLIENT: {"extra": {"sessionId": "the client's"}}}
    sessions = Callers("configured")
    assert session_of(sessions, request({SESSION_META: "its own", **client}, named("first"))) == "its own"
    assert session_of(sessions, request(client, named("first"))) == "the client's"
    assert session_of(sessions, request(None, named("first"))) == "first"
    assert session_of(sessions, request()) == "configured"
    assert session_of(Callers("own"), request(None, {})) == "own"


def test_a_session_that_a_client_passes_to_its_servers_is_only_that_client_s() -> None:
    sessions = Callers("own", {"claude-code": "conversation", "long": "x" * 201})
    codex = {"x-codex-turn-metadata": {"session_id": "u1"}}
    assert session_of(sessions, request(codex)) == "codex:u1"
    assert session_of(sessions, request(codex | {SESSION_META: "its own"})) == "its own"
    assert session_of(Callers("configured"), request(codex)) == "configured"
    for wrong in (None, "u1", {}, {"session_id": None}, {"session_id": ["u1"]}, {"session_id": "x" * 199}):
        assert session_of(sessions, request({"x-codex-turn-metadata": wrong})) == "own"
    known = {"clientInfo": {"name": "claude-code", "version": "2.1.330"}}
    assert session_of(sessions, request(None, known)) == "conversation"
    assert session_of(sessions, request({CLIENT: {"name": "claude-code", "version": "2"}})) == "conversation"
    assert session_of(sessions, request({SESSION_META: "its own"}, known)) == "its own"
    for other in ("gemini-cli-mcp-client", "claude-code-wrapper", "long", ""):
        assert session_of(sessions, request(None, {"clientInfo": {"name": other, "version": "1"}})) == "own"


@pytest.mark.parametrize("wrong", ["", "a\0b", "a\ud800", "x" * 201, 7, None, ["x"], {}])
def test_unstorable_text_is_not_a_session(wrong: object) -> None:
    sessions = Callers("configured")
    assert ascii(session_of(sessions, request({SESSION_META: wrong}, named("first")))) == "'first'"
    assert ascii(session_of(sessions, request({CLIENT: {"extra": {"sessionId": wrong}}}, named("first")))) == "'first'"
    assert ascii(session_of(sessions, request(None, named(wrong)))) == "'configured'"
    assert session_of(sessions, request({SESSION_META: "x" * 200})) == "x" * 200
