"""Vectors follow rows: inline where the model is ready, else by the backfill, which a restart resumes.

Each vector knows its model. After a change of model the old set serves alone until the new one is complete.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from memoryd.core.records import Embedded, embed, text_of
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


class Embedding:
    """The sets of vectors, one a workspace and model, and what keeps them complete."""

    def __init__(self, store: Store, workspaces: Workspaces, helpers: Helpers) -> None:
        self._store = store
        self._workspaces = workspaces
        self._helpers = helpers
        self._serving: dict[str, str] = {}
        self._retired: set[str] = set()

    def passage(self, text: str) -> Embedded | None:
        """The vectors of a text, where that costs no waiting; None: the backfill will see to it."""
        self._helpers.embedder.start()
        embedder = self._helpers.embedder.get() if len(text) <= INLINE else None
        if embedder is None:
            return None
        try:
            return Embedded(embedder.name, embedder.embed_passage(text))
        except ModelError as error:
            log.warning("stored without a vector for now: %s", error)
            return None

    def question(self, workspace: Workspace, text: str) -> tuple[Embedder, Vector] | None:
        """The embedder whose vectors serve this workspace, and the question's own vector."""
        self._helpers.embedder.start()
        embedder = self._helpers.embedder.get(self._helpers.patience)
        if embedder is None:
            return None
        serving = self._serving_model(workspace, embedder)
        try:
            return serving, serving.embed_query(text)
        except ModelError as error:
            log.warning("searched by words alone: %s", error)
            return None

    def _serving_model(self, workspace: Workspace, present: Embedder) -> Embedder:
        name = self._serving.get(workspace.id)
        if name != present.name:  # until the present model's set is the fuller one, which another process may see to
            name = self._serving[workspace.id] = self._most_complete(workspace, present.name)
        return present if name == present.name else self._helpers.older(name) or present

    def _most_complete(self, workspace: Workspace, present: str) -> str:
        numbers = self._numbers(workspace)
        return max(numbers, key=lambda name: (numbers[name], name == present), default=present)

    def _numbers(self, workspace: Workspace) -> dict[str, int]:
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
        after, refused = "", 0
        while rows := self._missing(workspace, embedder.name, after):
            embedded, in_a_row = [], 0
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
            refused += len(rows) - len(embedded)
            after = rows[-1]["id"]
        if not refused:
            self._serving[workspace.id] = embedder.name
            self._retire(workspace, embedder.name)

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

    def _retire(self, workspace: Workspace, present: str) -> None:
        """Drop the vectors of other models, once a process: one with another model may be at work on the same file."""
        if workspace.id in self._retired:
            return
        self._retired.add(workspace.id)
        for model in self._numbers(workspace):
            while model != present and self._store.write(workspace, partial(_retire, model)):
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
