"""Maintenance, the history of records, and how to undo changes."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from memoryd import features
from memoryd.cli import exports, show
from memoryd.cli.frame import FAILED, AsJson, confirm, demand_writable, err, note, out
from memoryd.cli.here import command_here
from memoryd.core.base.clock import day
from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import compaction, contradictions, purging, scheduler
from memoryd.core.maintenance import history as changes
from memoryd.core.maintenance.actions import Act
from memoryd.core.maintenance.contradictions import Contradiction, Survey
from memoryd.core.maintenance.history import HistoryEntry
from memoryd.core.maintenance.purging import Purged
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.models.llm import CALLS, CountingWriter, configured
from memoryd.settings import Settings
from memoryd.text import counted

SHOWN = 200  # characters of a text in a list


@command_here
def maintain(
    settings: Settings,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done and why, and what a model would be asked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Consolidate, and with a language model compact, the memories of the workspace; show what was done and why."""
    if not dry_run:
        demand_writable(settings, "maintain changes the memory")
    with Engine(settings, fetch=False) as engine:
        workspace = engine.workspace(make=False)
        scope = Scope(engine, workspace)
        if configured(settings):
            exports.embed(engine)  # the language model is asked about similar memories, which takes vectors
        counted = CountingWriter() if dry_run else None
        done = list(scheduler.maintain(engine, workspace, lambda: False, dry_run=counted))
        faded = len(compaction.decayed(engine, workspace))
        survey = contradictions.survey(engine, workspace) if dry_run else None
        shown = [memory for act in done for memory in (*act.gone, act.by)]
        shown += [memory for pair in (survey.found if survey else ()) for memory in (pair.newer, pair.older)]
        named = scope.shortened([memory.id for memory in shown])
    if as_json:
        acts = [_act(act) for act in done]
        asks = {"prompts": counted.prompts, "tokens": counted.tokens} if counted else {}
        pairs = {"contradictions": [_pair(one) for one in survey.found]} if survey else {}
        show.as_json({"workspace": workspace.name, "dry_run": dry_run, "acts": acts, "decayed": faded, **asks, **pairs})
        return
    for act in done:
        _print_act(act, named, would="would be " if dry_run else "")
    if survey:
        _print_survey(survey, named)
    if not (done or (survey and survey.found)):
        out.print("There is nothing to do." if dry_run else "There was nothing to do.")
    if faded:
        needed = "" if configured(settings) else "; compacting them needs a language model (docs/llm.md)"
        note(f"Memories that have decayed: {faded}{needed}.")
    if counted and counted.prompts:
        note(
            f"Prompts for the language model, which was not asked: at most {counted.prompts:,}, with about "
            f"{counted.tokens:,} tokens including answers. It is sent at most {CALLS:,} prompts and "
            f"{settings.llm_tokens:,} tokens an hour (MEMORY_LLM_TOKENS)."
        )
    if done and not dry_run:
        note("`memoryd history` lists these changes, `memoryd restore ID` undoes one.")


def _act(act: Act) -> dict[str, object]:
    gone = [{"id": memory.id, "content": memory.body} for memory in act.gone]
    by = {"id": act.by.id, "content": act.by.body}
    return {"ending": act.ending, "gone": gone, "by": by, "reason": act.reason}


def _print_act(act: Act, named: Mapping[str, str], would: str) -> None:
    for memory in act.gone:
        show.verbatim(f"- {named[memory.id]} {would}{act.ending}: {_short(memory.body)}")
    style = "" if act.ending == "compacted" else "dim"
    show.verbatim(f"  into {named[act.by.id]}: {_short(act.by.body)}", style=style)
    show.verbatim(f"  {act.reason}", style="dim")


def _pair(pair: Contradiction) -> dict[str, object]:
    newer, older = (
        {"id": memory.id, "content": memory.body, "created_at": memory.created_at}
        for memory in (pair.newer, pair.older)
    )
    return {"newer": newer, "older": older, "why": list(pair.why)}


def _print_survey(survey: Survey, named: Mapping[str, str]) -> None:
    """Print which pairs a person should judge, and what was not compared."""
    for pair in survey.found:
        newer, older = pair.newer, pair.older
        show.verbatim(f"- {named[newer.id]} of {day(newer.created_at)} may replace: {_short(newer.body)}")
        show.verbatim(f"  {named[older.id]} of {day(older.created_at)}: {_short(older.body)}", style="dim")
        show.verbatim(f"  {', '.join(pair.why)}", style="dim")
    if survey.found:
        note(f"{counted(len(survey.found), 'pair')} may contradict. Judge them on the page (`memoryd ui`, Upkeep).")
    if not survey.all:
        note(f"Compared for contradictions: only the {survey.compared:,} memories that were changed last.")
    if survey.degraded:
        note(f"Contradictions: {survey.degraded}")


