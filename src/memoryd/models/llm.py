"""The language model: it fills typed shapes. Its client, chat.py, is imported only if a model is configured."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from memoryd.models import providers
from memoryd.origin import address
from memoryd.settings import Settings
from memoryd.text import estimate_tokens

OPENAI = "https://api.openai.com/v1"  # used if there is a key but no address
CALLS = 600  # requests an hour: ten a minute are more than agents and maintenance make, unless something goes wrong

ShapeT = TypeVar("ShapeT", bound=BaseModel)


class Usage:
    """The calls, failures and tokens of a model so far."""

    def __init__(self) -> None:
        self.calls = self.failures = self.tokens = 0


class Llm(Protocol):
    """A language model with its budget and its circuit breaker. Safe to use from several threads."""

    name: str
    """The model and its host, for people; never a key."""
    usage: Usage

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT], until: float) -> ShapeT:
        """Return an answer of a shape, of at most `tokens` tokens. An invalid one is sent back once for repair.

        Raise ModelError if there is no valid answer by `until`, a time of the monotonic clock.
        """


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
        return self.llm.name

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT]) -> ShapeT:
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
        self.prompts += 1
        self.tokens += expected(system, with_schema(prompt, shape.model_json_schema()), tokens)
        return shape.model_validate({field: [] for field in shape.model_fields})


def with_schema(prompt: str, schema: Mapping[str, Any]) -> str:
    """Return a prompt that asks for a JSON object."""
    return f"{prompt}\n\nAnswer with one JSON object of this schema and nothing else:\n{json.dumps(schema)}"


def expected(system: str, prompt: str, tokens: int) -> int:
    """Return the estimated tokens of a request with an answer of maximum length."""
    return estimate_tokens(system) + estimate_tokens(prompt) + tokens


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
    return providers.open_llm(settings) if configured(settings) else None
