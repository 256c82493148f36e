"""The database: healthcheck, start_database, stop_database, export_database, import_database."""

from typing import Annotated

from pydantic import Field, StringConstraints

from memoryd.core.journal import journal as core
from memoryd.core.journal import view
from memoryd.core.journal.metadata import CollectionName
from memoryd.core.journal.view import (
    ChangedDatabase,
    DatabaseOutcome,
    ExportedJournal,
    ImportedJournal,
    JournalDatabase,
    JournalHealth,
)
from memoryd.core.transfer import journal_file, jsonl
from memoryd.core.transfer.export_directory import ExportDirectory
from memoryd.core.transfer.jsonl import ImportMode
from memoryd.toolsets.journal.shapes import CamelArguments, error_text, journal
from memoryd.toolsets.registry import Answer, Call, NoArguments, Tool, Toolset


def _healthcheck(call: Call, _: NoArguments) -> Answer[JournalHealth]:
    kept = journal(call).kept
    if not call.engine.settings.read_only:
        kept.try_out()
    numbers = kept.numbers()
    return Answer(view.healthy(_database(call), numbers))


def _start(call: Call, _: NoArguments) -> Answer[ChangedDatabase]:
    return _changed(call, "started" if core.database(call.engine).start() else "already_running")


def _stop(call: Call, _: NoArguments) -> Answer[ChangedDatabase]:
    return _changed(call, "stopped" if core.database(call.engine).stop() else "already_stopped")


def _changed(call: Call, outcome: DatabaseOutcome) -> Answer[ChangedDatabase]:
    return Answer(view.changed(outcome, _database(call)))


def _database(call: Call) -> JournalDatabase:
    return view.database_of(core.database(call.engine), discreet=bool(call.principal))


# files ---------------------------------------------------------------------------------------------------------------


class ExportDatabaseArguments(CamelArguments):
    """The collections to export."""

    include: Annotated[
        list[CollectionName], Field(min_length=1, max_length=2, description="Collections to export.")
    ] = [
        "memories",
        "summaries",
    ]


class ImportDatabaseArguments(CamelArguments):
    """The file to import, and the mode."""

    file: Annotated[
        str,
        StringConstraints(min_length=1, max_length=4_096, pattern=r"\S"),
        Field(description="The path to the JSONL backup file, within the directory of exports."),
    ]
    mode: Annotated[ImportMode, Field(description="merge adds what is missing; replace first removes what exists.")] = (
        "merge"
    )


def _export(call: Call, arguments: ExportDatabaseArguments) -> Answer[ExportedJournal]:
    include = [name for name in ("memories", "summaries") if name in arguments.include]
    directory = _directory(call)
    with directory.discreetly():
        path = directory.new(call.engine.clock.now())
        written, counts = journal_file.export(journal(call).kept, path, include, lambda done: call.progress(done, 1))
    file = directory.shown(written.path)
    return Answer({
        "file": file, "bytes": written.size, "memories": counts.memories, "summaries": counts.summaries,
        "message": f"Exported {counts.memories} memories and {counts.summaries} summaries to {file}.",
    })  # fmt: skip


def _import(call: Call, arguments: ImportDatabaseArguments) -> Answer[ImportedJournal]:
    directory = _directory(call)
    with directory.discreetly(), jsonl.opened(directory.find(arguments.file)) as source:
        done = journal_file.load(
            journal(call).kept, source, arguments.mode, lambda part: call.progress(part, 1), call.engine.secrets
        )
    new = done.new.memories + done.new.summaries
    messages = {"merge": "; existing ones are unchanged", "replace": " in place of the existing ones"}
    return Answer({
        "file": arguments.file, "mode": arguments.mode, "memories": done.read.memories,
        "summaries": done.read.summaries, "newMemories": done.new.memories, "newSummaries": done.new.summaries,
        "message": f"Imported {new}{messages[arguments.mode]}.",
    }, masked=done.masked)  # fmt: skip


def _directory(call: Call) -> ExportDirectory:
    return ExportDirectory(call.engine.settings.data_dir, call.workspace.id, discreet=bool(call.principal))


TOOLS: Toolset = (
    Tool(
        name="healthcheck", title="Check health",
        description="Confirm that the server is running and can write to and read from its database.",
        arguments=NoArguments, result=JournalHealth, capability="read", handler=_healthcheck, error_text=error_text,
    ),
    Tool(
        name="start_database", title="Start the database",
        description="Start the database as a background process, if it is a server of memoryd's own.",
        arguments=NoArguments, result=ChangedDatabase, capability="write", handler=_start, needs="nothing",
        idempotent=True, error_text=error_text,
    ),
    Tool(
        name="stop_database", title="Stop the database",
        description="Stop the database, if it is a server of memoryd's own.",
        arguments=NoArguments, result=ChangedDatabase, capability="admin", handler=_stop, needs="nothing",
        destructive=True, idempotent=True, error_text=error_text,
    ),
    Tool(
        name="export_database", title="Export to a file",
        description="Export the journal to a JSONL file: all turns and session summaries, but no other memories.",
        arguments=ExportDatabaseArguments, result=ExportedJournal, capability="write", handler=_export, lasting=True,
        error_text=error_text,
    ),
    Tool(
        name="import_database", title="Import a file",
        description="Import a previously exported JSONL file: add what is missing, or replace what exists.",
        arguments=ImportDatabaseArguments, result=ImportedJournal, capability="write", handler=_import,
        destructive=True,
        idempotent=True, lasting=True, error_text=error_text,
    ),
)  # fmt: skip
