"""A language model behind any endpoint that speaks OpenAI's chat completions."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import openai

from memoryd.errors import ModelError
from memoryd.models.budget import HourlyBudget
from memoryd.models.llm import Answer, Llm
from memoryd.settings import Settings, address
from memoryd.text import estimate_tokens

RETRIES = 1  # of what may pass: 429, 5xx, a lost connection
_NO_KEY = "none"  # compatible servers of one's own mostly want none, but the SDK does
_ADDRESS = "Check MEMORY_LLM_BASE_URL: it should end where `/chat/completions` is added, mostly in `/v1`."


def open_llm(settings: Settings) -> Llm:
    """Return the model of MEMORY_LLM_MODEL with the budget of an hour."""
    return Llm(Chat(settings), HourlyBudget(settings.llm_calls, settings.llm_tokens))


class Chat:
    """See models.llm.Endpoint. Asks in an event loop of its own: only what is cancelled ends in time for certain.

    Time-outs of a client count from byte to byte, for each attempt, and not while a name is looked up.
    """

    def __init__(self, settings: Settings) -> None:
        self._client = openai.AsyncOpenAI(
            api_key=settings.llm_api_key or _NO_KEY, base_url=settings.llm_base_url, timeout=None, max_retries=RETRIES
        )
        self._model = settings.llm_model
        self._takes_schemas = True
        self.name = f"{self._model} at {address(str(self._client.base_url))}"
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="memoryd-llm", daemon=True).start()

    def ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any], seconds: float) -> Answer:
        """See Endpoint. An endpoint that takes no schemas is not sent any from then on: the prompt has it too."""
        asking = asyncio.run_coroutine_threadsafe(self._ask(system, prompt, tokens, schema), self._loop)
        try:
            return asking.result(seconds)
        except TimeoutError as error:
            raise ModelError(
                f"{self.name} did not answer in time. Look into its load, or raise MEMORY_LLM_TIMEOUT."
            ) from error
        except openai.OpenAIError as error:
            raise self._failed(error) from error
        finally:
            asking.cancel()

    async def _ask(self, system: str, prompt: str, tokens: int, schema: Mapping[str, Any]) -> Answer:
        if self._takes_schemas:
            try:
                return await self._asked(system, prompt, tokens, _format(schema))
            except openai.BadRequestError:
                self._takes_schemas = False
        return await self._asked(system, prompt, tokens, openai.omit)

    async def _asked(self, system: str, prompt: str, tokens: int, form: Any) -> Answer:
        messages: Any = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._model, messages=messages, max_tokens=tokens, temperature=0, response_format=form
            )
            return self._answer(raw.http_response.json(), system + prompt)
        except ValueError as error:  # no JSON
            raise ModelError(f"{self.name} answered without JSON. {_ADDRESS}") from error

    def _answer(self, body: Any, asked: str) -> Answer:
        match body:
            case {"choices": [{"message": {"content": str(text)}}, *_]}:
                match body.get("usage"):
                    case {"total_tokens": int(tokens)}:
                        return Answer(text, tokens)
                return Answer(text, estimate_tokens(asked) + estimate_tokens(text))
        raise ModelError(f"{self.name} answered without a text. {_ADDRESS}")

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
        return "Ask less, or raise the limit of the service."
    if isinstance(error, openai.APIConnectionError):
        return "Check the network and MEMORY_LLM_BASE_URL."
    return "Try again later, or look into the service's log."
