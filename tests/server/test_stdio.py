"""The stdio transport: lines that are not messages, a pure stdout, a prompt and clean end."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from memoryd.server.process import STORE
from memoryd.server.wire import LAST_CALLS
from tests import clients
from tests.clients import LEGACY, NO_MODELS, PATIENCE, beginning_with, environment, rows_of, until
from tests.conftest import Pipe
from tests.forks import Fork
from tests.wires import HELLO, ProcessWire, envelope

pytestmark = pytest.mark.process

CLIENTS_PATIENCE = 3.0  # seconds that a client waits for the end of a server before it kills it
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessWire]:
    """One raw server for all bad lines: each test shows that it continues to serve."""
    with ProcessWire(environment(tmp_path_factory.mktemp("stdio"))) as wire:
        wire.handshake()
        yield wire
        wire.messages()


def call(number: str, content: bytes) -> bytes:
    """Return the line of a call with its content as raw JSON."""
    return (
        b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"memory_store","arguments":{"content":%s}}}'
        % (number.encode(), content)
    )


# lines that are not messages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [rb'"a\ud800b"', rb'"a\udc00"', rb'"\udc00\ud800"', rb'"\uD83D"', rb'{"\ud800":1}', rb'["\ud800"]'],
)
def test_lone_surrogates_are_answered_with_their_id(server: ProcessWire, content: bytes) -> None:
    for number in ("9001", '"text id"'):
        wanted = json.loads(number)
        server._answers.pop(wanted, None)
        server.send(call(number, content))
        answer = server.answer(wanted)
        assert "error" in answer or answer["result"]["isError"] is True
    assert server.result("ping") == {}


@pytest.mark.parametrize(
    "line",
    [
        rb'{"jsonrpc":"2.0","id":9101,"method":"tools/call","params":{"name":"memory_\ud800"}}',
        rb'{"jsonrpc":"2.0","id":9101,"method":"\ud800"}',
        rb'{"jsonrpc":"2.0","id":9101,"method":"tools/call","params":[1]}',
        rb'{"jsonrpc":"2.0","id":9101,"method":"tools/call","params":"x"}',
        rb'{"jsonrpc":"2.0","id":9101,"method":5}',
        rb'{"jsonrpc":"2.0","id":9101}',
        rb'{"jsonrpc":"1.0","id":9101,"method":"ping"}',
        rb'{"id":9101,"method":"ping"}',
        call("9101", b'{"a":' * 250 + b"1" + b"}" * 250),
        call("9101", b"[" * 250 + b"]" * 250),
        call("9101", b"1e999"),
        call("9101", b"NaN"),
        call("9101", b"1" + b"0" * 4_000),
    ],
)
def test_an_invalid_request_is_answered_with_its_id(server: ProcessWire, line: bytes) -> None:
    server._answers.pop(9101, None)
    server.send(line)
    answer = server.answer(9101)
    assert "error" in answer or answer["result"]["isError"] is True
    assert server.result("ping") == {}


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"}{",
        b"not json",
        b"\x00",
        b"\xff\xfe",
        b"42",
        b"null",
        b"true",
        b'"text"',
        b"[]",
        b"{}",
        b"[1, 2]",
        b'[{"jsonrpc":"2.0","id":9201,"method":"ping"}]',  # batches were removed from the protocol in 2025-06-18
        b"[" * 1_000_000,
        b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
        call("9202", b"[" * 100_000 + b"]" * 100_000),
        rb'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}',
        b"Content-Length: 20",
        b"GET / HTTP/1.1",
    ],
)
def test_a_line_without_a_valid_id_is_answered_without_an_id(server: ProcessWire, line: bytes) -> None:
    server.send(line)
    answer = server.without_id()
    assert answer["error"]["code"] in (-32700, -32600)
    assert len(json.dumps(answer)) < 1_000
    assert server.result("ping") == {}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":424242,"result":{}}',
        b'{"jsonrpc":"2.0","id":424242,"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","method":"notifications/potato"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}',
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"memory_inspect"}}',
    ],
)
def test_lines_that_need_no_answer_do_no_harm(server: ProcessWire, line: bytes) -> None:
    server.send(line)
    assert server.result("ping") == {}


def test_bytes_that_are_not_utf8_are_never_stored_as_other_text(server: ProcessWire) -> None:
    before = server.call("memory_inspect")["structuredContent"]["stats"]["total"]
    for number, content in (("9301", b'"a\xff\xfeb"'), ("9302", b'"a\xed\xa0\x80b"'), ("9303", b'"caf\xe9"')):
        server.send(call(number, content))
        answer = server.answer(int(number))
        assert "error" in answer or answer["result"]["isError"] is True, answer
    assert server.call("memory_inspect")["structuredContent"]["stats"]["total"] == before


def test_a_carriage_return_before_the_line_feed_is_ignored(server: ProcessWire) -> None:
    server.send(b'{"jsonrpc":"2.0","id":9401,"method":"ping"}\r')
    assert server.answer(9401)["result"] == {}


def test_a_long_line_is_refused_and_the_server_continues(server: ProcessWire) -> None:
    server.send(call("9501", b'"' + b"x" * 5_000_000 + b'"'))
    result = server.answer(9501)["result"]
    assert result["isError"] is True
    assert len(json.dumps(result)) < 1_000
    assert server.result("ping") == {}


def test_the_same_id_twice(server: ProcessWire) -> None:
    """The client's mistake affects only itself; the next request is served."""
    for _ in range(2):
        server.send({"jsonrpc": "2.0", "id": 9601, "method": "ping"})
    assert server.answer(9601)["result"] == {}
    assert server.result("ping") == {}


