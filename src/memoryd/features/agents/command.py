"""The hook of a coding agent. It never blocks the agent: every error is one line and exit code 1."""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from memoryd import environment
from memoryd.cli.frame import FAILED, PLACE, command, fail, printable, with_suggestion
from memoryd.connect.hook import INPUT, PROMPT, READING, SHOWING, TOO_LONG
from memoryd.core.engine import Engine
from memoryd.core.search.briefing import BUDGET, CONTEXT_BUDGET
from memoryd.core.security.secrets import Secrets
from memoryd.core.workspaces.project import WorkspaceChoice
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.agents.hooks import END, START, Event, Hooks, TurnKeeper, parse, printed, tell_slices
from memoryd.features.agents.spool import ASKING, ServerSpool
from memoryd.posting import TOKEN_VARIABLE, HookServer, NotPostedError
from memoryd.settings import AUTO, Settings

WITHOUT = {"embedder": "none", "reranker": "none", "llm_api_key": None, "llm_base_url": None}
"""A hook has little time, so it uses no model. A server makes the vectors."""
HookEvent = Literal["session-start", "prompt-submit", "stop", "subagent-stop", "pre-compact", "session-end"]
HookClient = Literal["claude-code", "codex", "cursor", "gemini", "opencode", "vscode"]
_WRONG_USAGE: Any = typer.BadParameter.__base__  # typer does not export it


class Unblocking(TyperCommand):
    """A command that exits with 0 or 1: to a client, 2 would mean that its agent must not continue."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Report wrong options like any other error."""
        try:
            return super().make_context(*args, **extra)
        except _WRONG_USAGE as error:
            raise fail(with_suggestion(error.format_message()), FAILED) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command; report an unexpected error as one line too."""
        sys.excepthook = lambda kind, error, _traceback: _say(f"{kind.__name__}: {error}")
        logging.disable()
        try:
            return super().invoke(ctx)
        except typer.Exit as end:
            raise typer.Exit(FAILED if end.exit_code else 0) from None


def _say(message: str) -> None:
    sys.stderr.write(f"memoryd: {printable(' '.join(message.split()))}\n")
    sys.stderr.flush()


app = typer.Typer(add_completion=False)


@app.command(cls=Unblocking)
@command(*PLACE)
def hook(
    settings: Settings,
    event: Annotated[HookEvent, typer.Argument(help="The event.", metavar="EVENT")],
    *,
    client: Annotated[HookClient, typer.Option(help="The client that runs the hook.")] = "claude-code",
    budget: Annotated[
        int, typer.Option(min=1, max=BUDGET, metavar="TOKENS", help="Maximum tokens of a briefing; of a prompt, 300.")
    ] = CONTEXT_BUDGET,
    http: Annotated[
        str | None, typer.Option(metavar="URL", help="Use the memoryd at this URL instead of one on this machine.")
    ] = None,
    token_variable: Annotated[
        str, typer.Option(metavar="VAR", help=f"Over HTTP: the variable with the token ({TOKEN_VARIABLE}).")
    ] = "",
) -> None:
    """Run as a coding agent's hook: session-start prints a briefing; the events at a stop or an end store turns.

    prompt-submit prints what bears on the prompt if a service is running, otherwise nothing.

    The hook reads its JSON from stdin. Every error is one line on stderr and exit code 1, which blocks nothing.
    """
    with _bounded(READING, "nothing came on stdin"):
        data = _input()
    if not settings.hooks:
        return
    if http is not None:
        _run_elsewhere(settings, event, data, client, budget, _server(settings, http, token_variable))
        return
    given = parse(data)
    alone = settings.model_copy(update=WITHOUT)
    if event == PROMPT:
        return  # without a service there are no models, and loading them takes seconds
    if event == START:
        _brief(alone.model_copy(update={"read_only": True}), given, client, budget)
        tell_slices(settings)
    else:  # ChromaDB keeps nothing without a vector
        kept_there = {"embedder": settings.embedder} if settings.journal_store == "chroma" else {}
        with Engine(alone.model_copy(update=kept_there), fetch=False) as engine:
            Hooks(engine, given).keeper().run(Path.home(), client, ended=event == END, bounded=_bounded)
        if event == END:
            tell_slices(settings)


def _run_elsewhere(
    settings: Settings, event: HookEvent, data: bytes, client: HookClient, budget: int, server: HookServer
) -> None:
    """Run a hook on a memoryd at a URL. Raise MemorydError, but not for a prompt, which then goes without memory."""
    given = parse(data)
    if event not in SHOWING:
        spool, choice = ServerSpool(server, settings.data_dir), WorkspaceChoice(server.workspace)
        keeper = TurnKeeper(given, settings, Secrets(settings.secrets), spool, choice)
        keeper.run(Path.home(), client, ended=event == END, bounded=_bounded)
        return
    try:
        with _bounded(ASKING, f"{server.url} does not answer"):
            sys.stdout.write(server.shown(event, client, budget, data, ASKING))
    except NotPostedError as error:
        if event != PROMPT:
            raise StoreError(str(error)) from None


def _server(settings: Settings, url: str, variable: str) -> HookServer:
    """Return the server at a URL, with the workspace of the settings. Raise InvalidInputError."""
    if settings.workspace == AUTO:
        raise InvalidInputError(f"A server does not see the project's directory: name a --workspace, not {AUTO}.")
    try:
        return HookServer(url, settings.workspace, variable, environment.current())
    except NotPostedError as error:
        raise InvalidInputError(str(error)) from None


@contextmanager
def _bounded(seconds: float, what: str) -> Iterator[None]:
    """End the process after `seconds`, with one line; what was committed by then is kept."""

    def give_up() -> None:
        _say(f"{what} (given up after {seconds:g} seconds).")
        os._exit(FAILED)

    watch = threading.Timer(seconds, give_up)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _input() -> bytes:
    if sys.stdin.isatty():
        raise InvalidInputError("A hook reads its JSON from stdin. docs/hooks.md shows how a client runs it.")
    data = sys.stdin.buffer.read(INPUT + 1)
    if len(data) > INPUT:
        raise InvalidInputError(TOO_LONG)
    return data


def _brief(settings: Settings, event: Event, client: HookClient, budget: int) -> None:
    with Engine(settings, fetch=False) as engine:
        hooks = Hooks(engine, event)
        with _bounded(ASKING, f"{engine.store.place} does not answer: the session starts without a briefing"):
            text = printed(hooks.answer(budget, client))
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            try:
                hooks.delivered()
            except OSError as error:  # the briefing matters more: failing now would discard it
                _say(f"the next briefing of this session may repeat this one: {error}")
