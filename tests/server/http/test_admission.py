"""The limits on strangers at the socket (bytes, time, connections), which honest clients do not notice."""

import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trustme

from memoryd.server.http import admission, bodies, entry, messages
from tests.clients import LEGACY, MODERN, PATIENCE, until
from tests.http import WORKSPACE, Ears, HttpServer, HttpThread, bearer, granted, serving

HELLO = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
SECURITY = ("plain", "tls")
CALL = b"POST /tools/memory_inspect HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class Raw:
    """A client that sends raw bytes."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1") -> None:
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE, (address, 0))
        self._socket = tls.wrap_socket(plain, server_hostname="127.0.0.1") if tls else plain
        self._socket.settimeout(PATIENCE)

    def send(self, content: bytes) -> int:
        """Send as much as the server accepts."""
        sent = 0
        with suppress(OSError):
            while sent < len(content):
                sent += self._socket.send(content[sent : sent + 65_536])
        return sent

    def answer(self) -> tuple[int, bytes]:
        """Return the status and the body of the next answer; 0 if the connection ends without one."""
        head = b""
        while b"\r\n\r\n" not in head:
            more = self._read(1)
            if not more:
                return 0, head
            head += more
        found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        length = int(found[1]) if found else 0
        body = b""
        while len(body) < length and (more := self._read(length - len(body))):
            body += more
        return int(head.split(b" ")[1]), body

    def _read(self, count: int) -> bytes:
        try:
            return self._socket.recv(count)
        except ConnectionError:
            return b""

    def ended(self) -> bool:
        """Return whether the server ends the connection, now or soon."""
        while self._read(65_536):
            pass
        return True

    def close(self) -> None:
        self._socket.close()


class Place:
    """A server, and raw connections to it."""

    def __init__(self, server: HttpThread, tls: ssl.SSLContext | None) -> None:
        self.server = server
        self.half_closes = tls is None
        """Return whether the server ends its side first; over TLS it waits a while for the client to do so."""
        self._tls = tls

    def raw(self) -> closing[Raw]:
        return closing(Raw(self.server.port, self._tls))

    def ask(self, *parts: bytes) -> int:
        """Return the status of the answer to a request that is sent in these parts."""
        with self.raw() as raw:
            for part in parts:
                raw.send(part)
            return raw.answer()[0]


@contextmanager
def placed(home: Path, security: str) -> Iterator[Place]:
    """A server without or with TLS, and a token."""
    certificate, trusting = None, None
    if security == "tls":
        authority, trusting = trustme.CA(), ssl.create_default_context()
        authority.configure_trust(trusting)
        certificate = str(home / "server.pem")
        Path(certificate).write_bytes(authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.bytes())
    with serving(home, "--workspace", "default", certificate=certificate) as server:
        granted(server, "visitor")
        yield Place(server, trusting)


@pytest.fixture(scope="module", params=SECURITY)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("admission"), request.param) as made:
        yield made


# bytes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (HELLO + b"X: " + b"x" * 60_000 + b"\r\n\r\n", 200),
        (HELLO + b"X: " + b"x" * 65_536 + b"\r\n\r\n", 431),
        (HELLO + b"X: " + b"x" * 65_536, 431),
        (HELLO + b"X: " + b"x" * 32_000_000 + b"\r\n\r\n", 431),
        (HELLO + b"".join(b"X-%d: y\r\n" % number for number in range(98)) + b"\r\n", 200),
        (HELLO + b"".join(b"X-%d: y\r\n" % number for number in range(100)) + b"\r\n", 431),
        (HELLO + b"X: y\n" * 60_000 + b"\r\n", 431),
        (HELLO + b"X: y\r\n" + b" z\r\n" * 200 + b"\r\n", 431),
        (b"GET /health/live?" + b"x" * 8_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"GET /health/live?" + b"x" * 9_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"G" * 1_000_000, 414),
        (b"\x16\x03\x01 no TLS here\r\n\r\n", 400),
    ],
)
def test_a_head_has_limits(place: Place, head: bytes, status: int) -> None:
    assert place.ask(head) == status
    assert place.ask(HELLO + b"\r\n") == 200


def test_a_head_that_follows_a_request_has_the_same_limits(place: Place) -> None:
    call, large = CALL + b"Content-Length: 2\r\n\r\n", HELLO + b"X: y\r\n" * 20_000 + b"\r\n"
    for parts in ([call + b"{}" + large], [call + b"{}", large]):
        with place.raw() as raw:
            for part in parts:
                raw.send(part)
            assert [raw.answer()[0] for _ in range(2)] == [401, 431]
            assert not place.half_closes or raw.ended()
    with place.raw() as raw:
        raw.send(call)
        assert raw.answer()[0] == 401
        raw.send(b"{}" + large)
        assert raw.answer()[0] == 431


@pytest.mark.slow
def test_a_body_without_a_token_is_not_read(place: Place) -> None:
    for framing in (b"Content-Length: 64000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n3d09000\r\n"):
        with place.raw() as raw:
            assert raw.send(CALL + framing + b" " * 64_000_000) < 48_000_000, "what is not taken fills the buffers"
            assert raw.answer()[0] in (0, 401)
    with place.raw() as raw:  # an honest client gets the reason
        raw.send(CALL + b"Content-Length: 3000000\r\n\r\n" + b" " * 3_000_000 + HELLO + b"\r\n")
        assert [raw.answer()[0] for _ in range(2)] == [401, 200]


def test_invalid_frames_do_no_harm(place: Place) -> None:
    for body in (b"zz\r\n", b"1\r\nxx\r\n", b"5;" + b"x" * 200_000, b"0\r\n" + b"X: y\r\n" * 20_000):
        with place.raw() as raw:
            raw.send(CALL + b"Transfer-Encoding: chunked\r\n\r\n" + body)
            assert raw.answer()[0] in (0, 400, 401)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/mcp", "length"),
        ("/sse/messages/", "chunked"),
        ("/tools/memory_store", "length"),
        ("/tools/memory_store", "chunked"),
        ("/ui/login", "chunked"),
        ("/nowhere", "length"),
    ],
)
@pytest.mark.slow
def test_a_client_that_sends_twenty_megabytes_reads_the_answer(place: Place, path: str, form: str) -> None:
    token = granted(place.server, f"sender {path} {form}")
    body = b" " * (20 << 20)
    rest = {
        "length": b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        "chunked": b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body),
    }[form]
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{WORKSPACE}: default\r\n"
    head += "Content-Type: application/json\r\n"
    with place.raw() as raw:
        assert raw.send(head.encode() + rest) == len(head) + len(rest)
        status, text = raw.answer()
        assert (status, b"error" in text or b"404" in text) == (404 if path == "/nowhere" else 413, True)
        raw.send(HELLO + b"\r\n")
        assert raw.answer()[0] == 200, "the connection goes on"


def test_a_body_without_end_is_read_only_so_far(place: Place) -> None:
    with place.raw() as raw:
        raw.send(CALL + b"Content-Length: 999999999999\r\n\r\n")
        assert raw.answer()[0] == 401
        sent = 0
        while (now := raw.send(b" " * (1 << 20))) == 1 << 20:
            sent += now
        assert admission.REST // 2 < sent < 2 * (admission.REST + admission.BODY)
        assert raw.ended()


def test_a_body_of_many_small_chunks_is_refused(place: Place) -> None:
    named = b"Authorization: Bearer " + granted(place.server, "chunks").encode() + b"\r\n"
    head, end = CALL + named + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n}\r\n0\r\n\r\n"
    for chunks, status in (
        (b"1\r\n \r\n" * 900, 200),
        (b"1\r\n \r\n" * 1_100, 400),
        (b"60\r\n%b\r\n" % (b" " * 96) * 9_000, 400),
        (b"120\r\n%b\r\n" % (b" " * 288) * 9_000, 200),
    ):
        with place.raw() as raw:
            raw.send(head + b"1\r\n{\r\n" + chunks + end)
            assert raw.answer()[0] == status


@pytest.mark.slow
def test_a_body_with_two_lengths_is_refused(place: Place) -> None:
    with place.raw() as raw:
        raw.send(CALL + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HELLO + b"\r\n")
        assert raw.answer()[0] == 400
        assert raw.answer()[0] == 0  # nothing after it is read either


@pytest.mark.parametrize(
    ("path", "era"),
    [
        (b"/mcp", b""),
        (b"/mcp", b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"),
        (b"/tools/memory_inspect", b""),
        (b"/ui/login", b""),
        (b"/sse/messages/", b""),
    ],
)
def test_a_client_that_leaves_within_a_body_causes_no_error(place: Place, path: bytes, era: bytes) -> None:
    """After each test the server's log is checked for tracebacks."""
    named = b"Authorization: Bearer " + granted(place.server, f"goes {path!r} {era!r}").encode() + b"\r\n"
    head = CALL.replace(b"/tools/memory_inspect", path) + b"Accept: application/json, text/event-stream\r\n"
    with place.raw() as raw:
        raw.send(head + named + era + b"Content-Length: 500\r\n\r\n" + b"{")
        until(lambda: place.server.running() == 1, "the request")
    until(lambda: place.server.running() == 0, "its end")


