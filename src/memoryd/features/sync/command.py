"""`memoryd sync`: one memory on several machines, through a repository of git."""

import time
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli.frame import FAILED, FILES, DataDir, Db, command, demand_writable, note, out, printable, reported
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.features.sync import status
from memoryd.features.sync.git import Git, OfflineError, without_secret
from memoryd.features.sync.sync import Outcome, Sync, place
from memoryd.settings import Settings
from memoryd.text import counted

EACH = 60.0  # seconds between the syncs of --watch
WITHOUT = {"embedder": "none", "reranker": "none", "llm_api_key": None, "llm_base_url": None}
"""A sync makes no vectors: a server does."""

app = typer.Typer(invoke_without_command=True, add_completion=False)


@app.callback()
def sync(
    ctx: typer.Context,
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Sync every minute, until Ctrl-C.")] = False,
    drop_history: Annotated[
        bool, typer.Option("--drop-history", help="Then replace the repository's history by one commit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors.")] = False,
    data_dir: DataDir = None,
    db_path: Db = None,
) -> None:
    """Send what changed here to the repository, and apply what others changed."""
    if ctx.invoked_subcommand is None:
        _sync(ctx=ctx, watch=watch, drop_history=drop_history, quiet=quiet, data_dir=data_dir, db_path=db_path)


@command(*FILES)
def _sync(settings: Settings, *, watch: bool, drop_history: bool, quiet: bool) -> None:
    demand_writable(settings, "A sync changes the memory")
    while True:
        code = _run(settings, drop_history=drop_history, quiet=quiet)
        if not watch:
            if code:
                raise typer.Exit(code)
            return
        time.sleep(EACH)


def _run(settings: Settings, *, drop_history: bool, quiet: bool) -> int:
    try:
        with Engine(settings.model_copy(update=WITHOUT), fetch=False) as engine, reported() as report:
            outcome = Sync(engine, report).run(drop_history=drop_history)
    except OfflineError as error:
        status.note(settings.data_dir, None, str(error))
        note(str(error))
        return FAILED
    except MemorydError as error:
        if Git(place(settings.data_dir)).exists:
            status.note(settings.data_dir, None, str(error))
        raise
    status.note(settings.data_dir, outcome)
    if not quiet:
        _print(outcome)
    return 0


def _print(outcome: Outcome) -> None:
    for remark in outcome.remarks:
        note(f"{remark}.")
    for path, why in outcome.refused.items():
        note(f"{path} was not read: it {why}.")
    sent = counted(outcome.sent, "file", "files")
    received = counted(outcome.received, "change", "changes")
    out.print(printable(f"Sent {sent}, applied {received}."))


@app.command()
@command(*FILES)
def init(
    settings: Settings,
    url: Annotated[str, typer.Argument(help="A repository's URL, or the folder of one.", metavar="URL|DIR")],
    *,
    workspace: Annotated[list[str] | None, typer.Option(help="Only this workspace; can be repeated.")] = None,
    main: Annotated[str, typer.Option(help="The branch that all machines read.")] = "main",
    branch: Annotated[str, typer.Option(help="A branch of this machine's own to push to, for reviews.")] = "",
) -> None:
    """Set up the repository to sync with; it may be empty."""
    demand_writable(settings, "A sync changes the memory")
    if not url.strip() or url.startswith("-"):
        raise InvalidInputError("Name the URL of a repository, or the folder of one.")
    given = str(Path(url).expanduser().absolute()) if Path(url).expanduser().is_dir() else url
    git = Git(place(settings.data_dir))
    git.init(given)
    git.configure("memoryd.main", [main])
    git.configure("memoryd.branch", [branch] if branch else [])
    git.configure("memoryd.workspace", workspace or [])
    git.fetch(main)
    out.print(printable(f"Syncs with {without_secret(given)}. Run `memoryd sync` to begin."))
