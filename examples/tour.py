#!/usr/bin/env python3
"""A tour of memoryd, seen from a client.

Starts the server as a client would (a process, over stdio), stores the working history in history.jsonl, asks for it in
other words, kills the server, checks what is left, and prints how to connect your own client. Exits with 1 if facts
were lost or too few questions found their fact, so that CI can run it too.
"""

import io
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import MCPError, StdioServerParameters
from mcp.client import Client
from mcp_types import TextContent
from rich.console import Console
from rich.panel import Panel
from rich.progress import track
from rich.text import Text

from memoryd.errors import MemorydError
from memoryd.models import weights
from memoryd.settings import Settings

HERE = Path(__file__).parent
BUDGET = 300
TASK = "change the planner before the open night"
LAST_NOTE = "The server was killed the moment it had answered that this line is stored."
PATIENCE = 20.0
"""Seconds to wait until the models are loaded and all vectors are made."""

NEEDED = 0.75
"""The share of the questions whose fact must be in the top 3, if there is a model."""

PARTS = ("words", "meaning", "context", "reranker")
"""The parts of a score that say how a fact was found; the others say how it was weighted."""

LEGEND = """\
words     1: no candidate has more of the question's words
meaning   1: no candidate has a nearer vector
context   what the notes around it, from the same session, added
reranker  log-odds by a second model that reads question and fact together
"""

SAFE_SETTINGS = ("MEMORY_EMBEDD", "MEMORY_RERANKER", "MEMORY_MODEL", "MEMORY_LOG_LEVEL", "MEMORY_DURABILITY")
"""The beginnings of the caller's settings that the tour keeps: none leads to the caller's memories or to an LLM."""

SAVE_PID_AND_RUN = """
import os, pathlib, runpy, sys
pathlib.Path(sys.argv.pop(1)).write_text(str(os.getpid()))
runpy.run_module("memoryd", run_name="__main__", alter_sys=True)
"""
"""`python -m memoryd` that first saves its process id, which the SDK does not reveal."""


