"""A model on 127.0.0.1 that follows a script: it calls the tools in it, one per turn, and then says that it is done.

It keeps the requests that it was shown.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.real_clients.dialects import DIALECTS, Call, Json, Offer, Reply, Request, Result, compact
from tests.services import served

DONE = "All of it is done."
TOOLS = ("memory_store", "memory_recall", "memory_context", "memory_forget", "memory_inspect")
"""The tools of memoryd that an agent has by default."""


@dataclass
class Model:
    """The model, and the requests since its script last changed."""

    log: Path
    """The file that gets every request and reply."""
    url: str = ""
    script: Sequence[Call] = ()
    requests: list[Request] = field(default_factory=list)
    _number: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def follow(self, *script: Call) -> None:
        """Follow a new script, and forget the requests so far."""
        with self._lock:
            self.script, self.requests = script, []

    def offers(self) -> dict[str, Offer]:
        """Return the memory tools that it was offered, by memoryd's names."""
        return {name: offer for request in self.requests for offer in request.offers if (name := _own(offer.name))}

    def results(self) -> tuple[Result, ...]:
        """Return the answers of memory tools that it was shown, in the longest conversation."""
        return max(map(_results, self.requests), key=len, default=())

    def words(self) -> str:
        """Return everything that it was shown except the tools."""
        return "\n".join(request.words for request in self.requests)

    def answer(self, path: str, body: Json) -> tuple[int, object]:
        """Answer a request of a client."""
        with self._lock, self.log.open("a", encoding="utf-8") as log:
            log.write(compact({"path": path, "body": body}) + "\n")
            plain = path.partition("?")[0]
            dialect = next((one for end, one in DIALECTS.items() if plain.endswith(end)), None)
            if dialect is None:
                return 404, {"error": {"message": f"the scripted model does not support {plain}"}}
            request = dialect.read(body)
            self.requests.append(request)
            self._number += 1
            reply = self._reply(request)
            log.write(compact({"reply": str(reply)}) + "\n")
            return 200, dialect.written(path, body, reply, self._number)

    def _reply(self, request: Request) -> Reply:
        done = len(_results(request))
        if done >= len(self.script):
            return DONE
        wanted = self.script[done]
        for offer in request.offers:
            if _own(offer.name) == wanted.tool:
                return Call(offer.name, wanted.arguments, offer.namespace)
        return DONE


def _own(name: str) -> str:
    """Return memoryd's name of a tool that a client may call `mcp__memory__NAME` or similar; '' for other tools."""
    return next((tool for tool in TOOLS if name == tool or name.endswith(f"_{tool}")), "")


def _results(request: Request) -> tuple[Result, ...]:
    return tuple(result for result in request.results if _own(result.tool))


@contextmanager
def model(log: Path) -> Iterator[Model]:
    """Run a model and yield it."""
    one = Model(log)
    with served(one.answer) as one.url:
        yield one
