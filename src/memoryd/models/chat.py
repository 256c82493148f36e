"""A language model behind an endpoint with OpenAI's chat completions API, and its hourly budget."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import httpx2
from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from memoryd.errors import ModelError
from memoryd.models.llm import CALLS, Completion, Llm
from memoryd.models.openai import RETRIES, Advice, OpenAIApi
from memoryd.models.service import ServiceAnswer
from memoryd.settings import Settings
from memoryd.text import estimate_tokens


def open_llm(settings: Settings) -> Llm:
    """Return the model of MEMORY_LLM_MODEL with an hourly budget."""
    return Llm(Chat(settings), HourlyBudget(CALLS, settings.llm_tokens))


class HourlyBudget:
    """A limit on the requests and the tokens of an hour."""

    def __init__(self, calls: int, tokens: int) -> None:
        self._calls, self._tokens = RateLimitItemPerHour(calls), RateLimitItemPerHour(tokens)
        self._spent = MovingWindowRateLimiter(MemoryStorage())
        self._lock = threading.Lock()

    def take(self, tokens: int) -> None:
        """Reserve one call of about `tokens` tokens. Raise ModelError if the budget does not allow it."""
        if not self._spent.test(self._tokens, cost=tokens) or not self._spent.hit(self._calls, "calls"):
            raise ModelError(
                f"The budget for this hour is spent: {self._calls.amount} calls, "
                f"{self._tokens.amount} tokens (MEMORY_LLM_TOKENS)."
            )

    def spend(self, tokens: int) -> None:
        """Record the number of tokens that were used; if that is more than is left, then all that is left."""
        with self._lock:
            left = self._spent.get_window_stats(self._tokens).remaining
            self._spent.hit(self._tokens, cost=max(min(tokens, left), 1))  # what does not fit would not be recorded


class Chat:
    """See models.llm.Endpoint."""

    def __init__(self, settings: Settings) -> None:
        self._api = OpenAIApi(settings.llm_base_url, settings.llm_api_key, "llm", _COMPLETIONS)
        self._model = settings.llm_model
        self._takes_schemas = True
        self.name = f"{self._model} at {self._api.service.place}"

    def ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], seconds: float) -> Completion:
        """See Endpoint. After an endpoint has refused a schema, none is sent, because the prompt contains it too."""
        until = time.monotonic() + seconds
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        body = {"model": self._model, "messages": messages, "max_tokens": tokens, "temperature": 0}
        if self._takes_schemas:
            answer = self._answer({**body, "response_format": _format(schema)}, until)
            self._takes_schemas = answer.status != httpx2.codes.BAD_REQUEST
        if not self._takes_schemas:
            answer = self._answer(body, until)
        return self._completion(self._api.demand(self.name, answer), system + prompt)

    def _answer(self, body: Mapping[str, Any], until: float) -> ServiceAnswer:
        left = max(until - time.monotonic(), 0.001)
        return self._api.answer(self.name, body, left, retries=RETRIES, total=left)

    def _completion(self, body: Any, request: str) -> Completion:
        match body:
            case {"choices": [{"message": {"content": str(text)}}, *_]}:
                match body.get("usage"):
                    case {"total_tokens": int(tokens)}:
                        return Completion(text, tokens)
                return Completion(text, estimate_tokens(request) + estimate_tokens(text))
        raise ModelError(f"{self.name} did not answer with a text. {_COMPLETIONS.address}")


_COMPLETIONS = Advice(
    key="MEMORY_LLM_API_KEY",
    url="MEMORY_LLM_BASE_URL",
    model="MEMORY_LLM_MODEL",
    path="/chat/completions",
    late="did not answer in time. Check its load, or raise MEMORY_LLM_TIMEOUT.",
)


def _format(schema: Mapping[str, Any]) -> Any:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}