@pytest.mark.parametrize("path", [b"/mcp", b"/tools/memory_inspect"])
def test_slow_bodies_take_limited_memory(place: Place, monkeypatch: pytest.MonkeyPatch, path: bytes) -> None:
    monkeypatch.setattr(bodies._UnderWay, "MOST", 150_000)
    named = b"Authorization: Bearer " + granted(place.server, f"slowly {path!r}").encode() + b"\r\n"
    head = CALL.replace(b"/tools/memory_inspect", path) + b"Accept: application/json, text/event-stream\r\n" + named
    with place.raw() as slow:
        slow.send(head + b"Content-Length: 200000\r\n\r\n" + b" " * 100_000)
        until(lambda: bodies._under_way.size == 100_000, "the first part")
        assert place.ask(head + b"Content-Length: 100000\r\n\r\n", b" " * 100_000) == 503
        assert place.ask(CALL + named + b"Content-Length: 2\r\n\r\n{}") == 200
    until(lambda: bodies._under_way.size == 0, "the end of the slow one")
    assert place.ask(CALL + named + b"Content-Length: 100000\r\n\r\n", b"{}" + b" " * 99_998) == 200


# honest clients ------------------------------------------------------------------------------------------------------


def test_requests_may_come_in_pieces_and_one_after_another(place: Place) -> None:
    named = b"Authorization: Bearer " + granted(place.server, "pieces").encode() + b"\r\n"
    with place.raw() as raw:
        for _ in range(2):
            for part in (CALL[:20], CALL[20:], named, b"Content-Length: 2\r\n", b"\r\n{", b"}"):
                time.sleep(0.02)
                raw.send(part)
            assert raw.answer()[0] == 200
        raw.send((HELLO + b"\r\n") * 3)  # pipelined
        assert [raw.answer()[0] for _ in range(3)] == [200] * 3
    with place.raw() as raw:
        raw.send(CALL + named + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert raw.answer() == (100, b"")
        raw.send(b"{}")
        assert raw.answer()[0] == 200


@pytest.mark.parametrize(
    ("url", "host", "status"),
    [
        (b"http://localhost/health/live", b"localhost", 200),
        (b"HTTP://127.0.0.1:80/health/live?x", b"evil", 200),
        (b"http://evil/health/live", b"localhost", 421),
        (b"http://x@localhost/health/live", b"localhost", 421),
        (b"http:///health/live", b"localhost", 421),
        (b"http://localhost", b"localhost", 307),
    ],
)
def test_an_absolute_url_is_accepted_and_names_the_host(place: Place, url: bytes, host: bytes, status: int) -> None:
    assert place.ask(b"GET " + url + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n") == status


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
@pytest.mark.parametrize("security", SECURITY)
def test_idle_connections_do_not_block_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, security: str) -> None:
    monkeypatch.setattr(admission, "MOST", 200)
    with placed(tmp_path, security) as place, ExitStack() as held:
        before = descriptors()
        for number in range(300):
            idle = held.enter_context(closing(socket.create_connection(("127.0.0.1", place.server.port), PATIENCE)))
            if number % 2:
                idle.send(b"GET / HTTP/1.1\r\nHost: lo")
        assert place.ask(HELLO + b"\r\n") == 200
        assert descriptors() - before <= 300 + admission.MOST // 2 + 50, "the ends of both sides"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


# time: the limits are shortened --------------------------------------------------------------------------------------


@contextmanager
def hurried(
    home: Path, monkeypatch: pytest.MonkeyPatch, toolsets: str = "recall", **limits: float
) -> Iterator[HttpServer]:
    """Run a server with these limits instead of those of `admission`. No connection may be left at the end."""
    for name, limit in {"SWEEP": 0.05, "LINGER": 0.2, **limits}.items():
        monkeypatch.setattr(admission, name, limit)
    with serving(home, "--workspace", "default", MEMORY_TOOLSETS=toolsets) as server:
        yield server
        server.client.close()
        until(lambda: not server.door._open, "the end of all connections")


def test_missing_data_is_not_awaited_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hurried(tmp_path, monkeypatch, HEAD_TIME=0.5, BODY_TIME=0.5) as server, ExitStack() as held:
        silent, half, half_body, second = (held.enter_context(closing(Raw(server.port))) for _ in range(4))
        half.send(HELLO)
        half_body.send(CALL + b"Content-Length: 20\r\n\r\n{")
        second.send(HELLO + b"\r\n")
        assert second.answer()[0] == 200
        second.send(HELLO)
        assert silent.answer()[0] == 0
        for raw in (half, half_body, second):
            assert raw.answer() == (408, b'{"error": "Request Timeout"}')
            assert raw.ended()


@pytest.mark.slow
def test_a_slow_upload_takes_the_time_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.dumps({"content": "x" * 3_000}).encode()
    with hurried(tmp_path, monkeypatch, BODY_TIME=0.5, SLOWEST=100) as server, closing(Raw(server.port)) as raw:
        raw.send(CALL.replace(b"inspect", b"store") + b"Content-Length: %d\r\n\r\n" % len(content))
        for start in range(0, len(content), 200):
            raw.send(content[start : start + 200])
            time.sleep(0.1)
        assert raw.answer()[0] == 200


@pytest.mark.parametrize("era", [LEGACY, MODERN, "sse"])
@pytest.mark.slow
def test_streams_live_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str) -> None:
    limits = {"HEAD_TIME": 0.3, "BODY_TIME": 0.3, "STALL": 0.3}
    with (
        hurried(tmp_path, monkeypatch, "vault", **limits) as server,
        closing(Ears(server, era, {}).listen("memory://vault/k")) as ears,
    ):
        time.sleep(1.5)
        assert server.tool("commit_memory", scope="vault", key="k", content="text").status_code == 200
        until(lambda: "memory://vault/k" in ears.notices(), "a notice")


