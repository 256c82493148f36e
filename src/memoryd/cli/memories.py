"""The commands store, recall, context, forget and inspect. They run the same tools that agents call."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from memoryd import errors
from memoryd.cli import service, show
from memoryd.cli.frame import AsJson, confirm, demand_writable, err, note, out
from memoryd.cli.here import asking_here, command_here
from memoryd.core.base.batches import batches
from memoryd.core.base.limits import TEXT
from memoryd.core.engine import Engine
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.memories import Stored
from memoryd.core.memories.replaceable import Replaceable
from memoryd.core.memories.view import (
    ForgottenMemories,
    InspectedMemories,
    RecalledMemories,
    StoredMemory,
    stored_sentence,
)
from memoryd.core.records import short_ids
from memoryd.core.records.records import origin
from memoryd.core.scope import together
from memoryd.core.search.briefing import UNSURE
from memoryd.core.security import secrets
from memoryd.errors import InvalidInputError, MemorydError, NotFoundError, UncertainError
from memoryd.model import Workspace
from memoryd.models.providers import Spec
from memoryd.settings import Settings
from memoryd.text import counted
from memoryd.toolsets import chosen
from memoryd.toolsets.recall import IDS
from memoryd.toolsets.registry import Answer, Call

if TYPE_CHECKING:
    from memoryd.connect.channel import Lines

NOTHING = "Nothing to store. Give the content as a text, or pipe it in."
PREVIEWED = 20  # maximum memories shown before they are forgotten
TagsOption = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with ALL of these tags.")]
BudgetOption = Annotated[int | None, typer.Option("--budget", metavar="TOKENS", help="Maximum tokens of the answer.")]


class Tools:
    """The recall tools for one workspace, on this process's own engine."""

    def __init__(self, engine: Engine, workspace: Workspace) -> None:
        self._engine, self._workspace = engine, workspace
        self.workspace = workspace.name

    def run(self, name: str, **arguments: Any) -> Answer[Any]:
        """Run a tool with the arguments that are not None. Raise MemorydError."""
        settings = self._engine.settings
        tool = chosen(["recall"], read_only=settings.read_only).get(name)
        if tool is None:
            raise InvalidInputError(f"{name} changes the memory, which --read-only (MEMORY_READ_ONLY) forbids.")
        return tool.run(Call(self._engine, self._workspace, settings.session_id or ""), arguments)

    def use_meaning(self) -> bool:
        """Wait for the embedder and return whether it can be used; print a note if it cannot."""
        helpers = self._engine.helpers
        helpers.embedder.start()
        if helpers.embedder.get(helpers.patience) is None and not Spec.parse(self._engine.settings.embedder).off:
            reason = helpers.embedder.reason or "The model is still being loaded."
            note(f"Only words are used, not meaning. {reason}")
            return False
        return True

    def shortened(self, ids: Collection[str]) -> dict[str, str]:
        """Return the short form of each id."""
        return together(self._engine, self._workspace).shortened(ids)

    def whole(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return memories with all fields."""
        found: list[dict[str, Any]] = []
        for part in batches(ids, IDS):
            result: InspectedMemories = self.run("memory_inspect", ids=part).result
            found += result["memories"]
        return found


class ServedTools(Tools):
    """The tools of a service, whose models are loaded."""

    def __init__(self, service: "Lines", workspace: str) -> None:
        self._service = service
        self.workspace = workspace

    def run(self, name: str, **arguments: Any) -> Answer[Any]:
        """Run a tool there. Raise MemorydError."""
        answer = self._asked(name, {"tool": name, "arguments": arguments})
        masked, notes = tuple(answer["masked"]), tuple(answer["notes"])
        return Answer(answer["result"], answer["text"], answer["figures"], masked=masked, notes=notes)

    def shortened(self, ids: Collection[str]) -> dict[str, str]:
        """Return the short form of each id. Raise MemorydError."""
        named: dict[str, str] = self._asked("the command", {"shorten": list(ids)})["named"]
        return named

    def _asked(self, what: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the service's answer. Raise MemorydError."""
        try:
            self._service.send(request)
            return answered(self._service.receive())
        except OSError as error:
            raise UncertainError(f"The service ended during {what}: check whether it took effect. ({error})") from None

    def use_meaning(self) -> bool:
        """Return True."""
        return True


@contextmanager
def opened(settings: Settings, *, make: bool = False) -> Iterator[Tools]:
    """Yield the tools for the configured workspace, those of a running service if there is one.

    With `make`, create the workspace if necessary.
    """
    if (found := service.greeted(settings, "tools", make=make, origin=origin()["tool"])) is not None:
        lines, answer = found
        with lines.socket:
            yield ServedTools(lines, answered(answer)["workspace"])
        return
    with Engine(settings, fetch=False) as engine:
        yield Tools(engine, engine.workspace(make=make and not settings.read_only))


def answered(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a service; raise the error that it reports."""
    if "failed" in answer:
        kind = getattr(errors, answer["kind"], MemorydError)
        error: MemorydError = kind.__new__(kind)  # its message is made
        MemorydError.__init__(error, answer["failed"])
        vars(error).update(answer["carries"])
        raise error
    return answer


# storing -------------------------------------------------------------------------------------------------------------


@command_here
def store(
    settings: Settings,
    text: Annotated[list[str] | None, typer.Argument(help="The memory; `-` or a pipe: from stdin.")] = None,
    *,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be repeated.")] = None,
    importance: Annotated[
        float | None, typer.Option(help="0 to 1 (default 0.5); higher values decay more slowly.")
    ] = None,
    supersedes: Annotated[
        list[str] | None, typer.Option("--supersedes", metavar="ID", help="A memory that it replaces; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Store a memory."""
    content = _piped() if text in (None, ["-"]) else " ".join(text or ())
    if not content.strip():
        raise InvalidInputError(NOTHING)
    with opened(settings, make=True) as tools:
        tools.use_meaning()
        replaced = supersedes or []
        answer = tools.run("memory_store", content=content, tags=tag, importance=importance, supersedes=replaced)
        _print_answer(
            answer if as_json else replace(answer, text=_stored(tools, answer.result, replaced)), as_json=as_json
        )


def _stored(tools: Tools, stored: StoredMemory, replaced: Sequence[str]) -> str:
    """Return what the tool says of a stored memory, with short ids."""
    named = tools.shortened([stored["id"], *replaced])
    others = tuple(starmap(Replaceable, stored.get("may_replace", {}).items()))
    return stored_sentence(Stored(named[stored["id"]], stored["status"], tuple(named[one] for one in replaced), others))


def _piped() -> str:
    """Return the text on stdin; raise InvalidInputError if there is none, or certainly too much."""
    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(8 * TEXT)
    if not data.strip():
        raise InvalidInputError(NOTHING)
    if len(data) == 8 * TEXT:  # a character has at most four bytes; trailing line ends do not count
        raise InvalidInputError(f"stdin is too long: a memory holds at most {TEXT} characters. Split it.")
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"stdin is not UTF-8 text: {error.reason} at byte {error.start}.") from None


# finding -------------------------------------------------------------------------------------------------------------


@asking_here
def recall(
    settings: Settings,
    query: Annotated[list[str], typer.Argument(help='A question; AND, OR, NOT, "phrases" and prefix* work too.')],
    *,
    budget: BudgetOption = None,
    tag: TagsOption = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", metavar="KIND", help="Only these kinds.")] = None,
    after: Annotated[str | None, typer.Option(metavar="TIME", help="Stored at this ISO 8601 time or later.")] = None,
    before: Annotated[str | None, typer.Option(metavar="TIME", help="Stored before this ISO 8601 time.")] = None,
    as_of: Annotated[str | None, typer.Option(metavar="TIME", help="What was believed at this ISO 8601 time.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="As agents see it: summary, list, raw or answer.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find memories relevant to a question, by words and by meaning."""
    if not any(map(str.strip, query)):
        raise InvalidInputError("The query is empty. Give a question.")
    form = form or ("list" if as_of else None)  # cards show memories as they are now
    with opened(settings) as tools:
        by_meaning = tools.use_meaning()
        answer = tools.run(
            "memory_recall",
            query=" ".join(query),
            token_budget=budget,
            tags=tag,
            kinds=kind,
            after=after,
            before=before,
            as_of=as_of,
            format=form,
        )
        if as_json or form:
            _print_answer(answer, as_json=as_json)
            return
        found: RecalledMemories = answer.result
        text = found.get("text", "")
        if not found["memories"]:
            show.verbatim(text)
        elif UNSURE in text.splitlines():
            show.verbatim(UNSURE)
        scores = {memory["id"]: memory["score"] for memory in found["memories"]}
        changed = {memory["id"]: memory.get("changed_by") for memory in found["memories"]}
        named = tools.shortened([*scores, *filter(None, changed.values())])
        show.cards([{**one, "changed_by": changed[one["id"]]} for one in tools.whole(list(scores))], named, scores)
        if found["omitted"]:
            note(f"{found['omitted']} more were found; a larger --budget shows more of them.")
        if by_meaning and found["memories"] and (degraded := found.get("degraded")):
            note(degraded)


@asking_here
def context(
    settings: Settings,
    task: Annotated[list[str] | None, typer.Argument(help="What the conversation is about.")] = None,
    *,
    budget: BudgetOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the briefing that an agent gets when a conversation starts."""
    with opened(settings) as tools:
        if task:
            tools.use_meaning()
        about = " ".join(task) if task else None
        _print_answer(tools.run("memory_context", task=about, token_budget=budget), as_json=as_json)


@command_here
def inspect(
    settings: Settings,
    ids: Annotated[list[str] | None, typer.Argument(help="Show these memories in full.")] = None,
    *,
    view: Annotated[
        str | None, typer.Option(metavar="VIEW", help="stats (default), recent, important, tags or export.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Maximum items of a view (20).")] = None,
    as_json: AsJson = False,
) -> None:
    """Inspect the memory: statistics, recent or important memories, tags, or given memories in full."""
    with opened(settings) as tools:
        answer = tools.run("memory_inspect", ids=ids, view=view, limit=limit)
        result: InspectedMemories = answer.result
        if as_json:
            _print_answer(answer, as_json=True)
        else:
            _print_inspected(result, tools)
        if missing := result.get("not_found"):
            raise _missing(missing, tools)


# correcting ----------------------------------------------------------------------------------------------------------


@command_here
def edit(
    settings: Settings,
    record_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the memory, or the beginning of the id.")],
    text: Annotated[list[str] | None, typer.Argument(help="Its new text; `-`: from stdin.")] = None,
    *,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag instead of the old ones; may be repeated.")
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Remove all tags.")] = False,
    importance: Annotated[float | None, typer.Option(help="0 to 1; higher values decay more slowly.")] = None,
    as_json: AsJson = False,
) -> None:
    """Correct a memory in place: its text, tags or importance. Its earlier text is kept and can be restored."""
    demand_writable(settings, "edit changes the memory")
    if tag and no_tags:
        raise InvalidInputError("--tag sets tags, --no-tags removes all. Omit one of them.")
    with Engine(settings, fetch=False) as engine, secrets.noted() as masked:
        workspace = engine.workspace(make=False)
        Tools(engine, workspace).use_meaning()
        content = _piped() if text == ["-"] else " ".join(text) if text else None
        tags = () if no_tags else tuple(tag) if tag else None
        if content is None and tags is None and importance is None:
            raise InvalidInputError("Nothing to change. Give a text, --tag, --no-tags or --importance.")
        wanted = Correction(id=record_id, content=content, tags=tags, importance=importance)
        scope = together(engine, workspace)
        done = correction.correct(scope, wanted)
        (named,) = scope.shortened(done.ids).values()
    if masked:
        note(secrets.masked_notice(masked))
    if as_json:
        show.as_json({"ids": list(done.ids), "changed_at": done.at})
    elif done.at:
        show.verbatim(f"Corrected memory {named}. `memoryd restore {named} --at {done.at}` undoes it.")
    else:
        show.verbatim(f"Memory {named} already is like that.")


# forgetting ----------------------------------------------------------------------------------------------------------


@command_here
def forget(
    settings: Settings,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of memories.")] = None,
    *,
    tag: TagsOption = None,
    query: Annotated[str | None, typer.Option(help="The ten best matches of this query.")] = None,
    before: Annotated[str | None, typer.Option(metavar="TIME", help="Stored before this ISO 8601 time.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget memories by id, or by criteria that must all match, after confirmation."""
    criteria = {"ids": ids, "tags": tag, "query": query, "before": before}
    with opened(settings) as tools:
        if query:
            tools.use_meaning()
        if yes and not dry_run:
            gone = tools.run("memory_forget", confirm=True, **criteria).result
        else:
            gone = tools.run("memory_forget", dry_run=True, **criteria).result
            if gone["ids"] and not dry_run:
                sentence = (
                    f"Forgetting needs confirmation, and stdin is not a terminal: {len(gone['ids'])} would be "
                    "forgotten. Add --yes to forget them, or --dry-run to see them."
                )
                confirm("Forget them?", sentence, partial(_print_forgettable, tools, gone, PREVIEWED, err))
                gone = _forgotten(tools, gone["ids"])
        alone = () if tag or query or before else ids or ()
        unknown = short_ids.unnamed(alone, gone["ids"])
        if as_json:
            show.as_json(gone)
        elif gone["ids"] or not unknown:
            if gone["dry_run"] and gone["ids"]:
                _print_forgettable(tools, gone, len(gone["ids"]))
            else:
                number = gone["forgotten"]
                show.verbatim(f"Forgot {counted(number, 'memory', 'memories')}." if number else gone["message"])
        if unknown:
            raise _missing(unknown, tools)


def _missing(ids: Sequence[str], tools: Tools) -> NotFoundError:
    return NotFoundError(f"There is no memory {', '.join(ids)} in {tools.workspace!r}.")


def _forgotten(tools: Tools, ids: Sequence[str]) -> ForgottenMemories:
    """Forget exactly the memories that were shown, even if others match now."""
    gone: list[str] = []
    for part in batches(ids, IDS):
        gone += tools.run("memory_forget", ids=part).result["ids"]
    return {"forgotten": len(gone), "ids": gone, "dry_run": False}


def _print_answer(answer: Answer[Any], *, as_json: bool) -> None:
    for line in answer.notes:
        note(line)
    if answer.masked:
        note(secrets.masked_notice(answer.masked))
    if as_json or answer.text is None:
        show.as_json(answer.result)
    else:
        show.verbatim(answer.text.replace("supersedes=[id]", "--supersedes ID"))


def _print_inspected(result: InspectedMemories, tools: Tools) -> None:
    """Print a view of memory_inspect."""
    if "stats" in result:
        skipped = ("embedder", "reranker")  # a command that only counts loads no models; doctor does
        show.facts([(name, value) for name, value in result["stats"].items() if name not in skipped])
    elif "tags" in result:
        show.numbers(("tag", "records"), result["tags"].items())
    elif result["memories"]:
        named = tools.shortened([one["id"] for one in result["memories"]])
        show.cards(result["memories"], named, {}, sys.maxsize if result["view"] == "ids" else show.SHOWN)
    elif result["view"] != "ids":
        show.verbatim("No memories yet.")


def _print_forgettable(tools: Tools, result: ForgottenMemories, most: int, console: Console = out) -> None:
    """Print what would be forgotten, one line each, at most `most` lines."""
    ids, previews = result["ids"], result["preview"]
    show.verbatim(f"Would forget {counted(len(ids), 'memory', 'memories')}:", console)
    named = tools.shortened(ids[:most])
    for one, text in list(zip(ids, previews, strict=True))[:most]:
        show.verbatim(f"- {named[one]}: {' '.join(text.split())}", console)
    if len(ids) > most:
        show.verbatim(f"... and {len(ids) - most} more", console)
