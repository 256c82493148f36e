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
from memoryd.toolsets.journal.shapes import JournalTools, journal
from memoryd.toolsets.registry import Answer, Call

TOOLS = JournalTools()


@TOOLS.tool("Check health", "read")
def healthcheck(call: Call) -> JournalHealth:
    """Confirm that the server is running and can write to and read from its database."""
    kept = journal(call).kept
    if not call.engine.settings.read_only:
        kept.try_out()
    numbers = kept.numbers()
    return {"status": "healthy", "database": _database(call), "collections": numbers}


@TOOLS.tool("Start the database", "write", needs="nothing", idempotent=True)
def start_database(call: Call) -> ChangedDatabase:
    """Start the database as a background process, if it is a server of memoryd's own."""
    return _changed(call, "started" if core.database(call.engine).start() else "already_running")


@TOOLS.tool("Stop the database", "admin", needs="nothing", destructive=True, idempotent=True)
def stop_database(call: Call) -> ChangedDatabase:
    """Stop the database, if it is a server of memoryd's own."""
    return _changed(call, "stopped" if core.database(call.engine).stop() else "already_stopped")


def _changed(call: Call, outcome: DatabaseOutcome) -> ChangedDatabase:
    return view.changed(outcome, _database(call))


def _database(call: Call) -> JournalDatabase:
    return view.database_of(core.database(call.engine), discreet=bool(call.principal))


@TOOLS.tool("Export to a file", "write", lasting=True)
def export_database(
    call: Call,
    *,
    include: Annotated[
        list[CollectionName], Field(min_length=1, max_length=2, description="Collections to export.")
    ] = ["memories", "summaries"],
) -> ExportedJournal:
    """Export the journal to a JSONL file: all turns and session summaries, but no other memories."""
    wanted = [name for name in ("memories", "summaries") if name in include]
    directory = _directory(call)
    with directory.discreetly():
        path = directory.new(call.engine.clock.now())
        written, counts = journal_file.export(journal(call).kept, path, wanted, lambda done: call.progress(done, 1))
    file = directory.shown(written.path)
    return {
        "file": file,
        "bytes": written.size,
        **counts,
        "message": f"Exported {counts['memories']} memories and {counts['summaries']} summaries to {file}.",
    }


@TOOLS.tool("Import a file", "write", destructive=True, idempotent=True, lasting=True)
def import_database(
    call: Call,
    *,
    file: Annotated[
        str,
        StringConstraints(min_length=1, max_length=4_096, pattern=r"\S"),
        Field(description="The path to the JSONL backup file, within the directory of exports."),
    ],
    mode: Annotated[ImportMode, Field(description="merge adds what is missing; replace first removes what exists.")] = (
        "merge"
    ),
) -> Answer[ImportedJournal]:
    """Import a previously exported JSONL file: add what is missing, or replace what exists."""
    directory = _directory(call)
    with directory.discreetly(), jsonl.opened(directory.find(file)) as source:
        done = journal_file.load(
            journal(call).kept, source, mode, lambda part: call.progress(part, 1), call.engine.secrets
        )
    new = done.new["memories"] + done.new["summaries"]
    messages = {"merge": "; existing ones are unchanged", "replace": " in place of the existing ones"}
    result: ImportedJournal = {
        "file": file,
        "mode": mode,
        **done.read,
        "newMemories": done.new["memories"],
        "newSummaries": done.new["summaries"],
        "message": f"Imported {new}{messages[mode]}.",
    }
    return Answer(result, masked=done.masked)


def _directory(call: Call) -> ExportDirectory:
    return ExportDirectory(call.engine.settings.data_dir, call.workspace.id, discreet=bool(call.principal))
