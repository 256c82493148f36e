"""A language model behind an endpoint with OpenAI's chat completions API."""

from collections.abc import Mapping
from typing import Any

import openai

from memoryd.certificates import trusted
from memoryd.errors import ModelError
from memoryd.models.budget import HourlyBudget
from memoryd.models.llm import Completion, Llm
from memoryd.models.request_loop import RequestLoop
from memoryd.origin import address
from memoryd.proxies import uses_proxies
from memoryd.settings import Settings
from memoryd.text import estimate_tokens

RETRIES = 1  # after 429, 5xx and a lost connection
_NO_KEY = "none"  # most self-hosted servers need no key, but the SDK does
_ADDRESS = "Check MEMORY_LLM_BASE_URL: `/chat/completions` is appended to it, so it usually ends in `/v1`."


def open_llm(settings: Settings) -> Llm:
    """Return the model of MEMORY_LLM_MODEL with an hourly budget."""
    return Llm(Chat(settings), HourlyBudget(settings.llm_calls, settings.llm_tokens))


class Chat:
    """See models.llm.Endpoint."""

    def __init__(self, settings: Settings) -> None:
        self._client = openai.AsyncOpenAI(
            api_key=settings.llm_api_key or _NO_KEY,
            base_url=settings.llm_base_url,
            timeout=None,
            max_retries=RETRIES,
            http_client=openai.DefaultAsyncHttpxClient(verify=trusted(), trust_env=uses_proxies(settings.llm_base_url)),
        )
        self._model = settings.llm_model
        self._takes_schemas = True
        self.name = f"{self._model} at {address(str(self._client.base_url))}"
        self._loop = RequestLoop("memoryd-llm")

    def ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], seconds: float) -> Completion:
        """See Endpoint. After an endpoint has refused a schema, none is sent, because the prompt contains it too."""
        try:
            return self._loop.result(self._ask(system, prompt, tokens, schema), seconds)
        except TimeoutError as error:
            raise ModelError(
                f"{self.name} did not answer in time. Check its load, or raise MEMORY_LLM_TIMEOUT."
            ) from error
        except openai.OpenAIError as error:
            raise self._failed(error) from error

    async def _ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any]) -> Completion:
        if self._takes_schemas:
            try:
                return await self._send(system, prompt, tokens, _format(schema))
            except openai.BadRequestError:
                self._takes_schemas = False
        return await self._send(system, prompt, tokens, openai.omit)

    async def _send(self, system: str, prompt: str, tokens: int, form: Any) -> Completion:
        messages: Any = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._model, messages=messages, max_tokens=tokens, temperature=0, response_format=form
            )
            return self._completion(raw.http_response.json(), system + prompt)
        except ValueError as error:  # not JSON
            raise ModelError(f"{self.name} did not answer with JSON. {_ADDRESS}") from error

    def _completion(self, body: Any, request: str) -> Completion:
        match body:
            case {"choices": [{"message": {"content": str(text)}}, *_]}:
                match body.get("usage"):
                    case {"total_tokens": int(tokens)}:
                        return Completion(text, tokens)
                return Completion(text, estimate_tokens(request) + estimate_tokens(text))
        raise ModelError(f"{self.name} did not answer with a text. {_ADDRESS}")

    def _failed(self, error: openai.OpenAIError) -> ModelError:
        return ModelError(f"{self.name}: {str(error)[:300]} {_next(error)}")


def _format(schema: Mapping[str, Any]) -> Any:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def _next(error: openai.OpenAIError) -> str:
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return "Check MEMORY_LLM_API_KEY."
    if isinstance(error, openai.NotFoundError):
        return f"Check MEMORY_LLM_MODEL. {_ADDRESS}"
    if isinstance(error, openai.RateLimitError):
        return "Send fewer requests, or raise the limit of the service."
    if isinstance(error, openai.APIConnectionError):
        return "Check the network and MEMORY_LLM_BASE_URL."
    return "Try again later, or check the log of the service."
