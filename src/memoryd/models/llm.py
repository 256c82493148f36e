"""What writes text: a language model that fills shapes, within a budget, and is left alone for a while after it failed.

Light to import: the client of an endpoint is loaded once one is configured.
"""

import json
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from memoryd import extras
from memoryd.errors import ModelError
from memoryd.settings import Settings, address
from memoryd.text import estimate_tokens

log = logging.getLogger(__name__)

OPENAI = "https://api.openai.com/v1"  # where a key without an address leads
FAILURES = 3  # in a row, after which the model is left alone ...
PAUSE = 60.0  # ... for so many seconds
FAULTS = 500  # characters of what was wrong with an answer that the model is told
REPAIR = "\n\nYour last answer was not valid: {}\nIt began with: {}\nAnswer again, with the JSON object alone."

ShapeT = TypeVar("ShapeT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote, and how many tokens question and answer had."""

    text: str
    tokens: int


class Endpoint(Protocol):
    """Where a model is asked. Safe to use from several threads."""

    name: str
    """The model and where it is, for people; never a key."""

    def ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], seconds: float) -> Answer:
        """An answer of at most so many tokens: a JSON object of the schema, if the endpoint can promise that.

        Raises ModelError, also where there is no answer after so many seconds, whatever was tried again.
        """
        ...


class Budget(Protocol):
    """What may be asked within some time."""

    def take(self, tokens: int) -> None:
        """One call of about so many tokens. Raises ModelError where that is more than there is left."""

    def spend(self, tokens: int) -> None:
        """So many were needed."""


class Usage:
    """What a model was asked for so far."""

    def __init__(self) -> None:
        self.calls = self.failures = self.tokens = 0


class Llm:
    """A language model."""

    def __init__(self, endpoint: Endpoint, budget: Budget) -> None:
        self.name = endpoint.name
        self.usage = Usage()
        self._endpoint = endpoint
        self._budget = budget
        self._lock = threading.Lock()
        self._failed = 0
        self._again_at = 0.0

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT], until: float) -> ShapeT:
        """An answer of a shape, of at most so many tokens. One that is not is sent back once, with what is wrong.

        Raises ModelError where there is no answer that could be used by `until`, a time of the monotonic clock.
        """
        schema = shape.model_json_schema()
        asked = _with_schema(prompt, schema)
        text = self._ask(system, asked, tokens, schema, until)
        try:
            return _read(text, shape)
        except ValueError as error:
            again = asked + REPAIR.format(str(error)[:FAULTS], text[:FAULTS])
        text = self._ask(system, again, tokens, schema, until)
        try:
            return _read(text, shape)
        except ValueError as error:
            raise ModelError(f"{self.name} answered twice with something else than was asked for: {error}") from error

    def _ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], until: float) -> str:
        self._demand_closed()
        left = until - time.monotonic()
        if left <= 0:
            raise ModelError(f"The time to ask {self.name} is over (MEMORY_LLM_TIMEOUT).")
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
            raise ModelError(f"{self.name} has failed {FAILURES} times in a row; it is asked again in {left:.0f} s.")

    def _fail(self, error: ModelError) -> None:
        with self._lock:
            self.usage.failures += 1
            self._failed += 1
            if self._failed == 1:
                log.warning("the language model: %s", error)
            if self._failed >= FAILURES:
                self._again_at = time.monotonic() + PAUSE
                self._failed = 0
                log.warning("the language model is left alone for %.0f s", PAUSE)


class Writer(Protocol):
    """What writes for one caller."""

    @property
    def name(self) -> str:
        """The model and where it is, for people."""

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT]) -> ShapeT:
        """An answer of a shape, of at most so many tokens. Raises ModelError."""


@dataclass(frozen=True, slots=True)
class TimedWriter:
    """A language model for a caller who waits so many seconds for each answer, and for none beyond `until`."""

    llm: Llm
    patience: float
    until: float = math.inf
    """A time of the monotonic clock: all that a call asks ends by it, retries and repairs included."""

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
    """Counts what would be asked, and asks nobody: each answer of a shape of lists is empty."""

    name: str = ""
    prompts: int = 0
    tokens: int = 0
    """About, of questions and of answers as long as they may be."""

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT]) -> ShapeT:
        """See Writer."""
        self.prompts += 1
        self.tokens += _tokens(system, _with_schema(prompt, shape.model_json_schema()), tokens)
        return shape.model_validate({field: [] for field in shape.model_fields})


def _with_schema(prompt: str, schema: Mapping[str, Any]) -> str:
    return f"{prompt}\n\nAnswer with one JSON object of this schema and nothing else:\n{json.dumps(schema)}"


def _tokens(system: str, prompt: str, tokens: int) -> int:
    """About how many a question has, with its answer at its longest."""
    return estimate_tokens(system) + estimate_tokens(prompt) + tokens


_FENCE = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)


def _read(text: str, shape: type[ShapeT]) -> ShapeT:
    """The object in an answer, which may be fenced or have prose around it. Raises ValueError."""
    fenced = _FENCE.match(text)
    inner = fenced[1] if fenced else text[text.find("{") : text.rfind("}") + 1] or text
    inner = inner.replace(r"\u0000", " ")  # no store keeps it
    try:
        return shape.model_validate_json(inner)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in error.errors()[:5])
        raise ValueError(wrong) from None


def configured(settings: Settings) -> bool:
    """Whether there is anybody to ask: nothing is sent anywhere unless a key or an address is given."""
    return bool(settings.llm_api_key or settings.llm_base_url)


def asked(settings: Settings) -> str:
    """Who would be asked what, for people; never a key."""
    if not configured(settings):
        return "none: nothing is sent anywhere"
    host = address(settings.llm_base_url or OPENAI)
    what = "answers, summaries, reports, and maintenance: pairs of memories to compare, and memories that have decayed"
    return f"{settings.llm_model} at {host}, for {what}"


def load_llm(settings: Settings) -> Llm | None:
    """Return the model of MEMORY_LLM_*, or None without one; raise ModelError if its client is not installed."""
    if not configured(settings):
        return None
    open_llm: Callable[[Settings], Llm] = extras.load("memoryd.models.chat:open_llm", "openai", ModelError)
    return open_llm(settings)
