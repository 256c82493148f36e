"""The database: healthcheck, start_database, stop_database, export_database, import_database."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from memoryd.core.journal import journal as core
from memoryd.core.transfer import journal_file, jsonl
from memoryd.core.transfer.journal_file import Collection
from memoryd.core.transfer.jsonl import Mode
from memoryd.errors import InvalidInputError, StoreError
from memoryd.store.journal import State
from memoryd.toolsets.journal.shapes import CamelArguments, CamelResult, journal, told
from memoryd.toolsets.registry import Answer, Call, NoArguments, Tool, Toolset


class DatabaseState(CamelResult):
    """Which database there is."""

    product: str
    place: str | None
    """Not told to whoever comes with a token."""
    state: State


class Collections(CamelResult):
    """How many of each there are."""

    memories: int
    summaries: int


class Health(CamelResult):
    """That all is well; else it is an error."""

    status: Literal["healthy"] = "healthy"
    database: DatabaseState
    collections: Collections


def healthcheck(call: Call, _: NoArguments) -> Answer:
    """The tool healthcheck."""
    kept = journal(call).kept
    if not call.engine.settings.read_only:
        kept.try_out()
    numbers = kept.numbers()
    return Answer(Health(database=_state(call), collections=Collections(**numbers)))


Outcome = Literal["started", "already_running", "stopped", "already_stopped", "embedded", "external"]
SAID: Mapping[Outcome, str] = {
    "started": "It was started.", "already_running": "It runs already.",
    "stopped": "It was stopped; start_database starts it again.", "already_stopped": "It does not run.",
    "embedded": "It is a file within this process: there is nothing to start or to stop.",
    "external": "It is a server of somebody else: it is not started or stopped from here.",
}  # fmt: skip


class Changed(CamelResult):
    """What has become of the database."""

    status: Outcome
    database: DatabaseState
    message: str


def start_database(call: Call, _: NoArguments) -> Answer:
    """start_database."""
    return _changed(call, "started" if core.database(call.engine).start() else "already_running")


def stop_database(call: Call, _: NoArguments) -> Answer:
    """stop_database."""
    return _changed(call, "stopped" if core.database(call.engine).stop() else "already_stopped")


def _changed(call: Call, outcome: Outcome) -> Answer:
    database = _state(call)
    match database.state:
        case "embedded" | "external" as fixed:
            outcome = fixed
    return Answer(Changed(status=outcome, database=database, message=SAID[outcome]))


def _state(call: Call) -> DatabaseState:
    database = core.database(call.engine)
    place = None if call.principal else database.place
    return DatabaseState(product=database.product, place=place, state=database.state())


# files ---------------------------------------------------------------------------------------------------------------


class ExportArguments(CamelArguments):
    """What to export."""

    include: Annotated[list[Collection], Field(min_length=1, max_length=2, description="Collections to export.")] = [
        "memories",
        "summaries",
    ]


class Exported(CamelResult):
    """Where it is, and how much."""

    file: str
    bytes: int
    memories: int
    summaries: int
    message: str


def export_database(call: Call, arguments: ExportArguments) -> Answer:
    """export_database."""
    stamp = call.engine.clock.now().translate(str.maketrans("", "", "-:."))
    path = _own(call) / f"memory-backup-{stamp}.jsonl"
    include = [name for name in ("memories", "summaries") if name in arguments.include]
    with _discreetly(call):
        written, counts = journal_file.export(journal(call).kept, path, include, lambda done: call.progress(done, 1))
    told_as = _shown(call, written.path)
    return Answer(Exported(
        file=told_as, bytes=written.size, **asdict(counts),
        message=f"Exported {counts.memories} memories and {counts.summaries} summaries to {told_as}.",
    ))  # fmt: skip


class ImportArguments(CamelArguments):
    """What to import."""

    file: Annotated[
        str,
        StringConstraints(min_length=1, max_length=4_096, pattern=r"\S"),
        Field(description="The path to the JSONL backup file, within the directory of exports."),
    ]
    mode: Annotated[
        Mode, Field(description="merge adds what is not there yet; replace removes what is there first.")
    ] = "merge"


class ImportResult(CamelResult):
    """What the file held, and what of it was not there yet."""

    file: str
    mode: Mode
    memories: int
    summaries: int
    new_memories: int
    new_summaries: int
    message: str


def import_database(call: Call, arguments: ImportArguments) -> Answer:
    """import_database."""
    with _discreetly(call), jsonl.opened(_within(call, arguments.file)) as source:
        done = journal_file.load(
            journal(call).kept, source, arguments.mode, lambda part: call.progress(part, 1), call.engine.secrets
        )
    number = done.new.memories + done.new.summaries
    return Answer(ImportResult(
        file=arguments.file, mode=arguments.mode, **asdict(done.read), new_memories=done.new.memories,
        new_summaries=done.new.summaries, message=f"Imported {number}; what was there already stays as it was."
        if arguments.mode == "merge" else f"Imported {number} in place of what was there.",
    ), masked=done.masked)  # fmt: skip


def _exports(call: Call) -> Path:
    return call.engine.settings.data_dir / "exports"


def _own(call: Call) -> Path:
    """Where a workspace's exports go: no other one can import them."""
    return _exports(call) / call.workspace.id


