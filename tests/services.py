"""A web server on 127.0.0.1 that plays what is not ours: a model's endpoint, Ollama."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, dict[str, Any]], tuple[int, object]]
"""Path and body of a request to status and body; bytes are sent as they are, text as events, all else as JSON."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Who did not wait for an answer is gone."""


def _content(said: object) -> tuple[str, bytes]:
    match said:
        case bytes():
            return "text/html", said
        case str():
            return "text/event-stream", said.encode()
        case _:
            return "application/json", json.dumps(said).encode()


@contextmanager
def served(answer: Answer) -> Iterator[str]:
    """Its URL, for as long as it answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
            status, said = answer(self.path, body)
            kind, content = _content(said)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815 - the name is http.server's

        def log_message(self, *_: object) -> None:
            """A test's output stays clean."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
