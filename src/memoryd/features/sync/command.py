"""`memoryd sync`: one memory on several machines, through a repository of git."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from memoryd.cli.frame import FILES, DataDir, Db, command, demand_writable, note, out, printable, reported
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, MemorydError
from memoryd.features.sync import status
from memoryd.features.sync.git import Git, without_secret
from memoryd.features.sync.sync import MAIN, Sync, SyncReport, place
from memoryd.settings import Settings
from memoryd.text import counted

WITHOUT = {"embedder": "none", "reranker": "none", "llm_api_key": None, "llm_base_url": None}
"""A sync makes no vectors: a server does."""

app = typer.Typer(invoke_without_command=True, add_completion=False)


@app.callback()
def sync(
    ctx: typer.Context,
    *,
    drop_history: Annotated[
        bool, typer.Option("--drop-history", help="Then replace the repository's history by one commit.")
    ] = False,
    data_dir: DataDir = None,
    db_path: Db = None,
) -> None:
    """Send what changed here to the repository, and apply what others changed."""
    if ctx.invoked_subcommand is None:
        _sync(ctx=ctx, drop_history=drop_history, data_dir=data_dir, db_path=db_path)


@command(*FILES)
def _sync(settings: Settings, *, drop_history: bool) -> None:
    demand_writable(settings, "A sync changes the memory")
    try:
        with Engine(settings.model_copy(update=WITHOUT), fetch=False) as engine, reported() as report:
            done = Sync(engine, report).run(drop_history=drop_history)
    except MemorydError as error:
        if Git(place(settings.data_dir)).exists:
            status.note(settings.data_dir, None, str(error))
        raise
    status.note(settings.data_dir, done)
    _print(done)


def _print(done: SyncReport) -> None:
    for remark in done.remarks:
        note(f"{remark}.")
    for path, why in done.refused.items():
        note(f"{path} was not read: it {why}.")
    sent = counted(done.sent, "file", "files")
    received = counted(done.received, "change", "changes")
    out.print(printable(f"Sent {sent}, applied {received}."))


@app.command()
@command(*FILES)
def init(
    settings: Settings,
    url: Annotated[str, typer.Argument(help="A repository's URL, or the folder of one.", metavar="URL|DIR")],
    *,
    workspace: Annotated[list[str] | None, typer.Option(help="Only this workspace; can be repeated.")] = None,
    branch: Annotated[str, typer.Option(help="A branch of this machine's own to push to, for reviews.")] = "",
) -> None:
    """Set up the repository to sync with; it may be empty."""
    demand_writable(settings, "A sync changes the memory")
    if not url.strip() or url.startswith("-"):
        raise InvalidInputError("Name the URL of a repository, or the folder of one.")
    given = str(Path(url).expanduser().absolute()) if Path(url).expanduser().is_dir() else url
    with closing(Git(place(settings.data_dir))) as git:
        git.init(given)
        git.configure("memoryd.branch", [branch] if branch else [])
        git.configure("memoryd.workspace", workspace or [])
        git.fetch(MAIN)
    out.print(printable(f"Syncs with {without_secret(given)}. Run `memoryd sync` to begin."))
