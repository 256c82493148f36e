"""The scope of core's work: an engine, a workspace and a session."""

import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memoryd.core.access.tokens import EVERYTHING, Grant
from memoryd.core.engine import Engine
from memoryd.core.records import records, short_ids
from memoryd.core.records.question import Question
from memoryd.core.records.records import Embedded
from memoryd.core.security.secrets import Secrets
from memoryd.core.workspaces.registry import ACTIVE
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.store.base import Index, Queries

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """A workspace as one session sees and changes it."""

    engine: Engine
    workspace: Workspace
    session: str = ""
    """The session whose volatile records are visible, and which new records get; '' for none."""
    included: tuple[Workspace, ...] = ()
    """The workspaces that are read together with it, but never written."""
    away: tuple[str, ...] = ()
    """The names of the included workspaces that are archived."""
    grant: Grant = EVERYTHING
    """The rights of the caller: an answer does not name other workspaces."""

    @property
    def degraded(self) -> str:
        """The included workspaces that are not read, in one sentence; '' if all are."""
        return f"Archived workspaces are not read: {', '.join(self.away)}." if self.away else ""

    @property
    def each(self) -> list["Scope"]:
        """A scope for each workspace that is read, this one first."""
        return [self, *(Scope(self.engine, workspace, self.session) for workspace in self.included)]

    @property
    def secrets(self) -> Secrets:
        """The treatment of secrets in texts to be stored."""
        return self.engine.secrets

    @property
    def index(self) -> Index:
        """Searches inside a transaction."""
        return self.engine.store.index

    def read(self, work: Callable[[Queries], T]) -> T:
        """Run `work` on one snapshot, and return its result."""
        return self.engine.store.read(self.workspace, work)

    def write(self, work: Callable[[Queries], T]) -> T:
        """Run `work` as one transaction and return its result, durably; if it raises, nothing was written."""
        return self.engine.write(self.workspace, work)

    def ask(self, text: str | None, work: Callable[[Question], T]) -> T:
        """Run `work` on one snapshot with the vector of a question, and return its result; see `Embedding.ask`."""
        return self.engine.embedding.ask(self.workspace, text, work)

    def passages(self, texts: Sequence[str]) -> list[Embedded | None]:
        """Return the vectors of each text, or None if that would take long; then pass the id to `embed_later`."""
        return self.engine.embedding.passages(texts)

    def embed_later(self, ids: Collection[str] | None) -> None:
        """Have the background make the missing vectors of these records, or with None of the whole workspace."""
        self.engine.embed_later(self.workspace, ids)

    def shortened(self, ids: Collection[str]) -> dict[str, str]:
        """Return the short form of each id, which no other record has in any workspace that is read."""
        forms = [one.read(lambda q: short_ids.shorten(q, list(ids))) for one in self.each]
        return {key: max((form[key] for form in forms), key=len) for key in ids}

    def demand_own(self, field: str, ids: Sequence[str]) -> None:
        """Raise InvalidInputError, naming the workspace, for an id or its beginning that only an included one has."""
        missing = [given for given in ids if not _has(self, field, given)] if self.included else []
        for other in self.each[1:]:
            if elsewhere := next((given for given in missing if _has(other, field, given)), None):
                name, own = other.workspace.name, self.workspace.name
                raise InvalidInputError(
                    f"{field}: {elsewhere[:100]} is in the workspace {name!r}, which {own!r} only reads. "
                    f"Nothing was changed; change it there, e.g. with `memoryd --workspace {shlex.quote(name)}`."
                )


def _has(scope: Scope, field: str, given: str) -> bool:
    def work(queries: Queries) -> bool:
        whole = short_ids.resolve(queries, field, [given], scope.session, "ids.living")
        return bool(records.fetch(queries, whole, scope.session))

    return scope.read(work)


def together(engine: Engine, workspace: Workspace, session: str = "", grant: Grant = EVERYTHING) -> Scope:
    """Return the scope of a workspace together with the included ones that a grant allows to read."""
    seen = [one for one in engine.workspaces.included(workspace) if grant.sees(one.id)]
    active = tuple(one for one in seen if one.status == ACTIVE)
    return Scope(engine, workspace, session, active, tuple(one.name for one in seen if one not in active), grant)
