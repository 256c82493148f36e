"""Health checks and metrics, for operators of a server."""

import logging
import time
from collections import Counter as Kinds
from contextlib import suppress
from functools import partial
from typing import Any

from anyio import to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memoryd import features
from memoryd.core.engine import Engine
from memoryd.core.workspaces.registry import going_on
from memoryd.deadline import time_limit
from memoryd.errors import MemorydError
from memoryd.server.calls import Calls
from memoryd.server.http.entry import LOCKED, grant_of

log = logging.getLogger(__name__)

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
FRESH = 15.0  # seconds for which counts from the database are reused
ANSWER = 3.0  # seconds for the database to answer a health check


class HealthChecks:
    """`/health` and `/health/live`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def live(self, _request: Request) -> Response:
        """Answer that the process is alive."""
        return JSONResponse({"live": True})

    async def ready(self, request: Request) -> Response:
        """Answer 200 if calls can be served, else 503. Models are not required: search by words works without.

        With a token the answer has details; the server's log has all details.
        """
        wrong = await to_thread.run_sync(self._wrong)
        body: dict[str, Any] = {"live": True, "ready": wrong is None}
        if not request.scope.get(LOCKED, True):
            body |= {"database": wrong or "ok", "models": self._engine.helpers.states()}
            body |= {one.name: one.problem or one.summary for one in features.states(self._engine.settings)}
        return JSONResponse(body, 503 if wrong else 200)

    def _wrong(self) -> str | None:
        """Return the problem of the database, or None."""
        try:
            with time_limit(ANSWER):  # a call would wait for it longer
                self._engine.workspaces.all()
        except MemorydError as error:
            log.warning("The database: %s", error)
            return str(error)
        return None


class Metrics:
    """`/metrics`, for Prometheus."""

    def __init__(self, calls: Calls) -> None:
        self._engine = calls.engine
        self._registry = CollectorRegistry()
        gauge = partial(Gauge, registry=self._registry)
        self._calls = Counter("memoryd_calls", "Calls of tools.", ("tool", "outcome"), registry=self._registry)
        self._seconds = Histogram(
            "memoryd_call_seconds", "Duration of calls.", ("tool",), buckets=BUCKETS, registry=self._registry
        )
        self._records = gauge("memoryd_records", "Living records.", ("kind",))
        gauge("memoryd_waiting_calls", "Calls that wait for their turn.").set_function(lambda: calls.waiting)
        self._waiting = gauge("memoryd_unembedded_records", "Records that lack vectors.")
        self._size = gauge("memoryd_database_bytes", "Size of the database.")
        self._kept = gauge("memoryd_memory_bytes", "What searches keep in memory, by kind.", ("what",))
        ProcessCollector(registry=self._registry)
        self._asked = gauge("memoryd_llm", "What the language model was asked for.", ("what",))
        self._counted = -FRESH
        calls.observers.append(self._observe)

    def _observe(self, tool: str, outcome: str, seconds: float) -> None:
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    async def show(self, request: Request) -> Response:
        """Answer with the metrics in text format. They cover all workspaces, so a token for one is refused."""
        if grant_of(request.scope).workspace:
            return JSONResponse({"error": "This token is bound to one workspace; metrics cover all of them."}, 403)
        text = await to_thread.run_sync(self._text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    def _text(self) -> bytes:
        if time.monotonic() > self._counted + FRESH:
            self._counted = time.monotonic()
            with suppress(MemorydError), time_limit(FRESH):  # the metrics of calls are available anyway
                self._count()
        for what, size in self._engine.store.index.kept().items():
            self._kept.labels(what).set(size)
        for what, number in self._engine.helpers.usage().items():
            self._asked.labels(what).set(number)
        return generate_latest(self._registry)

    def _count(self) -> None:
        kinds, waiting = Kinds[str](), 0
        workspaces: list[Any] = self._engine.workspaces.all("active")
        for workspace in workspaces:
            with going_on(workspace):
                for row in self._engine.store.read(workspace, lambda q: q.all("records.kinds", session="")):
                    kinds[row["kind"]] += row["number"]
                waiting += self._engine.embedding.unembedded(workspace)
        self._records.clear()
        for kind, number in kinds.items():
            self._records.labels(kind).set(number)
        self._waiting.set(waiting)
        self._size.set(sum(place.size for place in self._engine.store.upkeep.files([None, *workspaces])))
