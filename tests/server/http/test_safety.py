"""Protection against other pages, strangers and overload, and behaviour at the end of a server."""

import gzip
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial, wraps
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import Any

import anyio
import apsw
import httpx2
import pytest
import trustme
from anyio import to_thread

from memoryd.core.engine import Engine
from memoryd.server import calls as serving_calls
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.server.http import app as http_app
from memoryd.server.http.app import assembled
from memoryd.server.threads import THREADS, of_writers
from memoryd.settings import Settings
from memoryd.toolsets.registry import Call
from tests.clients import LEGACY, MODERN, PATIENCE, environment, rows_of, text_of, until
from tests.http import (
    SESSION,
    WORKSPACE,
    Ears,
    HttpServer,
    bearer,
    beside,
    granted,
    memoryd,
    process_serving,
    refused,
    remote,
    serving,
)

PATHS = (
    ("POST", "/mcp"), ("GET", "/sse"), ("POST", "/sse/messages/"), ("POST", "/tools/memory_inspect"),
    ("GET", "/openapi.json"), ("GET", "/health"), ("GET", "/health/live"), ("GET", "/metrics"), ("GET", "/nothing"),
    ("GET", "/"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
)  # fmt: skip
ERAS = (LEGACY, MODERN, "sse")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("safety")
    allowed = "memory.example.org, 10.1.2.3:8765, fd00::1, [fd00::2], [fd00::3]:8765"
    with serving(home, "--toolsets", "recall,vault", MEMORY_ALLOWED_HOSTS=allowed) as server:
        with beside(server) as engine:
            engine.workspaces.ensure("one")
            engine.workspaces.ensure("two")
        yield server


def raw(server: HttpServer, content: bytes) -> bytes:
    """Return the immediate answer to bytes on the wire."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(content)
        return connection.recv(65_536)


# pages and names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "memory.example.orgs",
        "localhost:evil",
        "localhost:80:80",
        "localhost:",
        "[::1]:x",
        "[fd00::3]:1",
        "localhost:999999",
    ],
)
def test_requests_by_other_names_are_refused(server: HttpServer, host: str) -> None:
    for method, path in PATHS:
        answer = server.request(method, path, headers={"Host": host, WORKSPACE: "one"})
        assert (answer.status_code, answer.json()) == (421, {"error": "Invalid Host header"}), path


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost.evil.example",
        "http://localhost:evil",
        "http://localhost:80.x",
        "null",
        "file://",
        "https://memory.example.org.x",
    ],
)
def test_pages_of_other_origins_are_refused(server: HttpServer, origin: str) -> None:
    for method, path in PATHS:
        answer = server.request(method, path, headers={"Origin": origin, WORKSPACE: "one"})
        assert (answer.status_code, answer.json()) == (403, {"error": "Invalid Origin header"}), path
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "host",
    ["memory.example.org", "memory.example.org:443", "10.1.2.3:8765", "Memory.Example.ORG", "[fd00::1]:8765",
     "[FD00::2]", "[fd00::3]:8765", "localhost", "LocalHost:1", "[::1]:1"],
)  # fmt: skip
def test_names_that_are_allowed(server: HttpServer, host: str) -> None:
    local = host.lower().startswith(("localhost", "[::1]"))
    for origin in ({}, {"Origin": f"https://{host}"}, {"Origin": "http://localhost:3000"}):
        answer = server.tool("memory_inspect", {"Host": host, WORKSPACE: "one"} | origin)
        assert answer.status_code == (200 if local else 401), (host, origin)


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP",
               "CF-Connecting-IP", "X-Client-IP"],
)  # fmt: skip
def test_behind_a_proxy_every_request_needs_a_token(server: HttpServer, header: str) -> None:
    for method, path in PATHS[:4]:
        assert server.request(method, path, headers={header: "x", WORKSPACE: "one"}, json={}).status_code == 401, path
    token = granted(server, f"behind {header}")
    try:
        answer = server.tool(
            "memory_inspect", bearer(token) | {header: "x", "Host": "memory.example.org", WORKSPACE: "one"}
        )
        assert answer.status_code == 200
    finally:
        memoryd(server.environ, "token", "revoke", f"behind {header}")


def test_what_a_proxy_needs_is_reported_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(tmp_path, MEMORY_ALLOWED_HOSTS="memory.example.org"):
        assert "There is no token yet: requests by the name memory.example.org" in caplog.text


def test_no_host_bypasses_the_entrance(server: HttpServer) -> None:
    for host in (b"127.0.0.1:1/health?", b"127.0.0.1:1/health#", b"localhost:1/health/live?x=", b"127.0.0.1:@/health"):
        answer = raw(server, b"POST /tools/memory_inspect HTTP/1.1\r\nHost: " + host +
                     b"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")  # fmt: skip
        assert answer.split(b" ")[1] in (b"400", b"421")
    assert raw(server, b"GET /health HTTP/1.0\r\n\r\n").split(b" ")[1] == b"421"


# overload ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/mcp", "/sse/messages/", "/tools/memory_store", "/ui/login"])
def test_a_compressed_body_is_not_read(server: HttpServer, path: str) -> None:
    bomb = gzip.compress(b" " * 10_000_000, 1)
    for encoding in ("gzip", "x-gzip", "deflate", "identity, br", "ZSTD"):
        headers = {"Content-Encoding": encoding, WORKSPACE: "one", "Content-Type": "application/json"}
        answer = server.request("POST", path, content=bomb, headers=headers)
        assert (answer.status_code, answer.headers["Accept-Encoding"]) == (415, "identity"), encoding
        assert "without Content-Encoding" in answer.json()["error"]


@contextmanager
def locked(server: HttpServer, workspace: str) -> Iterator[None]:
    """Run a block while writes are blocked."""
    with beside(server) as engine:
        path = engine.store.upkeep.files([engine.workspaces.find(workspace)])[0].name
    with closing(apsw.Connection(path)) as connection:
        connection.set_busy_timeout(20_000)  # for the server's background work
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@pytest.mark.files
@pytest.mark.slow
def test_a_call_that_takes_too_long_is_answered_anyway(tmp_path: Path) -> None:
    with serving(tmp_path, "--workspace", "default", MEMORY_CALL_TIMEOUT="0.5") as server:
        assert server.tool("memory_store", content="before").status_code == 200
        with locked(server, "default"):
            began = time.monotonic()
            answer = server.tool("memory_store", content="during")
            assert answer.status_code == 504
            assert "continues without an answer" in answer.json()["error"]
            for mode in ("auto", "legacy", "sse"):
                with remote(server, mode) as agent:
                    assert "continues without an answer" in agent.refused("memory_store", content=f"during {mode}")
            assert time.monotonic() - began < 100, "four waits for the lock would be two minutes"
            assert server.tool("memory_inspect").status_code == 200, "reading goes on"
        assert server.tool("memory_store", content="after").status_code == 200
    assert {"before", "after"} <= {row["body"] for row in rows_of(tmp_path)}


@pytest.mark.files
def test_a_call_that_outlives_the_server_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_app, "LAST_CALLS", 0)
    with serving(tmp_path, "--workspace", "default") as server, ThreadPoolExecutor(2) as pool:
        assert server.tool("memory_store", content="before").status_code == 200
        with locked(server, "default"), server.connect() as client:
            late = pool.submit(client.post, "/tools/memory_store", json={"content": "late"})
            until(server.running, "the call")
            pool.submit(server.stop)
            answer = late.result(PATIENCE)
    assert answer.status_code == 503
    assert "unknown whether the call took effect" in answer.json()["error"]


def test_when_too_many_calls_wait_further_ones_are_refused_with_a_retry_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_calls, "THREADS", 1)
    monkeypatch.setattr(serving_calls, "WAITING", 2)
    going, go_on = threading.Event(), threading.Event()

    served = Calls(Engine(Settings.read(environment(tmp_path), workspace="default"), fetch=False))
    inspect = served.tools["memory_inspect"]

    @wraps(inspect.handler)
    def slow(call: Call, **arguments: Any) -> Any:
        going.set()
        assert go_on.wait(20)
        return inspect.handler(call, **arguments)

    served.tools["memory_inspect"] = replace(inspect, handler=slow)
    mcp = MemoryServer(served, remote=True)
    app = assembled(served, mcp, mcp.callers)

    def waiting(number: int) -> bool:
        return served._share.waiting >= number

    async def main() -> None:
        statuses: list[int] = []
        transport = httpx2.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport) as client:

            async def call() -> httpx2.Response:
                answer = await client.post("http://localhost/tools/memory_inspect", json={})
                statuses.append(answer.status_code)
                return answer

            async with anyio.create_task_group() as tasks:
                for number in range(3):
                    tasks.start_soon(call)
                    await to_thread.run_sync(until, partial(waiting, number), "a call that waits")
                await to_thread.run_sync(going.wait)
                answer = await call()
                assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
                assert "too many calls are waiting" in answer.json()["error"]
                go_on.set()
            assert (await call()).status_code == 200
            assert sorted(statuses) == [200, 200, 200, 200, 503]

    anyio.run(main)


@pytest.mark.files
def test_writers_that_all_wait_leave_threads_to_reads(tmp_path: Path) -> None:
    number = 20  # more than there are threads
    with serving(tmp_path, "--workspace", "default") as server, ThreadPoolExecutor(number) as pool:
        assert server.tool("memory_store", content="before").status_code == 200
        with locked(server, "default"):
            stores = [pool.submit(server.tool, "memory_store", content=f"during {n}") for n in range(number)]
            until(lambda: server.running() == number, "writers that wait")
            assert "before" in server.tool("memory_recall", query="before").text
            assert "memoryd_waiting_calls 8.0" in server.request("GET", "/metrics").text, "12 of 20 write"
            with remote(server) as agent:
                assert agent.found("before") == ["before"]
        assert [store.result(PATIENCE).status_code for store in stores] == [200] * number


@pytest.mark.files
@pytest.mark.slow
def test_a_call_that_would_wait_too_long_is_refused_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_calls, "WAIT", 0.5)
    number = 20
    with (
        serving(tmp_path, "--workspace", "default") as server,
        ThreadPoolExecutor(number) as pool,
    ):
        assert server.tool("memory_store", content="before").status_code == 200
        with locked(server, "default"):
            stores = [pool.submit(server.tool, "memory_store", content=f"during {n}") for n in range(number)]
            refused = [one.result() for one in islice(as_completed(stores, PATIENCE), number - 12)]
            for answer in refused:
                assert answer.status_code == 503
                assert int(answer.headers["Retry-After"]) >= 5
                assert "Nothing was done by this one; try again in" in answer.json()["error"]
            for mode in ("auto", "legacy"):
                with remote(server, mode) as agent:
                    result = agent.call("memory_store", {"content": "later"})
                    assert result.is_error, "as a result, which every model is shown"
                    assert "too many calls are waiting" in text_of(result)
                    assert (result.meta or {})["memoryd/retry_after"] >= 5
    bodies = [row["body"] for row in rows_of(tmp_path)]
    assert (len(bodies), "later" in bodies) == (1 + 12, False)


# the end -------------------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.files
def test_running_calls_are_finished_before_the_end(tmp_path: Path) -> None:
    with process_serving(tmp_path, "--toolsets", "recall,vault", "--workspace", "default") as server:
        server.tool("memory_store", content="first")
        listeners = [Ears(server, era, {}).listen() for era in ERAS]
        clients = [server.connect() for _ in range(of_writers(THREADS) + 2)]
        with ThreadPoolExecutor(len(clients)) as pool, locked(server, "default"):
            work = [
                pool.submit(client.post, "/tools/memory_store", json={"content": f"number {number}"})
                for number, client in enumerate(clients)
            ]
            # all have arrived, since those without a thread wait; a later one would be refused, not lost
            until(lambda: "memoryd_waiting_calls 2.0" in server.request("GET", "/metrics").text, "the calls")
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            assert server.process.poll() is None
        answers = [each.result() for each in work if not each.exception()]
        assert len(answers) == len(clients), [each.exception() for each in work]
        assert {answer.status_code for answer in answers} == {200}
        assert server.process.wait(PATIENCE) == 0
        for client, ears in zip_longest(clients, listeners):
            client.close()
            if ears:
                assert ears.ended.wait(PATIENCE)
                ears.close()
    assert len(rows_of(tmp_path)) == 1 + len(clients)


@pytest.mark.process
def test_many_calls_that_wait_for_the_models_do_not_delay_the_end(tmp_path: Path, model_dir: Path) -> None:
    with process_serving(tmp_path, "--workspace", "default", models=model_dir) as server:
        for number in range(12):
            server.tool("memory_store", content=f"Fact {number}: harbour {number} has {number} ships. " * 4)
        until(lambda: "loading" not in server.tool("memory_inspect").text, "the models")

        def recall(number: int) -> None:
            with suppress(httpx2.HTTPError), httpx2.Client(base_url=server.url, timeout=60) as client:
                for _ in range(100):
                    client.post("/tools/memory_recall", json={"query": f"Which harbour has {number} ships? " * 5})

        with ThreadPoolExecutor(10) as pool:
            for number in range(10):
                pool.submit(recall, number)
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(PATIENCE) == 0


@pytest.mark.process
def test_open_streams_do_not_delay_the_end(tmp_path: Path) -> None:
    with process_serving(tmp_path, "--toolsets", "vault", "--workspace", "default") as server:
        listeners = [Ears(server, era, {}).listen("memory://vault/k") for era in ERAS]
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE) == 0
        for ears in listeners:
            assert ears.ended.wait(PATIENCE)
            ears.close()


@pytest.mark.process
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    with process_serving(tmp_path, "--workspace", "default") as server:

        def write(name: str) -> None:
            with server.connect() as client:
                for number in count():
                    content = f"{name} {number}"
                    try:
                        answer = client.post("/tools/memory_store", json={"content": content})
                    except httpx2.HTTPError:
                        return
                    if answer.status_code == 200:
                        acknowledged.append(content)

        writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for writer in writers:
            writer.start()
        until(lambda: len(acknowledged) > 40, "writes")
        server.process.kill()
        for writer in writers:
            writer.join(30)
    assert set(acknowledged) <= {row["body"] for row in rows_of(tmp_path)}


# notices -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.slow
def test_notices_stay_in_their_workspace_and_session(server: HttpServer, era: str) -> None:
    key, other = f"key of {era[:4]}", f"other of {era[:4]}"
    uris = [f"memory://vault/{name.replace(' ', '%20')}" for name in (key, other)]
    sessions = [f"memory://session/{name}-{era}" for name in ("mine", "next")]
    one, two, changed = {WORKSPACE: "one"}, {WORKSPACE: "two"}, "notifications/resources/list_changed"
    with (
        closing(Ears(server, era, one, f"mine-{era}")) as mine,
        closing(Ears(server, era, one, f"next-{era}")) as neighbour,
        closing(Ears(server, era, two, f"mine-{era}")) as elsewhere,
    ):
        for ears in (mine, neighbour, elsewhere):
            ears.listen(*uris, *sessions)
        put = {"scope": "vault", "content": "text"}
        volatile = {"scope": "session", "key": key, "content": "text"}
        assert server.tool("commit_memory", one | {SESSION: f"mine-{era}"}, **volatile).status_code == 200
        until(lambda: sessions[0] in mine.notices(), "a notice")
        assert server.tool("commit_memory", one, key=key, **put).status_code == 200
        until(lambda: uris[0] in mine.notices() and uris[0] in neighbour.notices(), "a notice")
        assert server.tool("commit_memory", two, key=other, **put).status_code == 200
        until(lambda: uris[1] in elsewhere.notices(), "a notice")
        assert mine.notices() == [changed, sessions[0], changed, uris[0]]
        assert neighbour.notices() == [changed, uris[0]]
        assert elsewhere.notices() == [changed, uris[1]]


# read-only, TLS, ports -----------------------------------------------------------------------------------------------


def test_a_server_that_only_reads(tmp_path: Path) -> None:
    with serving(tmp_path, "--workspace", "default") as server:
        server.tool("memory_store", content="kept")
    before = rows_of(tmp_path)
    with serving(tmp_path, "--workspace", "default", "--toolsets", "all", "--read-only") as server:
        assert server.tool("memory_store", content="x").status_code == 404
        assert server.tool("commit_memory", {SESSION: "s"}, scope="vault", key="k", content="x").status_code == 404
        for mode in ("auto", "legacy", "sse"):
            with remote(server, mode, X_Memory_Workspace="default") as agent:
                assert "memory_store" not in {tool.name for tool in agent.tools()}
                assert agent.found("kept") == ["kept"]
        assert server.request("GET", "/metrics").status_code == 200
    assert rows_of(tmp_path) == before


@pytest.mark.slow
def test_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key = tmp_path / "server.crt", tmp_path / "server.key"
    issued.private_key_pem.write_to_path(str(key))
    for number, blob in enumerate(issued.cert_chain_pems):
        blob.write_to_path(str(certificate), append=number > 0)
    with serving(tmp_path, "--workspace", "default", certificate=str(certificate), key=str(key)) as server:
        assert capsys.readouterr().out == f"memoryd serves https://127.0.0.1:{server.port}/mcp\n"
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            server.request("GET", "/health")
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        with httpx2.Client(base_url=server.url, verify=trusting, timeout=20) as client:
            assert client.post("/tools/memory_store", json={"content": "over TLS"}).status_code == 200
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(server.url.replace("https", "http") + "/health")


@pytest.mark.process
def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        stderr = refused(environment(tmp_path), "--port", str(port))
    assert f"127.0.0.1:{port} cannot be served" in stderr
    assert "choose another port with --port" in stderr
    assert "Traceback" not in stderr
