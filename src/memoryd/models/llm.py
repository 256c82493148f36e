"""The language model: it fills typed shapes, within a budget and behind a circuit breaker.

The client of the endpoint is imported only if a model is configured.
"""

import json
import logging
import math
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from memoryd.errors import ModelError
from memoryd.models import providers
from memoryd.origin import address
from memoryd.settings import Settings
from memoryd.text import estimate_tokens

log = logging.getLogger(__name__)

OPENAI = "https://api.openai.com/v1"  # used if there is a key but no address
CALLS = 600  # requests an hour: ten a minute are more than agents and maintenance make, unless something goes wrong
FAILURES = 3  # consecutive failures that open the circuit breaker ...
PAUSE = 60.0  # ... for this many seconds
FAULTS = 500  # characters of the validation error, and of the answer, that a repair prompt quotes
REPAIR = "\n\nYour last answer was not valid: {}\nIt began with: {}\nAnswer again, with the JSON object alone."

ShapeT = TypeVar("ShapeT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Completion:
    """The text that a model wrote, and the number of tokens of prompt and answer."""

    text: str
    tokens: int


class Endpoint(Protocol):
    """A service that runs a model. Safe to use from several threads."""

    name: str
    """The model and its host, for people; never a key."""

    def ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], seconds: float) -> Completion:
        """Return an answer of at most `tokens` tokens: a JSON object of the schema, if the endpoint supports that.

        Raise ModelError if the request fails, or is not answered within `seconds`, retries included.
        """
        ...


class UsageBudget(Protocol):
    """A limit on calls and tokens in a period."""

    def take(self, tokens: int) -> None:
        """Reserve one call of about `tokens` tokens. Raise ModelError if the budget does not allow it."""

    def spend(self, tokens: int) -> None:
        """Record the number of tokens that were used."""


class Usage:
    """The calls, failures and tokens of a model so far."""

    def __init__(self) -> None:
        self.calls = self.failures = self.tokens = 0


class Llm:
    """A language model with its budget and its circuit breaker."""

    def __init__(self, endpoint: Endpoint, budget: UsageBudget) -> None:
        self.name = endpoint.name
        self.usage = Usage()
        self._endpoint = endpoint
        self._budget = budget
        self._lock = threading.Lock()
        self._failed = 0
        self._again_at = 0.0

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT], until: float) -> ShapeT:
        """Return an answer of a shape, of at most `tokens` tokens. An invalid one is sent back once for repair.

        Raise ModelError if there is no valid answer by `until`, a time of the monotonic clock.
        """
        schema = shape.model_json_schema()
        request = _with_schema(prompt, schema)
        text = self._ask(system, request, tokens, schema, until)
        try:
            return _read(text, shape)
        except ValueError as error:
            repair = request + REPAIR.format(str(error)[:FAULTS], text[:FAULTS])
        text = self._ask(system, repair, tokens, schema, until)
        try:
            return _read(text, shape)
        except ValueError as error:
            raise ModelError(f"{self.name} gave two answers that do not match the schema: {error}") from error

    def _ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], until: float) -> str:
        self._demand_closed()
        left = until - time.monotonic()
        if left <= 0:
            raise ModelError(f"No time is left to ask {self.name} (MEMORY_LLM_TIMEOUT).")
        self._budget.take(_tokens(system, prompt, tokens))
        self.usage.calls += 1
        try:
            answer = self._endpoint.ask(system, prompt, tokens, schema, left)
        except ModelError as error:
            self._fail(error)
            raise
        self._failed = 0
        self.usage.tokens += answer.tokens
        self._budget.spend(answer.tokens)
        return answer.text

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


class Writer(Protocol):
    """A language model for one caller."""

    @property
    def name(self) -> str:
        """The model and its host, for people."""

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT]) -> ShapeT:
        """Return an answer of a shape, of at most `tokens` tokens. Raise ModelError."""


@dataclass(frozen=True, slots=True)
class TimedWriter:
    """A language model with a time limit for each answer and for all answers together."""

    llm: Llm
    patience: float
    """Seconds for each answer."""
    until: float = math.inf
    """The time of the monotonic clock by which all requests of a call end, retries and repairs included."""

    @property
    def name(self) -> str:
        """See Writer."""
        return self.llm.name

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT]) -> ShapeT:
        """See Writer."""
        until = min(self.until, time.monotonic() + self.patience)
        return self.llm.fill(system, prompt, tokens, shape, until)


@dataclass(slots=True)
class CountingWriter:
    """A dry run: counts prompts without sending them, and answers each with a shape of empty lists."""

    name: str = ""
    prompts: int = 0
    tokens: int = 0
    """The estimated tokens of the prompts and of answers of maximum length."""

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT]) -> ShapeT:
        """See Writer."""
        self.prompts += 1
        self.tokens += _tokens(system, _with_schema(prompt, shape.model_json_schema()), tokens)
        return shape.model_validate({field: [] for field in shape.model_fields})


def _with_schema(prompt: str, schema: Mapping[str, Any]) -> str:
    return f"{prompt}\n\nAnswer with one JSON object of this schema and nothing else:\n{json.dumps(schema)}"


def _tokens(system: str, prompt: str, tokens: int) -> int:
    """Return the estimated tokens of a request with an answer of maximum length."""
    return estimate_tokens(system) + estimate_tokens(prompt) + tokens


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


def configured(settings: Settings) -> bool:
    """Return whether a language model is configured: nothing is sent unless a key or an address is given."""
    return bool(settings.llm_api_key or settings.llm_base_url)


def described(settings: Settings) -> str:
    """Return a description, for people, of the model and its uses; never a key."""
    if not configured(settings):
        return "none: nothing is sent anywhere"
    host = address(settings.llm_base_url or OPENAI)
    what = "answers, summaries, reports, and maintenance: pairs of memories to compare, and memories that have decayed"
    return f"{settings.llm_model} at {host}, for {what}"


def load_llm(settings: Settings) -> Llm | None:
    """Return the model of MEMORY_LLM_*, or None if there is none."""
    if not configured(settings):
        return None
    llm: Llm = providers.open_llm(settings)
    return llm
