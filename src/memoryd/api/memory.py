"""The memory of one workspace, for a Python program."""

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from memoryd.api.local_tools import LocalTools
from memoryd.api.parts import MemoryGraph, MemoryTurns, MemoryVault
from memoryd.api.tools import LIMIT, RECALLED, RecalledHit, RecordFields
from memoryd.core.base.progress import ignore_progress
from memoryd.core.journal.view import AddedTurn, ShownTurn
from memoryd.core.memories.view import ForgottenMemories, InspectedMemories, MemoryView, StoredMemory
from memoryd.core.transfer import export
from memoryd.core.transfer.export_formats import OWN, export_format
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.settings import Settings
from memoryd.toolsets import TOOLSETS
from memoryd.toolsets.projects import Project
from memoryd.toolsets.registry import Tool

Hits: TypeAlias = list[RecalledHit]
Records: TypeAlias = list[RecordFields]
Dicts: TypeAlias = list[dict[str, Any]]
Projects: TypeAlias = list[Project]
Turns: TypeAlias = list[ShownTurn]
"""Named here because in Memory `list` is a method."""
ToolForm = Literal["openai", "chat", "anthropic", "mcp"]
FORMS: dict[str, Callable[[dict[str, Any], Tool], dict[str, Any]]] = {
    "openai": lambda named, tool: {**named, "type": "function", "parameters": tool.input_schema, "strict": False},
    "chat": lambda named, tool: {"type": "function", "function": {**named, "parameters": tool.input_schema}},
    "anthropic": lambda named, tool: {**named, "input_schema": tool.input_schema},
    "mcp": lambda named, tool: {**named, "title": tool.title, "inputSchema": tool.input_schema},
}
"""For each form of tools for a model: from a tool's name and description, and the tool."""
NOTHING: dict[str, Any] = {"result": []}
"""The result of a list where nothing was ever stored."""