@command_here
def history(
    settings: Settings,
    *,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List what was deleted, changed, merged, superseded or compacted, the latest first: all that can be restored."""
    with Engine(settings, fetch=False) as engine:
        scope = Scope(engine, engine.workspace(make=False))
        found = changes.entries(Graph(scope), limit)
        named = scope.shortened([key for entry in found for key in (entry.id, entry.successor) if key])
    if as_json:
        show.as_json(list(map(asdict, found)))
        return
    for entry in found:
        _print_entry(entry, named)
    if not found:
        out.print("There is nothing to undo.")


def _print_entry(entry: HistoryEntry, named: Mapping[str, str]) -> None:
    show.verbatim(f"- {entry.at}  {entry.what} {entry.kind}: {_short(entry.text)}")
    if entry.now is not None:
        successor = f"  ({named[entry.successor]})" if entry.successor else ""
        show.verbatim(f"  now: {_short(entry.now)}{successor}", style="dim")
    by = " ".join(filter(None, (entry.client, entry.tool)))
    show.verbatim("  ".join(filter(None, (f"  {named[entry.id]}", entry.reason, by and f"by {by}"))), style="dim")


@command_here
def restore(
    settings: Settings,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="As `memoryd history` lists them.")],
    *,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="If changed several times: the time of the change to undo.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Restore deleted records, the previous text of changed ones, or the originals of a summary: all ids or none."""
    demand_writable(settings, "restore changes the memory")
    if file := next((one for one in ids if Path(one).is_file() or one.endswith(".db")), ""):  # no id ends so
        raise InvalidInputError(
            f"{file} names a file, but restore takes ids of records. To restore a backup: `memoryd migrate --from "
            f"{file} --to DIRECTORY` into a new directory, which --data-dir (MEMORY_DATA_DIR) then names."
        )
    with Engine(settings, fetch=False) as engine:
        scope = Scope(engine, engine.workspace(make=False))
        done = changes.restore(Graph(scope), ids, at)
        named = scope.shortened([one.id for one in done])
        if not as_json:
            exports.embed(engine)
    if as_json:
        show.as_json([{"id": one.id, "kind": one.kind, "text": one.text, "along": one.along} for one in done])
        return
    for one in done:
        along = f" with {one.along} that belong to it" if one.along else ""
        show.verbatim(f"Restored {one.kind} {named[one.id]}{along}: {_short(one.text)}")


@command_here
def purge(
    settings: Settings,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of records or relations, deleted or not.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove records permanently, with their versions, words and vectors, and search the files for remains."""
    demand_writable(settings, "purge changes the memory")
    with Engine(settings, fetch=False) as engine:
        scope = Scope(engine, engine.workspace(make=False))
        if not yes:
            subjects = partial(_print_subjects, scope, ids)
            alone = "Purging needs confirmation, and stdin is not a terminal. Add --yes."
            confirm("Remove this permanently? It cannot be undone.", alone, subjects)
        done = purging.purge(scope, ids)
        named = scope.shortened([key for trace in done.traces for key in trace.holders])
    held = [one.holds for one in features.states(settings) if one.holds]
    if as_json:
        traces = [{"path": str(one.path), "text": one.text, "holders": list(one.holders)} for one in done.traces]
        show.as_json(
            {"ids": list(done.ids), "proven": done.proven, "pieces": done.pieces, "traces": traces, "elsewhere": held}
        )
    else:
        _print_purged(done, named)
        for sentence in held:
            note(sentence)
    if done.traces:
        raise typer.Exit(FAILED)


def _print_subjects(scope: Scope, ids: list[str]) -> None:
    found = purging.subjects(scope, ids)
    named = scope.shortened([one["id"] for one in found])
    for one in found:
        show.verbatim(f"- {one['kind']} {named[one['id']]}: {_short(one['text'])}", err)


def _print_purged(done: Purged, named: Mapping[str, str]) -> None:
    show.verbatim(f"Permanently removed {counted(len(done.ids), 'record')}.")
    for trace in done.traces:
        why = (
            f"also in {', '.join(named[key] for key in trace.holders)}"
            if trace.holders
            else "purge does not change this file"
        )
        note(f"{trace.path} still contains {trace.text!r}: {why}.")
    if done.proven:
        size = f"{done.size / 2**20:.1f} MB"
        show.verbatim(
            f"{counted(done.pieces, 'piece')} of the texts searched for in {counted(len(done.files), 'file')} "
            f"({size}): none left."
        )
    elif not done.files:
        note("The files belong to the database server; its log and its backups were not searched.")
    elif not done.pieces:
        note("The texts were too short to be distinguished from others in the files, so nothing was searched for.")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[:SHOWN] + " ..."
