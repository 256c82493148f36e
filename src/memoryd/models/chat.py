"""A language model behind an endpoint with OpenAI's chat completions API, an hourly budget and a circuit breaker."""

import logging
import re
import threading
import time
from collections.abc import Mapping
from typing import Any

import httpx2
from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from pydantic import ValidationError

from memoryd.errors import ModelError
from memoryd.models.llm import CALLS, ShapeT, Usage, expected, with_schema
from memoryd.models.openai import RETRIES, Advice, OpenAIApi
from memoryd.models.service import ServiceAnswer
from memoryd.settings import Settings
from memoryd.text import estimate_tokens

log = logging.getLogger(__name__)

FAILURES = 3  # consecutive failures that open the circuit breaker ...
PAUSE = 60.0  # ... for this many seconds
FAULTS = 500  # characters of the validation error, and of the answer, that a repair prompt quotes
REPAIR = "\n\nYour last answer was not valid: {}\nIt began with: {}\nAnswer again, with the JSON object alone."


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
    """The model of MEMORY_LLM_MODEL: see models.llm.Llm."""

    def __init__(self, settings: Settings) -> None:
        self._api = OpenAIApi(settings.llm_base_url, settings.llm_api_key, "llm", _COMPLETIONS)
        self._model = settings.llm_model
        self._takes_schemas = True
        self._budget = HourlyBudget(CALLS, settings.llm_tokens)
        self._lock = threading.Lock()
        self._failed = 0
        self._again_at = 0.0
        self.name = f"{self._model} at {self._api.service.place}"
        self.usage = Usage()

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT], until: float) -> ShapeT:
        schema = shape.model_json_schema()
        request = with_schema(prompt, schema)
        text = self._written(system, request, tokens, schema, until)
        try:
            return _read(text, shape)
        except ValueError as error:
            repair = request + REPAIR.format(str(error)[:FAULTS], text[:FAULTS])
        text = self._written(system, repair, tokens, schema, until)
        try:
            return _read(text, shape)
        except ValueError as error:
            raise ModelError(f"{self.name} gave two answers that do not match the schema: {error}") from error

    def _written(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], until: float) -> str:
        self._demand_closed()
        left = until - time.monotonic()
        if left <= 0:
            raise ModelError(f"No time is left to ask {self.name} (MEMORY_LLM_TIMEOUT).")
        self._budget.take(expected(system, prompt, tokens))
        self.usage.calls += 1
        try:
            text, spent = self._ask(system, prompt, tokens, schema, until)
        except ModelError as error:
            self._fail(error)
            raise
        self._failed = 0
        self.usage.tokens += spent
        self._budget.spend(spent)
        return text

    def _ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], until: float) -> tuple[str, int]:
        """Return an answer and the tokens of prompt and answer.

        After an endpoint has refused a schema, none is sent, because the prompt contains it too.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        body = {"model": self._model, "messages": messages, "max_tokens": tokens, "temperature": 0}
        if self._takes_schemas:
            form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}
            answer = self._answer({**body, "response_format": form}, until)
            self._takes_schemas = answer.status != httpx2.codes.BAD_REQUEST
        if not self._takes_schemas:
            answer = self._answer(body, until)
        return self._completion(self._api.demand(self.name, answer), system + prompt)

    def _answer(self, body: Mapping[str, Any], until: float) -> ServiceAnswer:
        left = max(until - time.monotonic(), 0.001)
        return self._api.answer(self.name, body, left, retries=RETRIES, total=left)

    def _completion(self, body: Any, request: str) -> tuple[str, int]:
        match body:
            case {"choices": [{"message": {"content": str(text)}}, *_]}:
                match body.get("usage"):
                    case {"total_tokens": int(tokens)}:
                        return text, tokens
                return text, estimate_tokens(request) + estimate_tokens(text)
        raise ModelError(f"{self.name} did not answer with a text. {_COMPLETIONS.address}")

    # the circuit breaker ---------------------------------------------------------------------------------------------

    def _demand_closed(self) -> None:
        left = self._again_at - time.monotonic()
        if left > 0:
            raise ModelError(f"{self.name} has failed {FAILURES} times in a row; it is used again in {left:.0f} s.")

    def _fail(self, error: ModelError) -> None:
        with self._lock:
            self.usage.failures += 1
            self._failed += 1
            if self._failed == 1:
                log.warning("the language model: %s", error)
            if self._failed >= FAILURES:
                self._again_at = time.monotonic() + PAUSE
                self._failed = 0
                log.warning("the language model is not used for %.0f s", PAUSE)


_COMPLETIONS = Advice(
    key="MEMORY_LLM_API_KEY",
    url="MEMORY_LLM_BASE_URL",
    model="MEMORY_LLM_MODEL",
    path="/chat/completions",
    late="did not answer in time. Check its load, or raise MEMORY_LLM_TIMEOUT.",
)


_FENCE = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)


def _read(text: str, shape: type[ShapeT]) -> ShapeT:
    """Parse the JSON object in an answer, which may be fenced or surrounded by prose. Raise ValueError."""
    fenced = _FENCE.match(text)
    inner = fenced[1] if fenced else text[text.find("{") : text.rfind("}") + 1] or text
    inner = inner.replace(r"\u0000", " ")  # no store accepts it
    try:
        return shape.model_validate_json(inner)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in error.errors()[:5])
        raise ValueError(wrong) from None
