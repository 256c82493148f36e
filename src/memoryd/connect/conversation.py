"""The part of a client's conversation with its service that another service must know if this one dies."""

import json
from collections.abc import Mapping
from typing import Any

from memoryd.connect.channel import Lines, object_in

RpcMessage = dict[str, Any]

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CALL, LISTEN = "tools/call", "subscriptions/listen"
NAMING, SWITCHING = "set_session_id", "switch_project"
"""The tools that change the state of a connection: later calls depend on them."""
SESSION_META = "memoryd/session"
INTERNAL_ERROR = -32603
UNKNOWN = (
    "The service of memoryd ended during this call. It is unknown whether the call took effect; check before you "
    "repeat it. `memoryd service logs` may tell why."
)


class Conversation:
    """The handshake, the choices, the subscriptions and the unanswered requests of a client.

    The database holds the project that a client has switched to, except for a read-only client.
    """

    def __init__(self, *, read_only: bool = False) -> None:
        self._choosing = {NAMING, SWITCHING} if read_only else {NAMING}
        self._hello: RpcMessage | None = None
        self._initialized: RpcMessage | None = None
        self._subscriptions: dict[str, RpcMessage] = {}
        self._choices: list[RpcMessage] = []
        """In order: a project is chosen for the session that was named before it."""
        self._open: dict[int | str, RpcMessage] = {}
        self._repeated: set[int | str] = set()

    @property
    def waits(self) -> bool:
        """Whether a request that ends with an answer is unanswered."""
        return any(request["method"] != LISTEN for request in self._open.values())

    @property
    def watches(self) -> bool:
        """Whether the client expects notifications, so that it needs a service even while it is silent."""
        return bool(self._subscriptions) or any(request["method"] == LISTEN for request in self._open.values())

    def asked(self, line: bytes) -> None:
        """Note a line of the client that is sent to the service."""
        message = object_in(line) or {}  # the service answers what is no message
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            return
        if isinstance(number, int | str) and not isinstance(number, bool):
            self._open[number] = message if self._is_kept(message) else {"id": number, "method": method}
        elif method == "notifications/initialized":
            self._initialized = message
        elif method == "notifications/cancelled":
            self._close(_parameters(message).get("requestId"))

    def answered(self, line: bytes) -> None:
        """Note a line of the service that is passed to the client."""
        message = object_in(line) or {}
        request = self._close(message.get("id")) if "method" not in message else None
        if request is None or "result" not in message:
            return
        uri = str(_parameters(request).get("uri"))
        match request["method"]:
            case "initialize":
                self._hello = request
            case "resources/subscribe":
                self._subscriptions[uri] = request
            case "resources/unsubscribe":
                self._subscriptions.pop(uri, None)
            case "tools/call" if self._is_kept(request) and not message["result"].get("isError"):
                # a choice replaces the one right before it if that used the same tool for the same session
                if self._choices and _choice(self._choices[-1]) == _choice(request):
                    del self._choices[-1]
                self._choices.append(request)

    def _is_kept(self, request: RpcMessage) -> bool:
        """Return whether to keep a whole request: calls may be large and are not repeated, except choices."""
        return request["method"] != CALL or _parameters(request).get("name") in self._choosing

    def _close(self, number: object) -> RpcMessage | None:
        if isinstance(number, int | str) and not isinstance(number, bool):
            self._repeated.discard(number)
            return self._open.pop(number, None)
        return None

    # after a death ---------------------------------------------------------------------------------------------------

    def broken(self, *, repeating: bool) -> list[bytes]:
        """Return error answers for the requests that are lost: calls, and with `repeating` False all others too.

        A request that was already repeated is answered too, since it may be what kills the services.
        """
        lost = [
            number
            for number, request in self._open.items()
            if request["method"] == CALL or not repeating or number in self._repeated
        ]
        for number in lost:
            self._close(number)
        error = {"code": INTERNAL_ERROR, "message": UNKNOWN}
        answers = ({"jsonrpc": "2.0", "id": number, "error": error} for number in lost)
        return [json.dumps(answer).encode() + b"\n" for answer in answers]

    def replay(self, service: Lines) -> list[bytes]:
        """Bring another service to the state of the last one; return the lines from it that the client should see.

        Unanswered requests that change nothing are sent again. Raise OSError.
        """
        others: list[bytes] = []
        hello = [self._hello] if self._hello else []
        for request in (*hello, *self._choices, *self._subscriptions.values()):
            others += _exchanged(service, {**request, "id": f"memoryd:{request['id']}"}, "")
            if request is self._hello and self._initialized:
                service.send(self._initialized)
        for request in self._open.values():
            if request["method"] == LISTEN:
                others += _exchanged(service, request, ACKNOWLEDGED)
            else:
                service.send(request)
        self._repeated |= {number for number, request in self._open.items() if request["method"] != LISTEN}
        return others


def _exchanged(service: Lines, request: RpcMessage, until: str) -> list[bytes]:
    """Send a request; return the lines before its answer, or before the notification that acknowledges it."""
    service.send(request)
    others: list[bytes] = []
    while True:
        line = service.line()
        answer = object_in(line) or {}
        if answer.get("method") == until or (answer.get("id") == request["id"] and "method" not in answer):
            if "error" in answer:
                raise ConnectionAbortedError(f"the service refuses to continue: {answer['error']}")
            return others
        others.append(line)


def _parameters(message: Mapping[str, Any]) -> Mapping[str, Any]:
    found = message.get("params")
    return found if isinstance(found, dict) else {}


def _choice(request: RpcMessage) -> tuple[object, object]:
    """Return the tool with which a request chooses something, and the session that it names, if any."""
    given = _parameters(request)
    meta = given.get("_meta")
    return given.get("name"), meta.get(SESSION_META) if isinstance(meta, dict) else None
