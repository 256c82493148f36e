"""A language model's endpoint over real HTTP: it answers as the test decides, and keeps the requests."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.clients import Json
from tests.services import served

Reply = Callable[[Json], tuple[int, Any]]
"""From a request's body to a status and a body: text becomes the model's reply, bytes are sent as they are."""


@dataclass
class Model:
    """The endpoint. `reply` may be changed at any time."""

    url: str
    reply: Reply = field(default=lambda _body: (500, {"error": {"message": "no reply is set"}}))
    asked: list[Json] = field(default_factory=list)

    def says(self, value: object) -> None:
        """Reply with this from now on: a text, or an object as JSON."""
        text = value if isinstance(value, str) else json.dumps(value)
        self.reply = lambda _body: (200, text)

    def fails(self, status: int, body: object = None) -> None:
        self.reply = lambda _body: (status, body or {"error": {"message": f"status {status}"}})

    def hangs(self, seconds: float) -> None:
        def reply(_body: Json) -> tuple[int, Any]:
            time.sleep(seconds)
            return 200, "late"

        self.reply = reply

    def prompts(self) -> list[str]:
        """Return the user's message of each request."""
        return [str(body["messages"][-1]["content"]) for body in self.asked]

    def settings(self, **more: str) -> dict[str, str]:
        return {"MEMORY_LLM_BASE_URL": f"{self.url}/v1", "MEMORY_LLM_MODEL": "test"} | more


@contextmanager
def model() -> Iterator[Model]:
    def respond(_path: str, body: Json) -> tuple[int, object]:
        here.asked.append(body)
        status, answer = here.reply(body)
        return status, _completion(answer) if isinstance(answer, str) else answer

    here = Model("")
    with served(respond) as here.url:
        yield here


def _completion(text: str) -> Json:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "test", "choices": [choice], "usage": usage}
