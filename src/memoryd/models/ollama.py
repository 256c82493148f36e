"""Embeddings from an Ollama server."""

from urllib.parse import urlsplit

import httpx2

from memoryd.errors import InvalidInputError, ModelError
from memoryd.models.base import HURRY, TextEmbedder
from memoryd.models.service import ModelService, ServiceAnswer, why
from memoryd.settings import Settings

DEFAULT = "nomic-embed-text"

TIMEOUT = 60.0
"""Seconds for an answer in the background: the first answer waits until the server has loaded the model."""

_CONNECT = 5.0

_PORTS = {"http": 80, "https": 443}
_PORT = 11434
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - a server binds to these, a client cannot connect


class OllamaEmbedder(TextEmbedder):
    """A model of the Ollama server at OLLAMA_HOST: see Embedder."""

    def __init__(self, model: str, settings: Settings, *, timeout: float = TIMEOUT) -> None:
        self._model = model or DEFAULT
        super().__init__("ollama", self._model)
        self._service = ModelService(base_url(settings.ollama_host), "ollama", connect=_CONNECT)
        self._place = self._service.place
        self._timeout = timeout
        try:
            self._learn_dim()
        except ModelError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def _vectors(self, texts: list[str], *, hurry: bool) -> object:
        seconds = min(HURRY, self._timeout) if hurry else self._timeout
        try:
            answer = self._service.post("/api/embed", {"model": self._model, "input": texts}, seconds)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise ModelError(
                f"Ollama at {self._place} took too long to answer. Check its load, then try again."
            ) from error
        except httpx2.HTTPError as error:
            raise ModelError(
                f"Ollama at {self._place} does not answer: {why(error)}. "
                "Start it with `ollama serve`, or set OLLAMA_HOST."
            ) from error
        return self._rows(answer)

    def _rows(self, answer: ServiceAnswer) -> object:
        if answer.body is None:
            raise ModelError(f"{self._place} did not answer with JSON. Check that OLLAMA_HOST is an Ollama server.")
        if answer.status == httpx2.codes.NOT_FOUND and "not found" in answer.cause:
            raise ModelError(f"Ollama has no model {self._model!r}. Run `ollama pull {self._model}`.")
        if answer.status != httpx2.codes.OK:
            raise ModelError(f"Ollama at {self._place} refused with {answer.cause}. Check its log.")
        return answer.fields.get("embeddings")


def base_url(host: str) -> str:
    """Return the URL of OLLAMA_HOST, in which scheme, host and port are each optional, as for Ollama itself.

    Raise InvalidInputError if it is not an address.
    """
    host = host.strip()
    try:
        parts = urlsplit(host if "://" in host else f"//{host}", scheme="http")
        port = parts.port or (_PORTS.get(parts.scheme, _PORT) if "://" in host else _PORT)
    except ValueError as error:
        raise InvalidInputError("OLLAMA_HOST is not an address. Set it as in http://127.0.0.1:11434.") from error
    if parts.scheme not in _PORTS:
        raise InvalidInputError("OLLAMA_HOST is not an address of http or https, as in http://127.0.0.1:11434.")
    name = parts.hostname or "127.0.0.1"
    name = _EVERYWHERE.get(name, name)
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"
