"""OpenAI's API, of OpenAI itself or of a compatible service: embeddings, and what a language model shares with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from memoryd.errors import ModelError
from memoryd.models.base import HURRY, TextEmbedder
from memoryd.models.llm import OPENAI
from memoryd.models.service import ModelService, ServiceAnswer, why
from memoryd.settings import Settings

DEFAULT = "text-embedding-3-small"

TIMEOUT = 60.0
"""Seconds for an answer in the background."""

RETRIES = 1  # after 429, 5xx and a lost connection; none while a caller waits


@dataclass(frozen=True, slots=True)
class Advice:
    """What to check after an error: the settings of a service."""

    key: str
    url: str
    model: str
    path: str
    """The path that is appended to the address."""
    late: str
    """What to do if the service did not answer in time, with the verb for that."""

    @property
    def address(self) -> str:
        """What to check if something else than the service answers."""
        return f"Check {self.url}: `{self.path}` is appended to it, so it usually ends in `/v1`."

    def of(self, status: int) -> str:
        """Return the next step after a refusal."""
        match status:
            case httpx2.codes.UNAUTHORIZED | httpx2.codes.FORBIDDEN:
                return f"Check {self.key}."
            case httpx2.codes.NOT_FOUND:
                return f"Check {self.model}. {self.address}"
            case httpx2.codes.TOO_MANY_REQUESTS:
                return "Send fewer requests, or raise the limit of the service."
        return "Try again later, or check the log of the service."


class OpenAIApi:
    """One path of the API of a service, for one use of it."""

    def __init__(self, url: str | None, key: str | None, name: str, advice: Advice) -> None:
        self.service = ModelService(url or OPENAI, name, key=key)
        self._advice = advice

    def answer(self, name: str, body: Mapping[str, Any], seconds: float, **options: Any) -> ServiceAnswer:
        """Return the answer to a request, see ModelService.post. Raise ModelError, about the model `name`."""
        advice = self._advice
        try:
            answer = self.service.post(advice.path, body, seconds, **options)
        except TimeoutError as error:
            raise ModelError(f"{name} {advice.late}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelError(f"{name}: {why(error)}. Check the network and {advice.url}.") from error
        if answer.body is None and answer.status < httpx2.codes.BAD_REQUEST:
            raise ModelError(f"{name} did not answer with JSON. {advice.address}")
        return answer

    def demand(self, name: str, answer: ServiceAnswer) -> Any:
        """Return the JSON of an answer. Raise ModelError if it is a refusal."""
        if answer.status >= httpx2.codes.BAD_REQUEST:
            raise ModelError(f"{name}: {answer.cause}. {self._advice.of(answer.status)}")
        return answer.body


class OpenAIEmbedder(TextEmbedder):
    """A model at OPENAI_BASE_URL, with OPENAI_API_KEY: see Embedder."""

    def __init__(self, model: str, settings: Settings, *, timeout: float = TIMEOUT) -> None:
        self._model = model or DEFAULT
        super().__init__("openai", self._model)
        if not settings.openai_api_key and not settings.openai_base_url:
            raise ModelError(
                "openai: needs OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server without keys. Neither is set."
            )
        self._api = OpenAIApi(settings.openai_base_url, settings.openai_api_key, "openai", _EMBEDDINGS)
        self._timeout = timeout
        try:
            self._learn_dim()
        except ModelError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections."""
        self._api.service.close()

    def _vectors(self, texts: list[str], *, hurry: bool) -> object:
        name = f"{self.name} at {self._api.service.place}"
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        seconds, retries = (min(HURRY, self._timeout), 0) if hurry else (self._timeout, RETRIES)
        return _rows(self._api.demand(name, self._api.answer(name, body, seconds, retries=retries)))


_EMBEDDINGS = Advice(
    key="OPENAI_API_KEY",
    url="OPENAI_BASE_URL",
    model="the model's name in MEMORY_EMBEDDER",
    path="/embeddings",
    late="took too long to answer. Check the network.",
)


def _rows(body: object) -> object:
    """Return the vectors in the order of the texts; None, which `unit` refuses, for an unexpected answer."""
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return None
    if not all(isinstance(item.get("index", 0), int) for item in data):
        return None
    return [item.get("embedding") for item in sorted(data, key=lambda item: item.get("index", 0))]
