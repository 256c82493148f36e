"""Raw messages to a server: in this process, or over the pipes of a separate one."""

import json
import queue
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any, Self

from anyio.from_thread import start_blocking_portal
from mcp import types
from mcp.shared.message import SessionMessage

from tests.clients import LEGACY, MODERN, PATIENCE, Json, transport_to
from tests.forks import Fork

HELLO: Json = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
"""The parameters of `initialize`."""


class Wire(ABC):
    """A client that exchanges raw messages with a server, without the SDK's client."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        """The lines that the server has sent so far."""
        self._answers: dict[object, Json] = {}
        self._without_id: queue.SimpleQueue[Json] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._number = 0

    @abstractmethod
    def send(self, line: bytes | object) -> None:
        """Send one line: bytes as they are, everything else as JSON."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect as a client does at its end; return when the server has ended."""

    @abstractmethod
    def ended(self) -> bool:
        """Return whether no more answers can come."""

    def stderr(self) -> str:
        """Return what the server wrote to stderr."""
        return ""

    def _heard(self, line: bytes) -> None:
        self.lines.append(line)
        with suppress(ValueError):
            message = json.loads(line)
            if message.get("id") is None:
                self._without_id.put(message)
            with self._changed:
                self._answers[message.get("id")] = message
                self._changed.notify_all()

    def answer(self, number: object, seconds: float = PATIENCE) -> Json:
        """Return the answer with an id."""
        with self._changed:
            came = self._changed.wait_for(lambda: number in self._answers or self.ended(), timeout=seconds)
        assert came, f"no answer with id {number!r} in {seconds:.0f} s. {self.stderr()}"
        assert number in self._answers, f"no answer with id {number!r}. {self.stderr()}"
        return self._answers[number]

    def without_id(self, seconds: float = PATIENCE) -> Json:
        """Return the next message without an id."""
        return self._without_id.get(timeout=seconds)

    def post(self, method: str, params: Json | None = None) -> int:
        """Send a request without waiting for the answer; return its id."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        return self._number

    def request(self, method: str, params: Json | None = None) -> Json:
        """Send a request and return the complete answer."""
        return self.answer(self.post(method, params))

    def result(self, method: str, params: Json | None = None) -> Json:
        """Return the result of a request that must succeed."""
        answer = self.request(method, params)
        assert "result" in answer, answer
        found: Json = answer["result"]
        return found

    def handshake(self, version: str = LEGACY, **client_info: Any) -> Json:
        """Begin a legacy connection; return the result of `initialize`."""
        info = HELLO["clientInfo"] | client_info
        began = self.result("initialize", HELLO | {"protocolVersion": version, "clientInfo": info})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return began

    def call(self, tool: str, _meta: Json | None = None, **arguments: Any) -> Json:
        """Return the result of a tool call."""
        return self.result("tools/call", {"name": tool, "arguments": arguments} | ({"_meta": _meta} if _meta else {}))

    def ask(self, tool: str, **arguments: Any) -> int:
        """Call a tool without waiting for the answer; return the request's id."""
        return self.post("tools/call", {"name": tool, "arguments": arguments})

    def messages(self) -> list[Json]:
        """Return all lines so far as JSON-RPC messages; fail if one is not."""
        parsed = [json.loads(line) for line in self.lines]
        assert all(message.get("jsonrpc") == "2.0" for message in parsed), parsed
        return parsed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StreamWire(Wire):
    """A wire to a server in this process, over the SDK's in-memory transport."""

    def __init__(self, environ: Mapping[str, str], *arguments: str) -> None:
        super().__init__()
        self._ends = ExitStack()
        transport = self._ends.enter_context(transport_to(environ, *arguments))
        self._portal = self._ends.enter_context(start_blocking_portal())
        read, self._write = self._ends.enter_context(self._portal.wrap_async_context_manager(transport))
        self._reading = self._portal.start_task_soon(self._read, read)

    async def _read(self, stream: Any) -> None:
        async for message in stream:
            self._heard(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    def send(self, line: bytes | object) -> None:
        text = line if isinstance(line, bytes) else json.dumps(line).encode()
        self._portal.call(self._write.send, SessionMessage(types.jsonrpc_message_adapter.validate_json(text)))

    def close(self) -> None:
        self._ends.close()

    def ended(self) -> bool:
        return self._reading.done()


class ProcessWire(Wire):
    """A wire to a server process over its three pipes, a line at a time."""

    START: type[subprocess.Popen[bytes]] = Fork

    def __init__(self, environ: Mapping[str, str], *arguments: str, **how: Any) -> None:
        super().__init__()
        self.process = self.START(
            [sys.executable, "-m", "memoryd", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            **how,
        )
        self._errors: list[bytes] = []
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._heard(line)

    def _read_errors(self) -> None:
        assert self.process.stderr
        self._errors.extend(self.process.stderr)

    def send(self, line: bytes | object) -> None:
        assert self.process.stdin
        self.process.stdin.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        self.process.stdin.flush()

    def ended(self) -> bool:
        return self.process.poll() is not None and not self._threads[0].is_alive()

    def close_stdin(self) -> None:
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def wait(self, seconds: float = PATIENCE) -> int:
        """Return the exit code, once all output of the process has been read."""
        code = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    def stderr(self) -> str:
        return b"".join(self._errors).decode("utf-8", "replace")

    def close(self) -> None:
        self.close_stdin()
        try:
            if self.process.returncode is None:
                assert self.wait() <= 0, self.stderr()  # below 0: a signal that the test sent
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()
            raise
        finally:
            for pipe in (self.process.stdout, self.process.stderr):
                assert pipe
                pipe.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


def envelope(version: str = MODERN, **more: Any) -> Json:
    """Return the `_meta` that every request of the modern era carries."""
    return {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        **more,
    }