def test_a_client_that_reads_no_answer_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hurried(tmp_path, monkeypatch, STALL=0.5) as server, closing(Raw(server.port)) as raw:
        raw._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        raw.send((b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n") * 2_000)
        until(lambda: not raw.send(b"G"), "the end")


def test_the_longest_waiting_connection_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with hurried(tmp_path, monkeypatch, MOST=8) as server, ExitStack() as held:
        crowd = [held.enter_context(closing(Raw(server.port))) for _ in range(20)]
        assert all(raw.ended() for raw in crowd[:16])
        assert len([line for line in caplog.messages if line.startswith("there are too many connections")]) == 1
        strangers = [held.enter_context(closing(Raw(server.port, None, f"127.0.0.{n}"))) for n in range(2, 7)]
        for raw in (crowd[-1], strangers[-1]):
            raw.send(HELLO + b"\r\n")
            assert raw.answer()[0] == 200


def test_a_token_has_a_limited_number_of_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "AT_ONCE", 3)
    with serving(tmp_path, "--workspace", "default") as server, ExitStack() as held:
        mine, others = bearer(granted(server, "mine")), bearer(granted(server, "others"))

        def stream(headers: dict[str, str]) -> httpx2.Response:
            return held.enter_context(server.client.stream("GET", f"{server.url}/sse", headers=headers))

        streams = [stream(mine) for _ in range(3)]
        assert {one.status_code for one in streams} == {200}
        refused = stream(mine)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
        assert "3 requests are already open" in refused.read().decode()
        assert stream(others).status_code == 200
        assert stream({}).status_code == 401
        streams[0].close()
        until(lambda: stream(mine).status_code == 200, "room for another stream")


def test_a_token_has_a_limited_number_of_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST", 3)
    with serving(tmp_path, "--workspace", "default") as server:
        mine, others = bearer(granted(server, "mine")), bearer(granted(server, "others"))

        def call(session: dict[str, str], method: str = "tools/list", **params: Any) -> httpx2.Response:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            accept = {"Accept": "application/json, text/event-stream"}
            return server.request("POST", "/mcp", json=body, headers=accept | session)

        def opened(headers: dict[str, str]) -> dict[str, str]:
            hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            answer = call(headers, "initialize", **hello)
            assert answer.status_code == 200
            return headers | {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}

        strangers = opened(others)
        first, second, third = (opened(mine) for _ in range(3))
        assert call(first).status_code == 200
        fourth = opened(mine)
        until(lambda: call(second).status_code == 404, "the end of what was left alone for longest")
        assert {call(one).status_code for one in (first, third, fourth, strangers)} == {200}
