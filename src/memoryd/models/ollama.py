"""Embeddings from an Ollama server."""

from urllib.parse import urlsplit

import httpx2

from memoryd.certificates import trusted
from memoryd.errors import InvalidInputError, ModelError
from memoryd.models.base import HURRY, TextEmbedder
from memoryd.origin import address
from memoryd.proxies import uses_proxies
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
        self._url = base_url(settings.ollama_host)
        self._place = address(self._url)
        self._timeout = timeout
        self._client = httpx2.Client(verify=trusted(), trust_env=uses_proxies(self._url))
        try:
            self._learn_dim()
        except ModelError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _vectors(self, texts: list[str], *, hurry: bool) -> object:
        seconds = min(HURRY, self._timeout) if hurry else self._timeout
        limit = httpx2.Timeout(seconds, connect=min(_CONNECT, seconds))
        request = {"model": self._model, "input": texts}
        try:
            answer = self._client.post(f"{self._url}/api/embed", json=request, timeout=limit)
            body = answer.json()
        except httpx2.TimeoutException as error:
            raise ModelError(
                f"Ollama at {self._place} took too long to answer. Check its load, then try again."
            ) from error
        except httpx2.HTTPError as error:
            raise ModelError(
                f"Ollama at {self._place} does not answer: {error}. Start it with `ollama serve`, or set OLLAMA_HOST."
            ) from error
        except ValueError as error:
            raise ModelError(
                f"{self._place} did not answer with JSON. Check that OLLAMA_HOST is an Ollama server."
            ) from error
        return self._rows(answer.status_code, body if isinstance(body, dict) else {})

    def _rows(self, status: int, body: dict[str, object]) -> object:
        if status == httpx2.codes.NOT_FOUND and "not found" in str(body.get("error", "")):
            raise ModelError(f"Ollama has no model {self._model!r}. Run `ollama pull {self._model}`.")
        if status != httpx2.codes.OK:
            cause = str(body.get("error", ""))[:300] or "no reason given"
            raise ModelError(f"Ollama at {self._place} refused with status {status}: {cause}. Check its log.")
        return body.get("embeddings")


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
