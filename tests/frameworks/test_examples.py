"""The agents of docs/python.md, each run by its framework with a model that follows a script, offline."""

import json
import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agents import Model, ModelResponse, Usage, set_tracing_disabled
from anthropic import Anthropic
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai.messages import ModelResponse as AnswerOfModel
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
FACT = "Ann prefers green tea to drink."


def example(name: str) -> str:
    (found,) = re.findall(
        rf"<!-- framework: {name} -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    return str(found)


def run(name: str, **given: Any) -> None:
    scope: dict[str, Any] = {"__name__": name, **given}
    exec(compile(example(name), PAGE.name, "exec", dont_inherit=True), scope)
    scope["memory"].close()


class Scripted(GenericFakeChatModel):
    """A model that keeps one fact, and then ends."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


def test_langgraph(capsys: pytest.CaptureFixture[str]) -> None:
    call = {"name": "remember", "args": {"key": "tea", "text": FACT}, "id": "1"}
    messages: Iterator[Any] = iter([AIMessage("", tool_calls=[call]), AIMessage("Kept.")])
    run("langgraph", model=Scripted(messages=messages))
    assert FACT in capsys.readouterr().out


def test_anthropic(capsys: pytest.CaptureFixture[str]) -> None:
    create = {"command": "create", "path": "/memories/ann.md", "file_text": FACT}
    parts: Iterator[Any] = iter(
        [{"type": "tool_use", "id": "1", "name": "memory", "input": create}, {"type": "text", "text": "Kept."}]
    )

    def answer(request: Any) -> Any:
        part = next(parts)
        body = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "x",
            "content": [part],
            "stop_sequence": None,
        }
        stop = "tool_use" if part["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        return httpx2.Response(200, json={**body, "stop_reason": stop, "usage": usage})

    run(
        "anthropic", client=Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    )
    assert FACT in capsys.readouterr().out


class ScriptedAgentsModel(Model):
    """The same for OpenAI Agents."""

    def __init__(self) -> None:
        self.asked = 0

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        self.asked += 1
        call = ResponseFunctionToolCall(
            type="function_call", name="memory_store", call_id="1", arguments=json.dumps({"content": FACT})
        )
        text = ResponseOutputText(type="output_text", text="Kept.", annotations=[])
        end = ResponseOutputMessage(type="message", id="m", role="assistant", status="completed", content=[text])
        return ModelResponse([call if self.asked == 1 else end], Usage(), None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


def test_openai(capsys: pytest.CaptureFixture[str]) -> None:
    set_tracing_disabled(True)
    run("openai", model=ScriptedAgentsModel())
    assert FACT in capsys.readouterr().out


class ScriptedLlm(BaseLlm):
    """A model that states the fact, for ADK."""

    async def generate_content_async(self, *_: Any, **__: Any) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=FACT)]))


def test_adk(capsys: pytest.CaptureFixture[str]) -> None:
    run("adk", model=ScriptedLlm(model="scripted"))
    assert "green tea" in capsys.readouterr().out.splitlines()[-1]


def test_pydantic_ai(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(messages: list[Any], _: Any) -> AnswerOfModel:
        if len(messages) == 1:
            return AnswerOfModel([ToolCallPart("write_memory", {"content": FACT, "file": "MEMORY.md"})])
        return AnswerOfModel([TextPart("Kept.")])

    run("pydantic_ai", model=FunctionModel(answer))
    assert FACT in capsys.readouterr().out