def test_requests_are_served_concurrently(server: ProcessWire) -> None:
    numbers = [server.ask("memory_store", content=f"Side by side {i}.") for i in range(100)]
    ids = {server.answer(number)["result"]["structuredContent"]["id"] for number in numbers}
    assert len(ids) == 100


# stdout --------------------------------------------------------------------------------------------------------------


def test_stdout_has_only_the_protocol(pipe: Pipe, model_dir: Path) -> None:
    server = pipe(models=model_dir, MEMORY_LOG_LEVEL="debug", PYTHONWARNINGS="always", PYTHONDEVMODE="1")
    server.handshake()
    server.send(b"not json")
    server.call("memory_store", content="Written to a chatty server.")
    server.call("memory_recall", query="What was written?")
    server.request("tools/call", {"name": "nope"})
    server.call("memory_store", potato=1)
    server.close_stdin()
    assert server.wait() == 0
    assert len(server.messages()) == 6


# the end -------------------------------------------------------------------------------------------------------------


def ended(server: ProcessWire) -> int:
    """Return the exit code of a server, which must end within the time that its client waits."""
    assert LAST_CALLS + STORE < CLIENTS_PATIENCE
    code = server.wait()
    assert "Traceback" not in server.stderr(), server.stderr()
    return code


def total(home: Path) -> set[str]:
    """Return the stored texts."""
    return {row["body"] for row in rows_of(home) if row["deleted_at"] is None}


def test_the_end_of_stdin_before_any_line(pipe: Pipe) -> None:
    server = pipe()
    server.close_stdin()
    assert server.wait() == 0
    assert server.lines == []
    assert server.stderr() == ""


def test_the_last_line_may_lack_its_end(pipe: Pipe) -> None:
    server = pipe()
    server.handshake()
    assert server.process.stdin
    server.process.stdin.write(b'{"jsonrpc":"2.0","id":7001,"method":"ping"}')
    server.close_stdin()
    assert server.answer(7001)["result"] == {}


def test_pending_answers_are_delivered_at_the_end(pipe: Pipe, home: Path) -> None:
    server = pipe()
    server.handshake()
    contents = [f"Last minute note {i}." for i in range(25)]
    numbers = [server.ask("memory_store", content=content) for content in contents]
    server.close_stdin()
    assert ended(server) == 0
    assert all(server.answer(number)["result"]["isError"] is False for number in numbers)
    assert total(home) == set(contents)


def test_the_end_while_models_are_loaded_and_asked(pipe: Pipe, home: Path, model_dir: Path) -> None:
    server = pipe(models=model_dir)
    server.handshake()
    for i in range(4):
        server.ask("memory_store", content=f"Note {i}. " + "Long words. " * 700)
        server.ask("memory_recall", query=f"Which note is number {i}?")
    server.close_stdin()
    assert ended(server) == 0
    stored = {line["result"]["structuredContent"]["id"] for line in server.messages() if "Stored" in json.dumps(line)}
    assert len(total(home)) >= len(stored)


