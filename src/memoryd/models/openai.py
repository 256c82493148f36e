"""Embeddings from OpenAI or a compatible endpoint."""

import openai

from memoryd.certificates import trusted
from memoryd.errors import ModelError
from memoryd.models.base import HURRY, TextEmbedder
from memoryd.origin import address
from memoryd.proxies import uses_proxies
from memoryd.settings import Settings

DEFAULT = "text-embedding-3-small"

TIMEOUT = 60.0
"""Seconds for an answer in the background; the default of the SDK is ten minutes."""

_NO_KEY = "none"
"""Self-hosted servers mostly need no key, but the SDK does."""


class OpenAIEmbedder(TextEmbedder):
    """A model at OPENAI_BASE_URL, with OPENAI_API_KEY: see Embedder."""

    def __init__(self, model: str, settings: Settings, *, timeout: float = TIMEOUT) -> None:
        self._model = model or DEFAULT
        super().__init__("openai", self._model)
        if not settings.openai_api_key and not settings.openai_base_url:
            raise ModelError(
                "openai: needs OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server without keys. Neither is set."
            )
        self._client = openai.OpenAI(
            api_key=settings.openai_api_key or _NO_KEY,
            base_url=settings.openai_base_url,
            timeout=timeout,
            max_retries=1,
            http_client=openai.DefaultHttpxClient(verify=trusted(), trust_env=uses_proxies(settings.openai_base_url)),
        )
        self._place = address(str(self._client.base_url))
        self._hurried = self._client.with_options(timeout=min(HURRY, timeout), max_retries=0)
        try:
            self._learn_dim()
        except ModelError:
            self.close()
            raise

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _vectors(self, texts: list[str], *, hurry: bool) -> object:
        raw = (self._hurried if hurry else self._client).embeddings.with_raw_response
        try:
            answer = raw.create(model=self._model, input=texts, encoding_format="float")
            return _rows(answer.http_response.json())
        except openai.OpenAIError as error:
            raise ModelError(f"{self.name} at {self._place}: {str(error)[:300]} {_next(error)}") from error
        except ValueError as error:
            raise ModelError(f"{self._place} did not answer with JSON. {_ADDRESS}") from error


_ADDRESS = "Check OPENAI_BASE_URL: `/embeddings` is appended to it, so it mostly ends in `/v1`."


def _rows(body: object) -> object:
    """Return the vectors in the order of the texts, or None, which `unit` refuses, for an unexpected answer."""
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
