"""Bodies that are not messages, and requests that cannot be distinguished."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from tests.clients import LEGACY, PATIENCE, Json
from tests.http import Ears, HttpThread, serving
from tests.server.http.test_safety import ERAS, locked

INVALID, BROKEN = types.INVALID_REQUEST, types.PARSE_ERROR


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpThread]:
    with serving(tmp_path_factory.mktemp("messages"), "--workspace", "default") as server:
        yield server


NO_MESSAGES: list[tuple[bytes, int, object]] = [
    (b"", BROKEN, None),
    (b"{", BROKEN, None),
    (b"[" * 10_000, BROKEN, None),
    (b"\xff", BROKEN, None),
    (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', BROKEN, None),
    (b'{"jsonrpc": "2.0", "id": ' + b"9" * 100_000 + b', "method": "ping"}', BROKEN, None),
    (b"[]", INVALID, None),
    (b"null", INVALID, None),
    (b"1", INVALID, None),
    (b"[" * 99 + b"]" * 99, INVALID, None),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID, None),
    (b'{"jsonrpc": "2.0", "id": 7}', INVALID, 7),
    (b'{"jsonrpc": "2.0", "id": 7, "method": 8}', INVALID, 7),
    (b'{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": []}', INVALID, "a"),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID, None),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID, None),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID, None),
    (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', INVALID, None),
]


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_a_body_that_is_not_a_message_is_refused_with_a_plain_message(server: HttpThread, era: str) -> None:
    with closing(Ears(server, era, {})) as ears:
        headers = ears.headers({"json": {"method": "ping", "params": {}}}) | {"Content-Type": "application/json"}
        for body, code, number in NO_MESSAGES:
            answer = server.request("POST", ears._post_to, content=body, headers=headers)
            assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json"), body[:99]
            refusal = answer.json()
            assert (refusal["id"], refusal["error"]["code"]) == (number, code), body[:99]
            assert refusal["error"]["message"] in (
                "Parse error: this is not valid JSON in UTF-8.",
                "Invalid request: not a JSON-RPC message.",
            )


@pytest.mark.files
def test_only_one_open_request_of_a_session_may_have_an_id(tmp_path: Path) -> None:
    def asked(number: object, method: str = "tools/list", **params: Any) -> Json:
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    slow = asked(7, "tools/call", name="memory_store", arguments={"content": "slow"})
    with (
        serving(tmp_path, "--workspace", "default") as server,
        closing(Ears(server, LEGACY, {})) as mine,
        closing(Ears(server, LEGACY, {})) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        assert server.tool("memory_store", content="before").status_code == 200
        with locked(server, "default"):
            both = {pool.submit(mine.post, slow) for _ in range(2)}
            refused = next(as_completed(both, PATIENCE))
            for answer in (refused.result(), mine.post(asked(7)), mine.post(asked("7"))):
                assert (answer.status_code, str(answer.json()["id"])) == (400, "7")
                assert "another request of this session has this id" in answer.json()["error"]["message"]
            assert mine.post(asked(8)).status_code == other.post(asked(7)).status_code == 200
        (done,) = both - {refused}
        assert done.result(PATIENCE).json()["result"]["structuredContent"]["status"] == "stored"
        assert mine.post(asked(7)).status_code == 200
