"""memoryd as the long-term store of LangGraph agents: `pip install 'memoryd[langgraph]'`."""

import asyncio
import json
import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import date, datetime
from functools import partial
from typing import Any
from uuid import UUID

from memoryd.api.keyed import KeyedTexts, folder, label, path_of, tagged
from memoryd.api.memory import Memory
from memoryd.core.memories.vault import KeyedChange
from memoryd.core.records.records import ITEM
from memoryd.errors import InvalidInputError
from memoryd.extras import Needing
from memoryd.model import Record
from memoryd.text import unstorable

with Needing("langgraph"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import SystemMessage
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )

ROOT = "langgraph"
"""The first part of the keys of all items, and a tag of each."""
FIELD, LONGEST = "field=", 40
"""A value with one text is stored as that text; this tag, of a name that is no longer than this, names its field."""
UNFOUND = "index=false"
"""The tag of items that are not to be found by a query."""


class MemorydStore(BaseStore):
    """A store that keeps items in a memory, listed last changed first, and finds them by words and meaning, offline.

    It has no time to live (`ttl`), and no fields to index: the whole value is found, unless put with `index=False`.
    """

    supports_ttl = False

    def __init__(self, memory: Memory | str | None = None) -> None:
        """Keep items in a memory, or in the workspace of that name."""
        self._texts = KeyedTexts(memory, "langgraph")
        self.memory = self._texts.memory

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of operations: reads see what was stored before; changes are made all or none."""
        ops = list(ops)
        results = [self._read(op) for op in ops]
        changes = {_key(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        self._texts.change([_text(key, op) for key, op in changes.items()])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of operations, from a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = self._texts.get(_key(op.namespace, op.key))
                return Item(**_fields(found)) if found else None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        records = self._texts.under(folder(ROOT, *op.namespace_prefix))
        kept = {record.id: record for record in records if _matches(_value(record), op.filter or {})}
        found: list[tuple[Record, float | None]] = [(record, None) for record in kept.values()]
        if op.query:
            asked = [key for key, record in kept.items() if UNFOUND not in record.tags]
            scores = {hit.record.id: hit.score for hit in self._texts.meant(op.query, asked)}
            scored = [(kept[key], score) for key, score in scores.items()]
            found = [*scored, *(pair for pair in found if pair[0].id not in scores)]
        return [SearchItem(**_fields(record), score=score) for record, score in found[op.offset : op.offset + op.limit]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {tuple(path_of(key)[1:-1]) for key in self._texts.keys(f"{ROOT}/")}
        kept = {one for one in known if all(_fits(one, condition) for condition in op.match_conditions or ())}
        return sorted({one[: op.max_depth] for one in kept})[op.offset : op.offset + op.limit]


class BriefingMiddleware(AgentMiddleware):
    """Adds a briefing from a memory about the last message of a person to the system prompt of each model call."""

    def __init__(self, memory: Memory, *, token_budget: int = 800) -> None:
        """Brief from `memory`, within a budget of tokens."""
        super().__init__()
        self._memory, self._budget = memory, token_budget

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Call the model with the briefing."""
        return handler(self._briefed(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Call the model with the briefing, which a thread makes."""
        return await handler(await asyncio.to_thread(self._briefed, request))

    def _briefed(self, request: ModelRequest) -> ModelRequest:
        asked = next((one.text for one in reversed(request.messages) if one.type == "human"), "")
        briefing = self._memory.context(asked or None, token_budget=self._budget)
        if not briefing:
            return request
        before = [request.system_message.text] if request.system_message else []
        return request.override(system_message=SystemMessage("\n\n".join([*before, briefing])))


# keys and values -----------------------------------------------------------------------------------------------------


def _key(namespace: tuple[str, ...], key: str) -> str:
    return folder(ROOT, *namespace) + label(key)


def _text(key: str, op: PutOp) -> KeyedChange:
    """Return what to store: the text of a value that has only one, else the value as JSON."""
    if op.value is None:
        return KeyedChange(key=key, content=None)
    tags = [ROOT, UNFOUND] if op.index is False else [ROOT]
    if not isinstance(op.value, Mapping):
        raise InvalidInputError(f"The value of {op.key!r} is not a dict. Nothing was stored.")
    match list(op.value.items()):
        case [(str(name), str(text))] if text.strip() and len(name) <= LONGEST and not unstorable(name + text):
            return KeyedChange(key=key, content=text, tags=[*tags, FIELD + name], type=ITEM)
    dumped = partial(json.dumps, op.value, default=_as_text)
    whole = dumped(ensure_ascii=False)
    return KeyedChange(key=key, content=dumped() if unstorable(whole) else whole, tags=tags, type=ITEM)


def _as_text(value: object) -> str:
    """Return a part of a value that JSON lacks as LangGraph's stores in databases write it. Raise InvalidInputError."""
    if isinstance(value, date | UUID):
        return str(value) if isinstance(value, UUID) else value.isoformat()
    raise InvalidInputError(f"A value is stored as JSON, which has no {type(value).__name__}. Nothing was stored.")


def _value(record: Record) -> dict[str, Any]:
    if (name := tagged(record, FIELD)) is None:
        try:
            value = json.loads(record.body)
        except ValueError:  # others may write under these keys, too
            value = None
        if isinstance(value, dict):
            return value
    return {"text" if name is None else name: record.body}


def _fields(record: Record) -> dict[str, Any]:
    _, *namespace, key = path_of(record.name or "")
    times = {name: datetime.fromisoformat(getattr(record, name)) for name in ("created_at", "updated_at")}
    return {"value": _value(record), "key": key, "namespace": tuple(namespace), **times}


# filters -------------------------------------------------------------------------------------------------------------

ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def _matches(value: Any, wanted: Any) -> bool:
    """Return whether a value fits a filter: equal to it, or for operators as InMemoryStore compares."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(_matches(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same and all(_matches(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compares(value: Any, name: str, other: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool((value == other) == (name == "$eq"))
    if name not in ORDERS:
        raise ValueError(f"Unsupported operator: {name}")
    return value is not None and bool(ORDERS[name](float(value), float(other)))


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :] if path else ()
    return len(part) == len(path) and all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