@posix
@pytest.mark.parametrize("how", ["the end of stdin", "a signal"])
def test_the_end_while_many_calls_wait_for_the_models(pipe: Pipe, home: Path, model_dir: Path, how: str) -> None:
    server = pipe(models=model_dir)
    server.handshake()
    for i in range(12):  # for the reranker to read
        server.call("memory_store", content=f"Fact {i}: harbour {i} has {i} ships. " * 4)
    until(lambda: "loading" not in json.dumps(server.call("memory_inspect")), "the models")
    posted = {}
    for i in range(300):
        if i % 2:
            posted[server.ask("memory_store", content=f"Another fact {i} of harbours. " * 30)] = f"Another fact {i} of"
        else:
            server.ask("memory_recall", query=f"Which harbour has {i} ships? " * 5)
    server.close_stdin() if how == "the end of stdin" else server.signal(signal.SIGTERM)
    assert ended(server) == 0
    stored = [m["id"] for m in server.messages() if m["id"] in posted and "Stored" in json.dumps(m.get("result"))]
    kept = " ".join(total(home))
    assert all(posted[number] in kept for number in stored)


def test_the_end_while_models_are_fetched(pipe: Pipe, home: Path) -> None:
    server = pipe(
        models=home / "none", PIP_INDEX_URL="http://10.255.255.1/", PIP_NO_INDEX="", PIP_RETRIES="0", PIP_TIMEOUT="60"
    )
    server.handshake()
    server.call("memory_store", content="Before the models came.")
    until(lambda: "loading" in json.dumps(server.call("memory_inspect")), "the pull")
    server.close_stdin()
    assert ended(server) == 0
    assert total(home) == {"Before the models came."}


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it_cleanly(pipe: Pipe, home: Path, number: signal.Signals, code: int) -> None:
    server = pipe()
    server.handshake()
    acknowledged = {f"Before the signal {i}." for i in range(20)}
    for content in sorted(acknowledged):
        server.call("memory_store", content=content)
    server.signal(number)
    assert ended(server) in (code, -number)
    assert total(home) == acknowledged


@posix
def test_a_signal_while_it_writes_loses_nothing_acknowledged(pipe: Pipe, home: Path) -> None:
    server = pipe()
    server.handshake()
    contents = [f"Under fire {i}." for i in range(300)]
    posted = {server.ask("memory_store", content=text): text for text in contents}
    first = next(iter(posted))
    server.answer(first)
    server.signal(signal.SIGTERM)
    ended(server)
    # a connector reports what it leaves open
    answers = [m for m in server.messages() if m["id"] in posted and "result" in m]
    stored = {posted[m["id"]] for m in answers if not m["result"]["isError"]}
    assert posted[first] in stored
    assert stored <= total(home)


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_that_interrupts_no_wait(pipe: Pipe, home: Path, number: signal.Signals, code: int) -> None:
    server = pipe(PYTHONPATH=beginning_with(clients.SIGNALS_ELSEWHERE, home))
    server.handshake()
    server.signal(number)
    assert ended(server) == code


NO_LOOP_SIGNALS = """
import asyncio
import signal


class Loop(asyncio.SelectorEventLoop):
    add_signal_handler = asyncio.AbstractEventLoop.add_signal_handler
    remove_signal_handler = asyncio.AbstractEventLoop.remove_signal_handler

    def run_forever(self):
        signal.set_wakeup_fd(self._csock.fileno())
        super().run_forever()


asyncio.DefaultEventLoopPolicy._loop_factory = Loop
"""


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_loop_that_takes_no_signals(pipe: Pipe, home: Path, number: signal.Signals, code: int) -> None:
    """On Windows the server also starts, serves, ends at EOF, and ends cleanly on a signal."""
    path = beginning_with(NO_LOOP_SIGNALS, home)
    server, other = pipe(PYTHONPATH=path), pipe(PYTHONPATH=path)
    server.handshake()
    other.handshake()
    server.call("memory_store", content="Before the signal.")
    server.signal(number)
    assert ended(server) == code
    assert total(home) == {"Before the signal."}
    other.close_stdin()
    assert other.wait() == 0, other.stderr()


