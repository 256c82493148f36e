"""The wire formats of models: what a request shows a model, and how its reply is written, streamed or not.

The four formats follow the services' references: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and
Gemini's generateContent.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]

USAGE = {"input_tokens": 10, "output_tokens": 5}


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as a model sees it; `whole` is its complete description."""

    name: str
    whole: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's answer as a model sees it."""

    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a model sees it; `words` is all of it except the tools."""

    offers: tuple[Offer, ...]
    results: tuple[Result, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Call:
    """A model's reply that calls a tool; a reply in words is a `str`."""

    tool: str
    arguments: Mapping[str, Any]
    namespace: str = ""


Reply = Call | str


class Dialect(Protocol):
    """A wire format. `number` makes replies distinct; `written` returns JSON, or a text of server-sent events."""

    def read(self, body: Json) -> Request: ...

    def written(self, path: str, body: Json, reply: Reply, number: int) -> Json | str: ...


def compact(value: object) -> str:
    """Return JSON as on the wire, with characters that a model reads instead of escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(content: object) -> str:
    """Return the text of a message or of a tool's answer: as it is, from its blocks, or else as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(text_of(block.get("text", block)) for block in content)
    return compact(content)


def _offers(tools: Iterable[Json]) -> tuple[Offer, ...]:
    return tuple(Offer(str(tool.get("name") or tool["type"]), compact(tool)) for tool in tools)


def _events(events: Iterable[Json], *, named: bool = True) -> str:
    """Return server-sent events, each named after its type if the format does so."""
    return "".join((f"event: {one['type']}\n" if named else "") + f"data: {compact(one)}\n\n" for one in events)


class Anthropic:
    """Messages, used by Claude Code."""

    def read(self, body: Json) -> Request:
        blocks = [
            block
            for message in body.get("messages", [])
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        called = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
        results = tuple(
            Result(called[block["tool_use_id"]], text_of(block.get("content", "")))
            for block in blocks
            if block["type"] == "tool_result"
        )
        return Request(_offers(body.get("tools", [])), results, compact([body.get("system"), body.get("messages")]))

    def written(self, path: str, body: Json, reply: Reply, number: int) -> Json | str:
        if path.partition("?")[0].endswith("/count_tokens"):
            return {"input_tokens": USAGE["input_tokens"]}
        block: Json = {"type": "text", "text": reply}
        if isinstance(reply, Call):
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": reply.tool, "input": dict(reply.arguments)}
        reason = "tool_use" if isinstance(reply, Call) else "end_turn"
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", ""),
            "content": [block],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": USAGE,
        }
        return _events(self._streamed(message)) if body.get("stream") else message

    def _streamed(self, message: Json) -> Iterator[Json]:
        (block,) = message["content"]
        if block["type"] == "tool_use":
            empty: Json = {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": compact(block["input"])}
        else:
            empty = {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
        yield {"type": "content_block_start", "index": 0, "content_block": block | empty}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": stopped, "usage": USAGE}
        yield {"type": "message_stop"}


class Responses:
    """OpenAI Responses, used by Codex and openai-agents. Codex groups the tools of a server in a namespace."""

    def read(self, body: Json) -> Request:
        given = body.get("input", [])
        items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
        called = {item["call_id"]: item["name"] for item in items if item.get("type") == "function_call"}
        results = tuple(
            Result(called.get(item["call_id"], ""), text_of(item["output"]))
            for item in items
            if item.get("type") == "function_call_output"
        )
        return Request(tuple(self._offers(body)), results, compact([body.get("instructions"), given]))

    def _offers(self, body: Json) -> Iterator[Offer]:
        for tool in body.get("tools", []):
            if tool["type"] == "namespace":
                yield from (Offer(one["name"], compact(one), tool["name"]) for one in tool["tools"])
            else:
                yield from _offers([tool])

    def written(self, path: str, body: Json, reply: Reply, number: int) -> Json | str:
        item: Json = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": reply, "annotations": []}],
        }
        if isinstance(reply, Call):
            item = {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "status": "completed",
                "name": reply.tool,
                "arguments": compact(reply.arguments),
                **({"namespace": reply.namespace} if reply.namespace else {}),
            }
        response = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": body.get("model", ""),
            "output": [item],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": USAGE
            | {
                "total_tokens": sum(USAGE.values()),
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }
        if not body.get("stream"):
            return response
        return _events(
            [
                {"type": "response.created", "response": response | {"output": [], "status": "in_progress"}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            ]
        )


class Chat:
    """OpenAI Chat Completions, used by opencode and most libraries."""

    def read(self, body: Json) -> Request:
        messages = body.get("messages", [])
        called = {
            call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()
        }
        results = tuple(
            Result(called[message["tool_call_id"]], text_of(message["content"]))
            for message in messages
            if message["role"] == "tool"
        )
        return Request(_offers(tool["function"] for tool in body.get("tools", [])), results, compact(messages))

    def written(self, path: str, body: Json, reply: Reply, number: int) -> Json | str:
        message: Json = {"role": "assistant", "content": reply}
        if isinstance(reply, Call):
            function = {"name": reply.tool, "arguments": compact(reply.arguments)}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reason = "tool_calls" if isinstance(reply, Call) else "stop"
        whole: Json = {"id": f"chat_{number}", "created": 0, "model": body.get("model", "")}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return whole | {"object": "chat.completion", "choices": [choice], "usage": usage}
        whole["object"] = "chat.completion.chunk"
        chunks = [
            whole | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            whole | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        ]
        return _events(chunks, named=False) + "data: [DONE]\n\n"


class Gemini:
    """generateContent and streamGenerateContent, used by Gemini CLI."""

    def read(self, body: Json) -> Request:
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        results = tuple(Result(answer["name"], _only_text(answer["response"])) for answer in answers)
        tools = (one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", ()))
        return Request(_offers(tools), results, compact([body.get("systemInstruction"), body.get("contents")]))

    def written(self, path: str, body: Json, reply: Reply, number: int) -> Json | str:
        method = path.partition("?")[0].rpartition(":")[2]
        if method == "countTokens":
            return {"totalTokens": 10}
        part: Json = {"text": reply}
        if isinstance(reply, Call):
            call = {"id": f"call_{number}", "name": reply.tool, "args": dict(reply.arguments)}
            part = {"functionCall": call}
        answer = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            "modelVersion": "scripted",
            "responseId": f"response_{number}",
        }
        return f"data: {compact(answer)}\n\n" if method == "streamGenerateContent" else answer


def _only_text(response: Mapping[str, Any]) -> str:
    """Return a function's answer: its text if it has only one, else all of it as JSON."""
    values = list(response.values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else compact(response)


DIALECTS: Mapping[str, Dialect] = {
    "/messages": Anthropic(),
    "/messages/count_tokens": Anthropic(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
    ":generateContent": Gemini(),
    ":streamGenerateContent": Gemini(),
    ":countTokens": Gemini(),
}
"""The format for each ending of a path."""
