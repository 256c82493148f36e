"""Vectors follow rows: inline where the model is ready, else by the backfill, which a restart resumes.

Each vector knows its model. After a change of model the old set serves alone until the new one is complete. Both are
kept: another process may work with the other model. An operator lets go of the old one.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from memoryd.core.records import Embedded, embed, new_id, text_of
from memoryd.core.workspaces import Workspaces
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Workspace
from memoryd.models.embedders import Embedder
from memoryd.models.helpers import Helpers
from memoryd.store.base import Queries, Row, Store, Vector

log = logging.getLogger(__name__)

INLINE = 4_000  # characters up to which a text is embedded before its transaction
BATCH = 64  # records a transaction of the backfill
FAILURES = 3  # texts in a row that a model refuses before a pass gives up
RECHECK = 5.0  # seconds between looks whether the present model's set is complete, which counts all vectors


class Embedding:
    """The sets of vectors, one a workspace and model, and what keeps them complete."""

    def __init__(self, store: Store, workspaces: Workspaces, helpers: Helpers) -> None:
        self._store = store
        self._workspaces = workspaces
        self._helpers = helpers
        self._serving: dict[str, str] = {}
        self._checked: dict[str, float] = {}

    def passage(self, text: str) -> Embedded | None:
        """The vectors of a text, where that costs no waiting; None: the backfill will see to it."""
        self._helpers.embedder.start()
        embedder = self._helpers.embedder.get() if len(text) <= INLINE else None
        if embedder is None:
            return None
        try:
            return Embedded(embedder.name, embedder.embed_passage(text, hurry=True))
        except ModelError as error:
            log.warning("stored without a vector for now: %s", error)
            self._helpers.failed(embedder, error)
            return None

    def question(self, workspace: Workspace, text: str) -> tuple[Embedder, Vector] | None:
        """The embedder whose vectors serve this workspace, and the question's own vector."""
        self._helpers.start()  # both, for a search waits for both
        embedder = self._helpers.embedder.get(self._helpers.patience)
        if embedder is None:
            return None
        serving = self._serving_model(workspace, embedder)
        if self._is_gone(workspace, serving):
            self._checked.pop(workspace.id, None)
            serving = self._serving_model(workspace, embedder)
        return self._ask(serving, text)

    def _is_gone(self, workspace: Workspace, serving: Embedder) -> bool:
        """Whether another process has dropped the set that was the fullest."""
        if self._serving[workspace.id] != serving.name:
            return False
        some = self._store.read(workspace, lambda q: q.one("embeddings.some", perspective=GENERAL, model=serving.name))
        return some is None

    def _ask(self, embedder: Embedder, text: str) -> tuple[Embedder, Vector] | None:
        try:
            return embedder, embedder.embed_query(text)
        except ModelError as error:
            log.warning("searched by words alone: %s", error)
            self._helpers.failed(embedder, error)
            return None

    def _serving_model(self, workspace: Workspace, present: Embedder) -> Embedder:
        """The present one, unless another has more vectors here: that one until the present one's are as many."""
        name = self._serving.get(workspace.id)
        if workspace.id not in self._checked or (name != present.name and self._due(workspace)):
            name = self._most_complete(workspace, present.name)
            self._serving[workspace.id], self._checked[workspace.id] = name, time.monotonic()
        return present if name in (None, present.name) else self._helpers.older(name) or present

    def _due(self, workspace: Workspace) -> bool:
        return time.monotonic() > self._checked[workspace.id] + RECHECK

    def _most_complete(self, workspace: Workspace, present: str) -> str:
        numbers = self.sets(workspace)
        return max(numbers, key=lambda name: (numbers[name], name == present), default=present)

    def sets(self, workspace: Workspace) -> dict[str, int]:
        """How many records have vectors of each model."""
        rows = self._store.read(workspace, lambda q: q.all("embeddings.models", perspective=GENERAL))
        return {row["model"]: row["number"] for row in rows}

    # the backfill ----------------------------------------------------------------------------------------------------

    def catch_up(self, stopping: Callable[[], bool]) -> None:
        """Embed every record that has no vector of the present model, in every workspace."""
        self._helpers.start()
        embedder = self._helpers.embedder.get(wait=3600)
        if embedder is None:
            return
        for workspace in self._workspaces.all():
            if workspace.status == "active" and not stopping():
                self._complete(workspace, embedder, stopping)

    def _complete(self, workspace: Workspace, embedder: Embedder, stopping: Callable[[], bool]) -> None:
        in_a_row = 0
        for rows in self._around(workspace, embedder.name):
            embedded = []
            for row in rows:
                if stopping() or in_a_row == FAILURES:
                    break
                if vectors := self._try(embedder, row):
                    embedded.append((row, vectors))
                in_a_row = 0 if vectors else in_a_row + 1
            if embedded:
                self._store.write(workspace, partial(_write, embedded))
            if stopping() or in_a_row == FAILURES:
                return
        self._checked.pop(workspace.id, None)

    def _around(self, workspace: Workspace, model: str) -> Iterator[list[Row]]:
        """What has no vector, in batches, from a random id on and around: other processes may do the same work now."""
        start = new_id()
        for first, last in ((start, ""), ("", start)):
            after = first
            while batch := self._missing(workspace, model, after):
                rows = [row for row in batch if not last or row["id"] <= last]
                if rows:
                    yield rows
                if len(rows) < len(batch):
                    break
                after = rows[-1]["id"]

    def _try(self, embedder: Embedder, row: Row) -> Embedded | None:
        try:
            return Embedded(embedder.name, embedder.embed_passage(text_of(row["name"], row["body"])))
        except ModelError as error:
            log.warning("record %s is not embedded: %s", row["id"], error)
            return None

    def _missing(self, workspace: Workspace, model: str, after: str) -> list[Row]:
        return self._store.read(
            workspace,
            lambda q: q.all("embeddings.missing", perspective=GENERAL, model=model, after=after, limit=BATCH),
        )

    def retire(self, workspace: Workspace) -> None:
        """Drop the vectors of other models, if the present one's are complete. For an operator to ask for.

        A process with another model that is at work on the same file would have to make its own anew.
        """
        embedder = self._helpers.embedder.get()
        if embedder is None or self._missing(workspace, embedder.name, ""):
            return
        for model in self.sets(workspace):
            while model != embedder.name and self._store.write(workspace, partial(_retire, model)):
                pass


def _retire(model: str, queries: Queries) -> int:
    return queries.run("embeddings.retire", perspective=GENERAL, model=model, limit=BATCH)


def _write(batch: Sequence[tuple[Row, Embedded]], queries: Queries) -> None:
    for row, embedded in batch:
        still = queries.one(
            "embeddings.unchanged",
            id=row["id"], updated_at=row["updated_at"], perspective=GENERAL, model=embedded.model,
        )  # fmt: skip
        if still:
            embed(queries, row["id"], embedded)