def test_a_cancelled_request_does_not_hold_up_the_end(pipe: Pipe, home: Path) -> None:
    """It is never answered, so nothing waits for its answer."""
    server = pipe(MEMORY_DB_PATH=str(home / "one.db"))
    server.handshake()
    server.call("memory_store", content="Makes the file.")
    blocker = apsw.Connection(str(home / "one.db"))
    blocker.set_busy_timeout(20_000)  # for the server's background work
    blocker.execute("BEGIN IMMEDIATE")  # the next write waits for it
    try:
        number = server.ask("memory_store", content="Never mind.")
        for other in (number, "x", None, [1], True):
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}})
        assert server.result("ping") == {}
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
    server.close_stdin()
    assert server.wait() == 0
    assert number not in server._answers


def test_a_client_that_is_gone_causes_no_crash(home: Path, tmp_path: Path) -> None:
    """Its stdout is no longer read, as after the death of a client: acknowledged writes are kept, and it ends."""
    first = [json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}).encode()]
    later = [call(str(i), b'"Before it died %d."' % i) for i in range(2, 40)]
    with (tmp_path / "log").open("wb") as log, Fork[bytes](
        [sys.executable, "-m", "memoryd"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment(home),
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"\n".join([*first, call("1", b'"Before it died."'), b""]))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert {answer["id"] for answer in answers} == {0, 1}
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.write(b"\n".join([*later, b""]))
            process.stdin.close()
        process.wait(PATIENCE)
    assert "Before it died." in total(home)
    assert b"Traceback" not in (tmp_path / "log").read_bytes(), (tmp_path / "log").read_text()


# the start -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")
def test_nothing_heavy_is_loaded_for_the_list(pipe: Pipe, model_dir: Path) -> None:
    server = pipe(models=model_dir, MEMORY_SERVICE="off")  # the test inspects the server's own process
    server.handshake()
    assert len(server.result("tools/list")["tools"]) == 5
    maps = Path(f"/proc/{server.process.pid}/maps").read_text()
    assert "python" in maps
    assert "onnxruntime" not in maps
    assert str(model_dir) not in maps
    server.call("memory_store", content="Now the models are needed.")
    until(lambda: "onnxruntime" in Path(f"/proc/{server.process.pid}/maps").read_text(), "the models")


def test_nothing_is_written_for_the_list(pipe: Pipe, home: Path) -> None:
    server = pipe(**NO_MODELS)
    server.handshake()
    server.result("tools/list")
    server.close_stdin()
    assert server.wait() == 0
    assert not (home / "data").exists() or not any(path.is_file() for path in (home / "data").rglob("*.onnx"))


# the era of the protocol ---------------------------------------------------------------------------------------------

DISCOVER: dict[str, object] = {"_meta": envelope()}


@pytest.mark.parametrize("waits", [True, False])
def test_the_later_of_two_openings_decides(pipe: Pipe, waits: bool) -> None:
    """A client may send `server/discover`, and then `initialize` before a slow start is answered."""
    server = pipe(MEMORY_TOOLSETS="recall,vault")
    discovered = server.post("server/discover", DISCOVER)
    if waits:
        assert "result" in server.answer(discovered)
    initialized = server.post("initialize", HELLO)
    assert server.answer(initialized)["result"]["protocolVersion"] == LEGACY
    assert "result" in server.answer(discovered)
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert len(server.result("tools/list")["tools"]) > 5
    server.call("commit_memory", scope="session", key="k", content="text")
    assert "text" in json.dumps(server.call("search_memories", query="text"))
    server.close_stdin()
    assert server.wait() == 0


def test_the_openings_in_reverse_order(pipe: Pipe) -> None:
    server = pipe()
    server.handshake()
    assert "result" in server.answer(server.post("server/discover", DISCOVER))
    assert "result" in server.answer(server.post("tools/list", DISCOVER))
    assert "result" not in server.answer(server.post("initialize", HELLO)), "the client has spoken"


@pytest.mark.parametrize("modern", [True, False])
def test_after_further_requests_the_era_is_fixed(pipe: Pipe, modern: bool) -> None:
    server = pipe()
    if modern:
        server.answer(server.post("tools/list", DISCOVER))
        assert server.answer(server.post("initialize", HELLO))["error"]["code"] == -32022
        assert "result" in server.answer(server.post("tools/list", DISCOVER))
    else:
        server.handshake()
        server.result("tools/list")
        assert server.answer(server.post("server/discover", DISCOVER))["error"]["code"] == -32600
        server.result("tools/list")
