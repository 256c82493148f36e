"""Clients of a real server process: `Agent` is the MCP SDK's, driven from synchronous tests; `Wire` is raw lines."""

import atexit
import hashlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any, Self, TypeVar

import anyio
import psycopg
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, types
from mcp.client._memory import InMemoryTransport
from mcp.client.stdio import get_default_environment
from mcp.server.stdio import stdio_server
from psycopg.conninfo import conninfo_to_dict
from typer.main import get_command

import memoryd
from memoryd.cli import app
from memoryd.cli.frame import overrides
from memoryd.core.engine import Engine
from memoryd.core.maintenance import scheduler
from memoryd.core.records import perspectives
from memoryd.models import weights
from memoryd.models.embedders import ENGLISH, MULTILINGUAL
from memoryd.server.app import MemoryServer
from memoryd.server.calls import Calls
from memoryd.settings import Settings
from memoryd.store.base import Queries, Row
from memoryd.text import estimate_tokens
from tests.forks import Fork

T = TypeVar("T")
Json = dict[str, Any]

SOURCE = Path(memoryd.__file__).parents[1]
PATIENCE = 120.0  # seconds after which a hanging call fails; no test measures time
POSTGRES: list[str] = []
"""The URL of the database server that every test server uses, if the tests run on Postgres."""
SERVICE = {"MEMORY_SERVICE": "off"}
"""Whether processes share a service. By default each server stands alone."""
NO_MODELS = {"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none"}
SIGNALS_ELSEWHERE = """
import signal
import threading
import time

threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
"""
"""Has signals delivered to a thread other than the main one, so that they do not interrupt its waits."""
MODERN, LEGACY = "2026-07-28", "2025-11-25"


def environment(home: Path, models: Path | None = None, **settings: str) -> dict[str, str]:
    """Return a clean environment for a server: data below `home`, models from `models` (else none), and settings.

    It fetches no model: texts in other languages have their own embedder if that is among the user's models.
    """
    home.mkdir(parents=True, exist_ok=True)
    if POSTGRES:
        settings = {"MEMORY_DATABASE_URL": database(POSTGRES[0], home)} | settings
    return {
        **get_default_environment(),
        "HOME": str(home),
        "PYTHONPATH": str(SOURCE),
        "MEMORY_DATA_DIR": str(home / "data"),
        **SERVICE,
        **({"MEMORY_MODEL_DIR": str(models)} if models else NO_MODELS),
        "MEMORY_MODELS": "all" if weights.present(models or Settings.read().models, weights.LANGUAGES) else "english",
        **settings,
    }


def beginning_with(code: str, home: Path) -> str:
    """Return a PYTHONPATH that makes Python run `code` at its start."""
    (home / "site").mkdir(parents=True)
    (home / "site/sitecustomize.py").write_text(code)
    return os.pathsep.join([str(home / "site"), str(SOURCE)])


@cache
def database(server: str, home: Path, like: str = "") -> str:
    """Return the URL of a home's database on a Postgres server; create it at first, empty or as a copy of `like`."""
    name = "t" + hashlib.sha256(str(home).encode()).hexdigest()[:16]
    template = conninfo_to_dict(like)["dbname"] if like else _template(server)
    if not _exists(_connection(server), name):
        _connection(server).execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    return server.replace("/postgres?", f"/{name}?")


@cache
def _connection(server: str) -> psycopg.Connection[Any]:
    """Return a connection that stays open: each new one starts a server process, which costs as much as a database."""
    made = psycopg.connect(server, autocommit=True)
    atexit.register(made.close)
    return made


@cache
def _template(server: str) -> str:
    """Return the name of a database that has only the schema: a copy takes a tenth of the time. Workers share it."""
    made, making = "migrated", "migrating"
    with psycopg.connect(server, autocommit=True) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(1)")
        with psycopg.connect(server, autocommit=True) as builder:
            if not _exists(builder, made):
                builder.execute(f"CREATE DATABASE {making}")
                url = server.replace("/postgres?", f"/{making}?")
                with Engine(Settings.read({**NO_MODELS, "MEMORY_DATABASE_URL": url}), fetch=False) as engine:
                    engine.store.placement.create(None)
                builder.execute(f"ALTER DATABASE {making} RENAME TO {made}")
    return made


