"""Answers as an MCP client gets them: each field alone contains the whole answer, once."""

from typing import Any

from mcp import types

from memoryd.core.base.results import compact, counted
from memoryd.core.security import secrets
from memoryd.core.security.prompt_injection import note_on
from memoryd.model import Workspace
from memoryd.toolsets.registry import Answer, Tool

MASKED = "The rest was stored unchanged. Store where a secret is kept instead of the secret."
META = "memoryd/"
"""The prefix of each name in `_meta`, which programs read and no client shows to a model."""
RETRY_AFTER = f"{META}retry_after"  # seconds


def succeeded(tool: Tool, answer: Answer[Any], place: Workspace | None) -> types.CallToolResult:
    """Return an answer as text only if it is a text, else as the same JSON in text and structured content."""
    meta: dict[str, Any] = {"workspace": place.name} if place else {}
    meta |= {"masked": list(answer.masked)} if answer.masked else {}
    meta |= answer.figures or {}
    named = {f"{META}{name}": value for name, value in meta.items()} or None
    if answer.figures:
        return _result(answer.text or "", None, named)
    body: Any = answer.shown
    if notes := [*_masked(answer), *_warning(tool, answer)]:
        body = {**body, "notes": notes}
        body = counted(body) if "tokens_used" in body else body
    return _result(compact(body) if answer.text is None else _sentences(answer.text, notes), body, named)


def failed(text: str, meta: dict[str, Any]) -> types.CallToolResult:
    """Return an error as the result of a tool."""
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True, _meta=meta or None)


def _result(text: str, body: dict[str, Any] | None, meta: dict[str, Any] | None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=body, _meta=meta)


def _sentences(text: str, notes: list[str]) -> str:
    return " ".join([text, *notes])


def _masked(answer: Answer[Any]) -> list[str]:
    """Return a note on the secrets that were masked."""
    return [f"{secrets.masked_notice(answer.masked)} {MASKED}"] if answer.masked else []


def _warning(tool: Tool, answer: Answer[Any]) -> list[str]:
    """Return a note on stored texts that read like instructions, unless the text of the answer marks them itself."""
    note = "" if answer.marked or tool.capability != "read" else note_on(answer.shown)
    return [note] if note else []