class Memory:
    """The memory of one workspace, for a Python program. Usable from several threads; a context manager.

    A text is durable when the method that stores it returns. Reading where nothing was ever stored returns nothing. All
    methods raise InvalidInputError for invalid input, and MemorydError for other failures; the message has the cause
    and the next step. `vault`, `turns` and `graph` have the methods for texts under keys, conversations and the graph.
    """

    def __init__(
        self, workspace: str | None = None, *, data_dir: str | Path | None = None, session: str = "", **settings: Any
    ) -> None:
        """Open a memory; its workspace is created when something is stored.

        `session` names the conversation that what is stored comes from; turns and volatile memories of a session are
        found under it. `settings` are other settings by their names in docs/configuration.md, in lower case and without
        `MEMORY_`. The environment provides all others, as for the command. Nothing is read or written yet.
        """
        given = {"workspace": workspace, "data_dir": str(data_dir) if data_dir else None, **settings}
        if unknown := given.keys() - Settings.model_fields.keys():
            raise InvalidInputError(f"There is no setting {min(unknown)!r}. docs/configuration.md lists them.")
        self._local = LocalTools(Settings.read(**given), session)
        self.vault = MemoryVault(self._local)
        """Texts under keys."""
        self.turns = MemoryTurns(self._local)
        """Turns of conversations."""
        self.graph = MemoryGraph(self._local)
        """Entities, observations and relations."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish accepted work, and close the files. A second call, or a call in a fork, does nothing."""
        self._local.close()

    # memories --------------------------------------------------------------------------------------------------------

    def store(
        self,
        content: str,
        *,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        supersedes: Sequence[str] = (),
    ) -> StoredMemory:
        """Store one fact; return its id, and whether it is new, merged with an equal one, or replaces others.

        Without `tags` or `importance` it inherits those of the facts that it replaces, or gets no tags and .5.
        """
        asked: dict[str, Any] = {"content": content, "tags": tags, "importance": importance, "supersedes": supersedes}
        return self._local.result("memory_store", "store", **asked)  # type: ignore[no-any-return]

    def correct(self, id: str, content: str, *, tags: Sequence[str] | None = None) -> StoredMemory:  # noqa: A002 - the tools' name
        """Store a fact in place of another, which `recall` with an earlier `as_of` still finds. Raise NotFoundError.

        It inherits the other's importance, and its tags unless `tags` are given. Return what `store` does.
        """
        return self.store(content, tags=tags, supersedes=[id])

    def recall(
        self,
        query: str,
        *,
        token_budget: int = RECALLED,
        limit: int = LIMIT,
        tags: Sequence[str] = (),
        kinds: Sequence[str] = (),
        after: str | None = None,
        before: str | None = None,
        as_of: str | None = None,
        why: bool = False,
    ) -> Hits:
        """Return the records that bear on a question, best first: at most `limit`, of `token_budget` tokens of text.

        The best one is returned whatever its length. `tags`: only records with all of them. `kinds`: memory, entity,
        observation, interaction, summary. `after`, `before`: only records stored then; `as_of`: what was believed at
        that time (ISO 8601). `why` adds the parts of each score.
        """
        asked: dict[str, Any] = {"token_budget": token_budget, "limit": limit, "tags": tags, "kinds": kinds}
        more: dict[str, Any] = {"after": after, "before": before, "as_of": as_of, "why": why}
        found = self._local.result("recall", absent=NOTHING, query=query, **asked, **more)
        return found["result"]  # type: ignore[no-any-return]

    def context(self, task: str | None = None, *, token_budget: int = 800) -> str:
        """Return a briefing for the start of a conversation: memories that bear on a task, are important, or recent.

        '' if nothing was ever stored.
        """
        answer = self._local.answer("memory_context", {"task": task, "token_budget": token_budget}, "context")
        if answer is None:
            return ""
        return answer.text if answer.text is not None else str(answer.result.get("text", ""))

    def get(self, id: str) -> RecordFields:  # noqa: A002 - the tools' name
        """Return a record of any kind by its id or the beginning of it. Raise NotFoundError."""
        found = self._local.answer("get", {"id": id}, "get")
        if found is None:
            raise NotFoundError(f"There is no record {id[:100]!r}: nothing is stored yet.")
        return found.result  # type: ignore[no-any-return]

    def edit(
        self,
        id: str,  # noqa: A002 - the tools' name
        content: str | None = None,
        *,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
    ) -> RecordFields:
        """Change a memory in place, and return it; `restore` undoes it. None leaves a field as it is.

        Raise NotFoundError, or InvalidInputError if another memory says the same.
        """
        asked: dict[str, Any] = {"content": content, "tags": tags, "importance": importance}
        return self._local.result("edit", id=id, **asked)  # type: ignore[no-any-return]

    def list(self, *, kinds: Sequence[str] = (), tags: Sequence[str] = (), limit: int = 100) -> Records:
        """Return records, last changed first: those of some `kinds`, with all of the `tags`."""
        asked: dict[str, Any] = {"kinds": kinds, "tags": tags, "limit": limit}
        return self._local.result("list_records", "list", absent=NOTHING, **asked)["result"]  # type: ignore[no-any-return]

    def forget(
        self,
        ids: Sequence[str] | None = None,
        *,
        tags: Sequence[str] = (),
        query: str | None = None,
        before: str | None = None,
        confirm: bool = False,
        dry_run: bool = False,
    ) -> ForgottenMemories:
        """Forget the memories that match all criteria; `restore` brings them back for a while.

        Criteria other than ids need `confirm`.
        """
        asked: dict[str, Any] = {
            "ids": ids,
            "tags": tags,
            "query": query,
            "before": before,
            "confirm": confirm,
            "dry_run": dry_run,
        }
        return self._local.result("memory_forget", "forget", **asked)  # type: ignore[no-any-return]

    def history(self, *, limit: int = 50) -> Dicts:
        """Return the latest changes that can be undone, newest first: at, what, id, kind, text, now, and by whom."""
        return self._local.result("history", absent=NOTHING, limit=limit)["result"]  # type: ignore[no-any-return]

    def restore(self, *ids: str, at: str | None = None) -> Dicts:
        """Undo the last change of each id, of all or none; return what was restored.

        A deleted record comes back, a living one gets its previous text, with `at` its text at that time. Raise
        NotFoundError if there is nothing to restore.
        """
        return self._local.result("restore", ids=ids, at=at)["result"]  # type: ignore[no-any-return]

    def inspect(self, view: MemoryView = "stats", *, ids: Sequence[str] = (), limit: int = 20) -> InspectedMemories:
        """Return records by id, or a view of the memory: stats, recent, important, tags, export."""
        viewed: dict[str, Any] = {view: {}} if view in ("stats", "tags") else {"memories": []}
        absent = {"view": "ids", "memories": [], "not_found": list(ids)} if ids else {"view": view, **viewed}
        asked: dict[str, Any] = {"view": view, "ids": ids, "limit": limit}
        return self._local.result("memory_inspect", "inspect", absent=absent, **asked)  # type: ignore[no-any-return]

    def workspaces(self) -> Projects:
        """Return all workspaces, by name."""
        return self._local.result("workspaces")["result"]  # type: ignore[no-any-return]

    # tools for models ------------------------------------------------------------------------------------------------

    def tools(self, form: ToolForm = "openai", *, toolsets: Sequence[str] = ("recall",)) -> Dicts:
        """Return the tools of toolsets, or of `all`, as a model's maker takes them; `call` runs them.

        Forms: `openai` (Responses), `chat` (Chat Completions, which many servers take), `anthropic`, `mcp`.
        """
        asked = [toolsets] if isinstance(toolsets, str) else list(toolsets)
        known = (*TOOLSETS, "all")
        if unknown := [name for name in asked if name not in known]:
            raise InvalidInputError(f"There is no toolset {unknown[0]!r}. There are: {', '.join(known)}.")
        if form not in FORMS:
            raise InvalidInputError(f"There is no form {form!r}. There are: {', '.join(FORMS)}.")
        tools = [
            FORMS[form]({"name": tool.name, "description": tool.description}, tool)
            for tool in self._local.chosen(asked)
        ]
        return deepcopy(tools)

    def call(self, name: str, arguments: dict[str, Any] | str) -> str:
        """Run a tool for a model, with its arguments or their JSON; return what it is to read, also if it failed."""
        return self._local.text(name, arguments)

    # files -----------------------------------------------------------------------------------------------------------

    def export(self, path: str | Path, *, format: Literal["jsonl", "markdown"] = "jsonl") -> None:  # noqa: A002 - the command's name
        """Write the workspace into a new file of JSON lines, or a folder of Markdown. Raise NotFoundError if empty."""
        other = None if format == OWN else export_format(format)
        self._local.demand_own()
        target = Path(path).expanduser().absolute()
        engine = self._local.engine
        workspace = engine.workspace(make=False)
        if other:
            other.folder(engine, [workspace], target, ignore_progress)
        else:
            export.export(engine, target, [workspace], ignore_progress)

    # former names ----------------------------------------------------------------------------------------------------

    def add_memory(self, prompt: str, thought: str, response: str, *, session_id: str) -> AddedTurn:
        """Former name of `turns.add`."""
        _renamed("add_memory", "turns.add")
        return self.turns.add(prompt, response, thought=thought, session_id=session_id)

    def __getattr__(self, name: str) -> Any:
        """Return a method by its former name."""
        if name not in FORMER:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        _renamed(name, FORMER[name])
        return attrgetter(FORMER[name])(self)


FORMER = {
    "commit_memory": "vault.set",
    "search_memories": "vault.search",
    "get_session_memories": "turns.list",
    **{name: f"graph.{name}" for name in vars(MemoryGraph) if not name.startswith("_")},
}


def _renamed(former: str, now: str) -> None:
    warnings.warn(
        f"Memory.{former} is now Memory.{now}; the former name goes with 0.3.", DeprecationWarning, stacklevel=3
    )
