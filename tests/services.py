"""A web server on 127.0.0.1 that stands in for external services: a model's endpoint, Ollama."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, dict[str, Any]], tuple[int, object]]
"""From a request's path and body to a status and a body: bytes are sent as they are, text as events, else JSON.
The text of a redirection is the address that it leads to."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignore clients that did not wait for an answer."""


def _content(body: object) -> tuple[str, bytes]:
    match body:
        case bytes():
            return "text/html", body
        case str():
            return "text/event-stream", body.encode()
        case _:
            return "application/json", json.dumps(body).encode()


@contextmanager
def served(answer: Answer) -> Iterator[str]:
    """Run the server and yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
            status, reply = answer(self.path, body)
            kind, content = _content(reply)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", str(reply))
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815 - the name is http.server's

        def log_message(self, *_: object) -> None:
            """Log nothing, to keep the test's output clean."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