def _exists(connection: psycopg.Connection[Any], name: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is not None


def rows_of(home: Path, table: str = "records") -> list[Row]:
    """Return a table's rows in a home's default workspace, read past any server; none if nothing was stored."""
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        found = engine.workspaces.get("default")
        return engine.store.read(found, lambda q: q.all(f"moved.{table}_first", limit=100_000)) if found else []


def problems(home: Path) -> list[str]:
    """Return the problems that the store finds in the registry and the default workspace of a home."""
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        return [found for one in (None, engine.workspace(make=False)) for found in engine.store.upkeep.problems(one)]


def until(true: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """Poll until `true()` is true, and return it; less and less often, since each look takes processor time."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while not (found := true()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(pause)
        pause = min(1.2 * pause, 0.1)
    return found


# through the SDK -----------------------------------------------------------------------------------------------------


class Agent:
    """An agent that uses its memory through the official client."""

    def __init__(self, portal: BlockingPortal, client: Client, environ: Mapping[str, str]) -> None:
        self._portal = portal
        self.client = client
        self.environ = environ
        self.data = Path(environ["MEMORY_DATA_DIR"])

    def ask(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Return the result of any other request of the client."""

        async def bounded() -> T:
            with anyio.fail_after(PATIENCE):
                return await work(self.client)

        return self._portal.call(bounded)

    def call(self, tool: str, arguments: Mapping[str, Any], meta: Json | None = None) -> types.CallToolResult:
        """Return the result of a call that may fail; the client validates structured content."""
        result = self.ask(lambda client: client.call_tool(tool, dict(arguments), meta=meta))  # type: ignore[arg-type]
        assert_each_field_is_whole(tool, result)
        return result

    def ok(self, tool: str, **arguments: Any) -> Json:
        """Return the data of a call that must succeed, or its text and figures."""
        result = self.call(tool, arguments)
        assert not result.is_error, text_of(result)
        return figures(result)

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the text of a call that must succeed."""
        result = self.call(tool, arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def refused(self, tool: str, **arguments: Any) -> str:
        """Return the error text of a call that must fail."""
        result = self.call(tool, arguments)
        assert result.is_error, f"{tool} accepted {arguments}"
        return text_of(result)

    def tools(self) -> list[types.Tool]:
        return self.ask(lambda client: client.list_tools()).tools

    # seed d ----------------------------------------------------------------------------------------------------------

    def store(self, content: str, **arguments: Any) -> str:
        """Store a text and return its id."""
        return str(self.ok("memory_store", content=content, **arguments)["id"])

    def store_all(self, contents: Sequence[str], **arguments: Any) -> list[str]:
        return [self.store(content, **arguments) for content in contents]

    def raw(self, query: str, **arguments: Any) -> list[Json]:
        """Return the memories that a query finds, best first; none if the answer is a sentence instead of JSON."""
        wanted = {"token_budget": 50_000} | arguments
        text = self.text("memory_recall", query=query, format="raw", **wanted)
        found: list[Json] = json.loads(text)["memories"] if text.startswith("{") else []
        return found

    def found(self, query: str, **arguments: Any) -> list[str]:
        """Return the texts that a query finds, best first."""
        return [memory["content"] for memory in self.raw(query, **arguments)]

    def whole(self, *ids: str) -> list[Json]:
        """Return memories by id."""
        shown: list[Json] = self.ok("memory_inspect", ids=list(ids))["memories"]
        return shown

    def stats(self) -> Json:
        stats: Json = self.ok("memory_inspect")["stats"]
        return stats

    def settle(self) -> Self:
        """Wait until the models are loaded and every memory has its vector."""
        until(lambda: _settled(self.stats()), "models and vectors")
        return self

    def clear(self) -> Self:
        """Forget everything."""
        self.ok("memory_forget", before="9999-01-01T00:00:00Z", confirm=True)
        assert self.stats()["total"] == 0
        return self

    # seed c ----------------------------------------------------------------------------------------------------------

    def node(self, name: str, *observations: str, kind: str = "thing", **more: Any) -> Json:
        """Create a node and return its entry in the result of create_entities."""
        entity = {"name": name, "entity_type": kind, "observations": list(observations)} | more
        made: Json = self.ok("create_entities", entities=[entity])["result"][0]
        return made

    def nodes(self, *names: str) -> Self:
        """Create nodes without observations."""
        self.ok("create_entities", entities=[{"name": name, "entity_type": "thing"} for name in names])
        return self

    def relate(self, *relations: str) -> Json:
        """Create relations, each written as `Ann knows Bob`; names are single words."""
        return self.ok("create_relations", relations=[edge(relation) for relation in relations])

    def opened(self, *names: str) -> list[Json]:
        """Return complete nodes, in the order of `names`."""
        entities: list[Json] = self.ok("open_nodes", names=list(names), token_budget=0)["entities"]
        return entities

    def facts(self, name: str) -> dict[int, str]:
        """Return a node's observations by ordinal, in the order of the answer."""
        (node,) = self.opened(name)
        return {one["ordinal"]: one["content"] for one in node["observations"]}

    def edges(self) -> list[str]:
        """Return every relation as `Ann knows Bob`, sorted."""
        relations = self.ok("read_graph", token_budget=0)["relations"]
        return sorted(" ".join((one["from"], one["relation_type"], one["to"])) for one in relations)

    def hits(self, query: str, **arguments: Any) -> list[str]:
        """Return the names of the nodes that a query finds, best first."""
        return [one["name"] for one in self.ok("search_nodes", query=query, **arguments)["result"]]

    def clear_graph(self) -> Self:
        """Delete every node."""
        while entities := self.ok("read_graph")["entities"]:
            self.ok("delete_entities", entity_names=[one["name"] for one in entities])
        return self

    def settle_graph(self) -> Self:
        """Wait until every observation has a vector from each of the five perspectives, and every node its own."""
        settings = Settings.read(self.environ)
        with Engine(settings, fetch=False) as engine:
            until(lambda: _lacking(engine) == 0, "vectors", 60)
        return self


def edge(words: str) -> Json:
    """Return `Ann knows Bob` as an argument of create_relations."""
    source, relation_type, target = words.split(" ")
    return {"from_entity": source, "to_entity": target, "relation_type": relation_type}


def _lacking(engine: Engine) -> int:
    """Return the number of records that lack a vector of the bundled models from some perspective."""

    def count(queries: Queries) -> int:
        wanted = perspectives.to_be_counted(queries)
        row = queries.one("doctor.unembedded", **wanted, model=ENGLISH, other=MULTILINGUAL)
        assert row is not None
        return int(row["number"])

    return sum(engine.store.read(workspace, count) for workspace in engine.workspaces.all("active"))


def _settled(stats: Json) -> bool:
    ready = all(stats[name] == "off" or stats[name].endswith(": ready") for name in ("embedder", "reranker"))
    return ready and (stats["embedder"] == "off" or sum(stats["embedded"].values()) >= stats["total"])


def assert_each_field_is_whole(tool: str, result: types.CallToolResult) -> None:
    """Check that text and structured content agree: some clients show their model only one of them."""
    text, body = text_of(result), result.structured_content
    if body is None:
        return
    if tool == "memory_store":
        assert all(value in text for value in (body["id"], *body.get("notes", ())))
    else:
        assert text == json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if "tokens_used" in body:
        assert body["tokens_used"] == estimate_tokens(text)


def figures(result: types.CallToolResult) -> Json:
    """Return the structured content of an answer, or its text and the figures in `_meta`."""
    content: Json | None = result.structured_content
    if content is not None:
        return content
    meta = {name.removeprefix("memoryd/"): value for name, value in (result.meta or {}).items()}
    return {"text": text_of(result)} | meta


def text_of(result: types.CallToolResult) -> str:
    """Return the text of a result that has exactly one text block."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


made = cache(get_command)
"""Returns the command of a Typer application, cached because typer takes 10 ms to make it, and to make it ready."""


@cache
def given(*arguments: str) -> dict[str, Any]:
    """Return the parsed command line."""
    return made(app).make_context("memoryd", list(arguments)).params


@contextmanager
def transport_to(environ: Mapping[str, str], *arguments: str) -> Iterator[InMemoryTransport]:
    """Yield the SDK's in-memory transport to a server in this process, set up as by `memoryd serve`."""
    with Engine(Settings.read(environ, **overrides(**given(*arguments)))) as engine:
        server = MemoryServer(Calls(engine))
        if not engine.settings.read_only:
            scheduler.begin(engine)
        yield InMemoryTransport(server)


@contextmanager
def agent(environ: Mapping[str, str], *arguments: str, mode: str = "auto") -> Iterator[Agent]:
    """Connect to a server in this process, for tests that are not about processes.

    Its log is in `caplog` and must contain no traceback: see tests/conftest.py.
    """
    with transport_to(environ, *arguments) as transport, start_blocking_portal() as portal:
        client = Client(transport, mode=mode)
        with portal.wrap_async_context_manager(client) as connected:
            yield Agent(portal, connected, environ)


@asynccontextmanager
async def piped(command: Sequence[str], environ: Mapping[str, str], errors: IO[str]) -> AsyncIterator[Any]:
    """Yield the streams of a server process, as the SDK's client expects of a transport."""
    with Fork[str](command, env=environ, stdin=PIPE, stdout=PIPE, stderr=errors, encoding="utf-8") as process:
        assert process.stdin
        assert process.stdout
        ends = anyio.wrap_file(process.stdout), anyio.wrap_file(process.stdin)
        async with stdio_server(*ends) as (read, write), read.clone() as rest:  # it serves a client's ends as well
            try:
                yield read, write
            finally:
                process.stdin.close()
                async for _ in rest:
                    pass  # drain what the client no longer reads, until the process ends
                await write.aclose()


@contextmanager
def process_agent(environ: Mapping[str, str], *arguments: str, mode: str = "auto", log: Path) -> Iterator[Agent]:
    """Start a server process and connect to it; its stderr goes to `log` and must contain no traceback."""
    command = [sys.executable, "-m", "memoryd", *arguments]
    try:
        with log.open("a", encoding="utf-8") as errors, start_blocking_portal() as portal:
            client = Client(piped(command, environ, errors), mode=mode)
            with portal.wrap_async_context_manager(client) as connected:
                yield Agent(portal, connected, environ)
    finally:
        written = log.read_text(encoding="utf-8")
        sys.stdout.write(written)  # pytest shows it if the test fails
    assert "Traceback" not in written