class TourError(Exception):
    """The server did not do what the tour requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One note of the history."""

    content: str
    tags: list[str]
    importance: float
    session: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and words that only the fact which answers it contains."""

    question: str
    expects: str


JAPANESE = Question(question="誰が変更を二文で説明してほしいと言っていますか？", expects="explained in two sentences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of the server to a question."""

    asked: Question
    hits: list[dict[str, Any]]
    tokens: int
    seconds: float

    @property
    def rank(self) -> int | None:
        """The place of the expected fact among the hits, from 1; None if it is missing."""
        places = (place for place, hit in enumerate(self.hits, 1) if self.asked.expects in hit["content"])
        return next(places, None)

    def within(self, places: int) -> bool:
        """Return whether the expected fact is among the first `places` hits."""
        return self.rank is not None and self.rank <= places

    def shown(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the best hit and one more, the expected one if it was not the best, with their places."""
        more = self.rank if self.rank and self.rank > 1 else 2
        return [(place, self.hits[place - 1]) for place in (1, more) if place <= len(self.hits)]


class Memory:
    """The server's tools that this tour uses."""

    def __init__(self, client: Client) -> None:
        """Use a connected client."""
        self.client = client

    async def call(self, tool: str, session: str = "", **arguments: Any) -> dict[str, Any]:
        """Return the data of a tool call, or its text and figures; `session` names the conversation."""
        meta: Any = {"memoryd/session": session} if session else None
        result = await self.client.call_tool(tool, arguments, meta=meta)
        text = " ".join(block.text for block in result.content if isinstance(block, TextContent))
        if result.is_error:
            raise TourError(f"{tool} failed: {text}")
        if isinstance(result.structured_content, dict):
            return result.structured_content
        figures = {name.removeprefix("memoryd/"): value for name, value in (result.meta or {}).items()}
        return {"text": text} | figures

    async def store(self, fact: Fact) -> str:
        """Store a fact and return its status: stored, merged or updated."""
        about = {"content": fact.content, "tags": fact.tags, "importance": fact.importance}
        return str((await self.call("memory_store", fact.session, **about))["status"])

    async def ask(self, asked: Question) -> Answer:
        """Ask twice: `raw` says why a fact was found, `summary` is what an agent would read."""
        raw = await self.call("memory_recall", query=asked.question, format="raw", token_budget=4000)
        start = time.perf_counter()
        summary = await self.call("memory_recall", query=asked.question, token_budget=BUDGET)
        seconds = time.perf_counter() - start
        return Answer(asked=asked, hits=raw["memories"], tokens=summary["tokens_used"], seconds=seconds)

    async def understood(self, asked: Question) -> None:
        """Wait until every fact can be compared with a question in another language: the first one has that made."""
        with anyio.move_on_after(3 * PATIENCE):  # on a busy machine
            while True:
                if "degraded" not in await self.call("memory_recall", query=asked.question, format="raw"):
                    return
                await anyio.sleep(0.5)

    async def stats(self) -> dict[str, Any]:
        """Return what the server reports about itself."""
        stats: dict[str, Any] = (await self.call("memory_inspect", view="stats"))["stats"]
        return stats

    async def embedded(self) -> bool:
        """Wait until every fact has its vector; return False if no model makes them."""
        with anyio.move_on_after(PATIENCE):
            while may_embed((stats := await self.stats())["embedder"]):
                if sum(stats["embedded"].values()) >= stats["total"]:
                    return True
                await anyio.sleep(0.1)
        return False


@dataclass(frozen=True, slots=True)
class House:
    """A data directory that exists only for this tour, and its servers."""

    data: Path

    @classmethod
    @contextmanager
    def temporary(cls) -> Iterator["House"]:
        """Yield a new one, and delete it at the end."""
        with tempfile.TemporaryDirectory(prefix="memoryd-tour-", ignore_cleanup_errors=True) as folder:
            yield cls(Path(folder))

    def environment(self) -> dict[str, str]:
        """Return the caller's environment with this data directory and the user's models."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_") or k.startswith(SAFE_SETTINGS)}
        return kept | {"MEMORY_DATA_DIR": str(self.data), "MEMORY_MODEL_DIR": str(Settings.read().models)}

    @asynccontextmanager
    async def server(self, *arguments: str) -> AsyncIterator[Memory]:
        """Yield a server process on this data, connected over stdio."""
        process = StdioServerParameters(command=sys.executable, args=[*arguments], env=self.environment())
        async with Client(process, read_timeout_seconds=60) as client:
            yield Memory(client)

    @asynccontextmanager
    async def mortal_server(self) -> AsyncIterator[tuple[Memory, Callable[[], None]]]:
        """Yield a server process, and a function that kills it."""
        pid = self.data / "tour.pid"

        def kill() -> None:
            os.kill(int(pid.read_text()), getattr(signal, "SIGKILL", signal.SIGTERM))

        async with self.server("-c", SAVE_PID_AND_RUN, str(pid)) as memory:
            yield memory, kill


@dataclass(frozen=True, slots=True)
class Report:
    """The output of the tour."""

    console: Console

    def title(self, text: str) -> None:
        """Print a heading."""
        self.console.print()
        self.console.rule(Text(text, "bold"), align="left", style="dim")

    def line(self, text: str, style: str = "") -> None:
        """Print a sentence without markup."""
        self.console.print(Text(text, style))

    def row(self, label: tuple[str, str], text: Text) -> None:
        """Print a label and a text in one line, cut to the console's width."""
        self.console.print(Text.assemble((f"{label[0]:8}", label[1]), text), no_wrap=True, overflow="ellipsis")

    def facts(self, facts: Iterable[Fact]) -> None:
        """Print some facts of the history as a sample."""
        for fact in facts:
            self.row((f"{fact.date}  ", "dim"), Text(fact.content))

    def answer(self, number: int, answer: Answer) -> None:
        """Print a question, the best hit, the expected one or else the second, how it was found, and the cost."""
        expects = answer.asked.expects
        self.line(f"{number}. {answer.asked.question}", "bold")
        for place, hit in answer.shown():
            text = Text(excerpt(hit["content"], expects, self.console.width - 8))
            text.highlight_words([expects], "bold green")
            self.row(mark(place, answer), text)
            if place == (answer.rank or 1):
                self.row(("", ""), Text(found_by(hit["why"]), "cyan"))
        if answer.rank is None:
            self.row(("missed", "bold red"), Text(expects, "red"))
        self.row(("", ""), Text(f"{answer.tokens} of {BUDGET} tokens, {answer.seconds * 1000:.0f} ms", "dim"))
        self.line("")

    def panel(self, title: str, text: str) -> None:
        """Print a text of the server in a frame."""
        self.console.print(Panel(Text(text), title=Text(title), title_align="left", border_style="dim"))

    def snippet(self, where: str, code: str) -> None:
        """Print something to copy, without wrapping or frame."""
        self.console.print(Text(where, "bold"))
        self.console.print(Text(code, "cyan"), "", sep="\n", soft_wrap=True)


def mark(place: int, answer: Answer) -> tuple[str, str]:
    """Return the place of a hit and its style; the place is in words if it is the expected hit."""
    if place != answer.rank:
        return f"{place}.", "dim"
    return {1: "first", 2: "second", 3: "third"}.get(place, f"at {place}"), "bold green" if place < 4 else "yellow"


def found_by(why: Mapping[str, float]) -> str:
    """Return in figures how a fact was found."""
    return "  ".join(f"{part} {why[part]:.2f}" for part in PARTS if part in why)


def excerpt(text: str, around: str, width: int) -> str:
    """Return at most `width` characters of `text`, including `around` if it occurs."""
    start = text.find(around)
    cut = start + len(around) + 3 - width
    if start < 0 or cut <= 0:
        return text
    return "…" + text[max(cut, text.find(" ", cut, start)) :]


def may_embed(embedder: str) -> bool:
    """Return whether vectors will be made, by the server's `spec: state` or `spec: why it failed`."""
    return embedder.endswith((": ready", ": loading")) and not embedder.startswith("none:")


def command() -> list[str]:
    """Return the command that a client must start: the installed one, by its full path."""
    beside = shutil.which("memoryd", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("memoryd")
    return [found] if found else [sys.executable, "-m", "memoryd"]


def snippets(program: str, *arguments: str) -> Iterator[tuple[str, str]]:
    """Yield the configuration for each client."""
    entry = {"command": program, "args": list(arguments)}
    toml = "\n".join(f"{key} = {json.dumps(value)}" for key, value in entry.items())
    installed = shlex.join([program, *arguments])
    yield (
        "Claude Code, with a memory for each project and hooks (or codex, gemini)",
        f"{installed} install claude-code --hooks",
    )
    yield "Claude Desktop (claude_desktop_config.json) and Cursor (~/.cursor/mcp.json)", as_json("mcpServers", entry)
    yield "VS Code (.vscode/mcp.json)", as_json("servers", {"type": "stdio", **entry})
    yield "Codex (~/.codex/config.toml)", f"[mcp_servers.memory]\n{toml}"


def as_json(section: str, entry: Mapping[str, Any]) -> str:
    """Return a client's configuration with this server, as compact JSON."""
    return json.dumps({section: {"memory": entry}})


def lines_of(name: str) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file in this directory."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


async def introduce(report: Report, memory: Memory, seconds: float) -> None:
    """Print the server's name, its start time, and the cost of its tools."""
    info, tools = memory.client.server_info, (await memory.client.list_tools()).tools
    cost = sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools) // 4
    name = f"{info.name} {info.version}" if info else "The server"
    report.line(f"{name} answers over stdio after {seconds:.1f} s (MCP {memory.client.protocol_version}).")
    report.line(f"It has {len(tools)} tools, whose descriptions take {cost:,} tokens.")


async def store(report: Report, memory: Memory, facts: Sequence[Fact]) -> bool:
    """Store every fact and print how long that took; return whether they can be found by meaning."""
    start = time.perf_counter()
    bar = track(facts, "storing", console=report.console, transient=True, disable=not report.console.is_terminal)
    states = [await memory.store(fact) for fact in bar]
    stored = time.perf_counter() - start
    embedded = await memory.embedded()
    after = f", embedded after {time.perf_counter() - start:.1f} s" if embedded else ""
    sessions = len({fact.session for fact in facts})
    report.line(f"{len(facts)} facts of {sessions} sessions stored in {stored:.1f} s{after}.", "bold")
    if merged := len(states) - states.count("stored"):
        report.line(f"{merged} were merged with an existing fact.", "yellow")
    if not embedded:
        report.line(
            f"Search is by words only, so most questions will miss. Embedder {(await memory.stats())['embedder']}",
            "yellow",
        )
    return embedded


async def ask(report: Report, memory: Memory, questions: Sequence[Question]) -> list[Answer]:
    """Ask every question, and print each answer as it arrives."""
    answers = []
    for number, question in enumerate(questions, 1):
        answers.append(await memory.ask(question))
        report.answer(number, answers[-1])
    return answers


async def brief(report: Report, memory: Memory) -> None:
    """Print what an agent reads when it starts a task."""
    briefing = await memory.call("memory_context", task=TASK, token_budget=BUDGET)
    report.panel(f"{briefing['tokens_used']} of {BUDGET} tokens", briefing["text"])


def verdict(answers: Sequence[Answer], facts: Sequence[Fact]) -> str:
    """Return a summary of all answers in one line."""
    first, third = (sum(answer.within(places) for answer in answers) for places in (1, 3))
    tokens = sum(answer.tokens for answer in answers) / len(answers)
    whole = sum(len(fact.content) / 4 for fact in facts)
    return (
        f"{first} of {len(answers)} first, {third} in the top 3, over {len(facts)} facts, "
        f"{tokens:.0f} tokens on average instead of {whole:,.0f} for the whole history."
    )


async def visit(report: Report, memory: Memory, facts: Sequence[Fact]) -> tuple[list[Answer], bool]:
    """Show the running server; return the answers, and whether search by meaning took part."""
    report.title("Six weeks of notes on a telescope scheduler, such as")
    report.facts(facts[:: len(facts) // 6])
    embedded = await store(report, memory, facts)
    report.title("Asked in other words")
    report.line(LEGEND, "dim")
    answers = await ask(report, memory, [Question(**line) for line in lines_of("questions.jsonl")])
    if weights.present(Settings.read().models, weights.LANGUAGES):
        report.title("Asked in another language")
        await memory.understood(JAPANESE)
        await ask(report, memory, [JAPANESE])
    report.title(f"Briefing for the task: {TASK}")
    await brief(report, memory)
    return answers, embedded


async def tour(report: Report) -> bool:
    """Run the whole tour; return whether the server did what it promises."""
    facts = [Fact(**line) for line in lines_of("history.jsonl")]
    start = time.perf_counter()
    with House.temporary() as house:
        async with house.mortal_server() as (memory, kill):
            await introduce(report, memory, time.perf_counter() - start)
            answers, embedded = await visit(report, memory, facts)
            await memory.call("memory_store", content=LAST_NOTE)
            kill()
        async with house.server("-m", "memoryd") as memory:
            left = (await memory.stats())["total"]
    report.title("In short")
    report.line(verdict(answers, facts), "bold")
    report.line(f"{left} of {len(facts) + 1} facts survived a kill -9 right after the last one was stored.", "bold")
    report.title("Connect your own client")
    for where, code in snippets(*command()):
        report.snippet(where, code)
    enough = not embedded or sum(answer.within(3) for answer in answers) >= NEEDED * len(answers)
    return enough and left == len(facts) + 1


def leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    """Yield the exceptions in a group, however deeply nested."""
    for error in group.exceptions:
        yield from leaves(error) if isinstance(error, BaseExceptionGroup) else [error]


def main() -> int:
    """Run the tour and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    report = Report(Console(highlight=False))
    kept = False
    try:
        kept = anyio.run(tour, report)
    except* (TourError, MemorydError, MCPError, OSError) as group:
        for error in leaves(group):
            report.line(f"The tour ended early: {error}", "bold red")
    except* SystemExit:
        kept = False  # the reader of the output has closed it, as `| head` does
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