def _shown(call: Call, path: Path) -> str:
    """A path as its caller learns it: of the machine's directories those who come with a token learn nothing."""
    return path.relative_to(_exports(call)).as_posix() if call.principal else str(path)


@contextmanager
def _discreetly(call: Call) -> Iterator[None]:
    """Errors tell those who come with a token no directory of the machine."""
    try:
        yield
    except (InvalidInputError, StoreError) as error:
        if not call.principal:
            raise
        text = str(error)
        for directory in (_exports(call), _exports(call).resolve()):
            text = text.replace(str(directory), "the directory of exports")
        raise type(error)(text) from error


def _within(call: Call, file: str) -> Path:
    """The file that is meant. Raises InvalidInputError unless it is one of the workspace's, or nobody's."""
    exports, own = _exports(call).resolve(), _own(call).resolve()
    try:
        path = (exports / Path(file)).resolve()
        there = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInputError(
            f"{file[:200]!r} is no path ({type(error).__name__}). Give the name of a file."
        ) from None
    if path.parent not in (exports, own):
        raise InvalidInputError(
            f"{file[:200]!r} is outside of the directory of exports. Copy the file into {_shown_directory(call)}, and "
            "give its name."
        )
    if not there:
        raise InvalidInputError(f"There is no file {file[:200]!r} in {_shown_directory(call)}. Check its name.")
    return path


def _shown_directory(call: Call) -> str:
    return "the server's directory of exports" if call.principal else str(_exports(call))


TOOLS: Toolset = (
    Tool(
        name="healthcheck", title="Check health",
        description="Confirm that the server is running and can write to and read from its database.",
        arguments=NoArguments, result=Health, capability="read", handler=healthcheck, error_text=told,
    ),
    Tool(
        name="start_database", title="Start the database",
        description="Start the database as a background process, where it is a server of memoryd's own.",
        arguments=NoArguments, result=Changed, capability="write", handler=start_database, needs="nothing",
        idempotent=True, error_text=told,
    ),
    Tool(
        name="stop_database", title="Stop the database",
        description="Stop the database, where it is a server of memoryd's own.",
        arguments=NoArguments, result=Changed, capability="admin", handler=stop_database, needs="nothing",
        destructive=True, idempotent=True, error_text=told,
    ),
    Tool(
        name="export_database", title="Export to a file",
        description="Export the entire memory database to a JSONL file.",
        arguments=ExportArguments, result=Exported, capability="write", handler=export_database, lasting=True,
        error_text=told,
    ),
    Tool(
        name="import_database", title="Import a file",
        description="Import a previously exported JSONL file: add what is not there yet, or replace what is.",
        arguments=ImportArguments, result=ImportResult, capability="write", handler=import_database, destructive=True,
        idempotent=True, lasting=True, error_text=told,
    ),
)  # fmt: skip
