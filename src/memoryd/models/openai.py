"""Embeddings from OpenAI or a compatible endpoint."""

from contextlib import suppress

import openai

from memoryd.certificates import trusted
from memoryd.errors import ModelError
from memoryd.models.base import HURRY, TextEmbedder
from memoryd.models.request_loop import RequestLoop
from memoryd.origin import address
from memoryd.proxies import uses_proxies
from memoryd.settings import Settings

DEFAULT = "text-embedding-3-small"

TIMEOUT = 60.0
"""Seconds for an answer in the background; the default of the SDK is ten minutes."""

RETRIES = 1  # after 429, 5xx and a lost connection; none while a caller waits
MARGIN = 1.0  # seconds beyond the time-outs of the SDK, whose messages are more specific

_NO_KEY = "none"
"""Most self-hosted servers need no key, but the SDK does."""


class OpenAIEmbedder(TextEmbedder):
    """A model at OPENAI_BASE_URL, with OPENAI_API_KEY: see Embedder."""

    def __init__(self, model: str, settings: Settings, *, timeout: float = TIMEOUT) -> None:
        self._model = model or DEFAULT
        super().__init__("openai", self._model)
        if not settings.openai_api_key and not settings.openai_base_url:
            raise ModelError(
                "openai: needs OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server without keys. Neither is set."
            )
        self._client = openai.AsyncOpenAI(
            api_key=settings.openai_api_key or _NO_KEY,
            base_url=settings.openai_base_url,
            timeout=timeout,
            max_retries=RETRIES,
            http_client=openai.DefaultAsyncHttpxClient(
                verify=trusted(), trust_env=uses_proxies(settings.openai_base_url)
            ),
        )
        self._timeout = timeout
        self._place = address(str(self._client.base_url))
        self._hurried = self._client.with_options(timeout=min(HURRY, timeout), max_retries=0)
        self._loop = RequestLoop("memoryd-openai")
        try:
            self._learn_dim()
        except ModelError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections."""
        with suppress(TimeoutError):
            self._loop.result(self._client.close(), MARGIN)
        self._loop.close()

    def _vectors(self, texts: list[str], *, hurry: bool) -> object:
        client = self._hurried if hurry else self._client
        seconds = min(HURRY, self._timeout) if hurry else (1 + RETRIES) * self._timeout
        try:
            return _rows(self._loop.result(self._ask(texts, client), seconds + MARGIN))
        except TimeoutError as error:
            raise ModelError(f"{self.name} at {self._place} took too long to answer. Check the network.") from error
        except openai.OpenAIError as error:
            raise ModelError(f"{self.name} at {self._place}: {str(error)[:300]} {_next(error)}") from error
        except ValueError as error:
            raise ModelError(f"{self._place} did not answer with JSON. {_ADDRESS}") from error

    async def _ask(self, texts: list[str], client: openai.AsyncOpenAI) -> object:
        raw = client.embeddings.with_raw_response
        answer = await raw.create(model=self._model, input=texts, encoding_format="float")
        return answer.http_response.json()


_ADDRESS = "Check OPENAI_BASE_URL: `/embeddings` is appended to it, so it usually ends in `/v1`."


def _rows(body: object) -> object:
    """Return the vectors in the order of the texts; None, which `unit` refuses, for an unexpected answer."""
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return None
    if not all(isinstance(item.get("index", 0), int) for item in data):
        return None
    return [item.get("embedding") for item in sorted(data, key=lambda item: item.get("index", 0))]


def _next(error: openai.OpenAIError) -> str:
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return "Check OPENAI_API_KEY."
    if isinstance(error, openai.NotFoundError):
        return f"Check the model's name in MEMORY_EMBEDDER. {_ADDRESS}"
    if isinstance(error, openai.APIConnectionError):
        return "Check the network and OPENAI_BASE_URL."
    return "Try again later, or check the log of the service."
