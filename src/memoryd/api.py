"""The interface for Python programs: `from memoryd import Memory`. Nothing else in the package is public."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from memoryd.core.base.progress import ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.graph.entities import DeletedNodes
from memoryd.core.graph.observations import AddedObservations
from memoryd.core.graph.relations import CreatedRelations
from memoryd.core.graph.view import MatchedNodes, OpenedNodes
from memoryd.core.journal.view import AddedTurn, ShownTurn
from memoryd.core.memories.view import ForgottenMemories, InspectedMemories, MemoryView, StoredMemory
from memoryd.core.search.hits import WholeRecord
from memoryd.core.transfer import export
from memoryd.core.transfer.export_formats import OWN, export_format
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Call

RECALLED = 2_000
"""The default token budget of `recall`: a program has more room than a model."""


class Memory:
    """The memory of one workspace, for a Python program. Usable from several threads; a context manager.

    Methods are named after the tools that they run, and return the tools' results as dicts and lists. A text is
    durable when the method that stores it returns. All raise InvalidInputError for invalid input, and MemorydError for
    other failures; the message has the cause and the next step.
    """

    def __init__(
        self, workspace: str | None = None, *, data_dir: str | Path | None = None, session: str = "", **settings: Any
    ) -> None:
        """Open a memory; its workspace is created when something is stored.

        `settings` are other settings by their names in docs/configuration.md, in lower case and without `MEMORY_`.
        The environment provides all others, as for the command. Nothing is read or written yet.
        """
        given = {"workspace": workspace, "data_dir": str(data_dir) if data_dir else None, **settings}
        if unknown := given.keys() - Settings.model_fields.keys():
            raise InvalidInputError(f"There is no setting {min(unknown)!r}. docs/configuration.md lists them.")
        self._engine = Engine(Settings.read(**given), fetch=False)
        self._session = session
        self._tools = chosen(["all"], read_only=self._engine.settings.read_only)
        self._process: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish accepted work, and close the files. A second call, or a call in a fork, does nothing."""
        if not self._forked:
            self._engine.close()

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
        return self._run(  # type: ignore[no-any-return]
            "memory_store", content=content, tags=tags, importance=importance, supersedes=supersedes
        )

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
        tags: Sequence[str] = (),
        kinds: Sequence[str] = (),
        after: str | None = None,
        before: str | None = None,
        as_of: str | None = None,
    ) -> list[WholeRecord]:
        """Return the records that bear on a question, best first, with all fields, within about `token_budget` tokens.

        `tags`: only records with all of them. `kinds`: memory, entity, observation, interaction, summary. `after`,
        `before`: only records stored then; `as_of`: what was believed at that time (ISO 8601).
        """
        found = self._run(
            "memory_recall",
            query=query,
            token_budget=token_budget,
            tags=tags,
            kinds=kinds,
            after=after,
            before=before,
            as_of=as_of,
            format="raw",
        )
        return found["memories"]  # type: ignore[no-any-return]

    def context(self, task: str | None = None, *, token_budget: int = 800) -> str:
        """Return a briefing for the start of a conversation: memories that bear on a task, are important, or recent."""
        answer = self._answer("memory_context", task=task, token_budget=token_budget)
        return answer.text if answer.text is not None else str(answer.result.get("text", ""))

    def inspect(self, view: MemoryView = "stats", *, ids: Sequence[str] = (), limit: int = 20) -> InspectedMemories:
        """Return records by id, or a view of the memory: stats, recent, important, tags, export."""
        return self._run("memory_inspect", view=view, ids=ids, limit=limit)  # type: ignore[no-any-return]

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
        """Forget the memories that match all criteria; they can be restored for a while.

        Criteria other than ids need `confirm`.
        """
        return self._run(  # type: ignore[no-any-return]
            "memory_forget", ids=ids, tags=tags, query=query, before=before, confirm=confirm, dry_run=dry_run
        )

    # memories with a key ---------------------------------------------------------------------------------------------

    def commit_memory(self, key: str, content: str, *, tags: Sequence[str] | None = None) -> None:
        """Store a text under a key, replacing an existing one, whose tags stay unless `tags` are given."""
        self._run("commit_memory", scope="vault", key=key, content=content, tags=tags)

    def search_memories(self, query: str, *, tags: Sequence[str] = (), limit: int = 10) -> list[dict[str, Any]]:
        """Return the memories with a key that match words, best first."""
        found = self._run("search_memories", query=query, scope="vault", tags=tags, limit=limit)
        return list(found["results"])

    # the graph -------------------------------------------------------------------------------------------------------

    def create_entities(self, *entities: dict[str, Any]) -> list[dict[str, Any]]:
        """Create entities, dicts with name, entity_type and optional observations, summary, tags; return them."""
        return list(self._run("create_entities", entities=entities)["result"])

    def add_observations(self, entity_name: str, *contents: str) -> AddedObservations:
        """Add facts to an entity; return them with their ordinals."""
        wanted = [{"entity_name": entity_name, "contents": list(contents)}]
        return self._run("add_observations", observations=wanted)  # type: ignore[no-any-return]

    def create_relations(self, *relations: tuple[str, str, str]) -> CreatedRelations:
        """Create relations, each a source, a type and a target: `("Ann", "works_at", "Acme")`."""
        if wrong := [one for one in relations if not isinstance(one, tuple | list) or len(one) != 3]:
            raise InvalidInputError(f"{wrong[0]!r} is not a relation. Give a source, a type and a target.")
        wanted = [{"from_entity": one, "relation_type": kind, "to_entity": other} for one, kind, other in relations]
        return self._run("create_relations", relations=wanted)  # type: ignore[no-any-return]

    def open_nodes(self, *names: str) -> OpenedNodes:
        """Return entities by name, with their observations and relations, and the names that were not found."""
        return self._run("open_nodes", names=names)  # type: ignore[no-any-return]

    def search_nodes(self, query: str, *, limit: int = 10) -> MatchedNodes:
        """Return the entities that match a query by words or by meaning, best first."""
        return self._run("search_nodes", query=query, limit=limit)  # type: ignore[no-any-return]

    def delete_entities(self, *names: str) -> DeletedNodes:
        """Delete entities with their observations and relations; return which existed."""
        return self._run("delete_entities", entity_names=names)  # type: ignore[no-any-return]

    # the journal -----------------------------------------------------------------------------------------------------

    def add_memory(self, prompt: str, thought: str, response: str, *, session_id: str) -> AddedTurn:
        """Store one turn of a conversation verbatim; return its id and time."""
        return self._run(  # type: ignore[no-any-return]
            "add_memory", prompt=prompt, thought=thought, response=response, sessionId=session_id
        )

    def get_session_memories(self, session_id: str, *, limit: int = 100, offset: int = 0) -> list[ShownTurn]:
        """Return the turns of a session, oldest first."""
        found = self._run("get_session_memories", sessionId=session_id, limit=limit, offset=offset)
        return found["memories"]  # type: ignore[no-any-return]

    # files -----------------------------------------------------------------------------------------------------------

    def export(self, path: str | Path, *, format: Literal["jsonl", "markdown"] = "jsonl") -> None:  # noqa: A002 - the command's name
        """Write the workspace into a new file of JSON lines, or a folder of Markdown. Raise NotFoundError if empty."""
        other = None if format == OWN else export_format(format)
        self._demand_own()
        target = Path(path).expanduser().absolute()
        workspace = self._engine.workspace(make=False)
        if other:
            other.folder(self._engine, workspace, target, ignore_progress)
        else:
            export.export(self._engine, target, [workspace], ignore_progress)

    # tools -----------------------------------------------------------------------------------------------------------

    def _run(self, name: str, **arguments: Any) -> Any:
        return self._answer(name, **arguments).result

    def _answer(self, name: str, **arguments: Any) -> Any:
        """Run a tool; None is an argument that is not given, and a single text in place of a list is refused."""
        if name not in self._tools:
            raise InvalidInputError(f"{name} changes the memory, which read_only (MEMORY_READ_ONLY) forbids.")
        tool = self._tools[name]
        self._demand_own()
        if self._process is None:
            self._process = os.getpid()
            self._engine.begin()
            self._engine.helpers.embedder.start()
            self._engine.helpers.embedder.get(self._engine.helpers.patience)
        workspace = self._engine.workspace(make=tool.capability != "read")
        given = {
            field: list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
            for field, value in arguments.items()
        }
        return tool.run(Call(self._engine, workspace, self._session), given)

    @property
    def _forked(self) -> bool:
        """Whether this is a fork of the process that uses it, where threads, models and files have stayed."""
        return self._process not in (None, os.getpid())

    def _demand_own(self) -> None:
        """Raise InvalidInputError in such a fork."""
        if self._forked:
            raise InvalidInputError(
                f"This Memory is in use by process {self._process}, of which this one is a fork. Close it before the "
                "fork and create one in each process, or start this process with `spawn`."
            )
