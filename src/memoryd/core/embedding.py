"""Vectors follow rows: inline where the model is ready, else by the backfill, which a restart resumes.

Each vector knows its model. After a change of model the old set serves alone until the new one is complete. Both are
kept: another process may work with the other model. An operator lets go of the old one.
"""

import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from memoryd.core import perspectives
from memoryd.core.records import Embedded, embed, new_id
from memoryd.core.workspaces import Workspaces
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Workspace
from memoryd.models.embedders import Embedder
from memoryd.models.helpers import Helpers
from memoryd.store.base import Queries, Store, Vector

log = logging.getLogger(__name__)

INLINE = 4_000  # characters up to which the texts of a call are embedded before its transaction
BATCH = 64  # records a transaction of the backfill
FAILURES = 3  # texts in a row that a model refuses before a pass gives up
LACKING = 10_000  # records known to lack vectors; of more, all are looked through
RECHECK = 5.0  # seconds between looks whether the present model's set is complete, which counts all vectors


Texts = Mapping[str, str]
"""What is to be embedded of one record, by perspective."""


class Embedding:
    """The sets of vectors, one a workspace and model, and what keeps them complete."""

    def __init__(self, store: Store, workspaces: Workspaces, helpers: Helpers) -> None:
        self._store = store
        self._workspaces = workspaces
        self._helpers = helpers
        self._serving: dict[str, str] = {}
        self._checked: dict[str, float] = {}
        self._lock = threading.Lock()
        self._lacking: defaultdict[str, set[str]] = defaultdict(set)
        self._looked = False
        """Whether all records have been looked through, so that those of _lacking are all that is new."""

    def passages(self, texts: Sequence[str]) -> list[Embedded | None]:
        """The vectors of each text, where that costs no waiting; None: the backfill must see to it."""
        self._helpers.embedder.start()
        embedder = self._helpers.embedder.get() if sum(map(len, texts)) <= INLINE else None
        if embedder is None:
            return [None] * len(texts)
        try:
            return [Embedded(embedder.name, embedder.embed_passage(text, hurry=True)) for text in texts]
        except ModelError as error:
            log.warning("stored without a vector for now: %s", error)
            self._helpers.failed(embedder, error)
            return [None] * len(texts)

    def question(self, workspace: Workspace, text: str) -> tuple[Embedder, Vector] | None:
        """The embedder whose vectors serve this workspace, and the question's own vector."""
        serving = self.serving(workspace)
        return self._ask(serving, text) if serving else None

    def serving(self, workspace: Workspace) -> Embedder | None:
        """The embedder whose vectors serve this workspace."""
        self._helpers.start()  # both, for a search waits for both
        embedder = self._helpers.embedder.get(self._helpers.patience)
        if embedder is None:
            return None
        serving = self._serving_model(workspace, embedder)
        if self._is_gone(workspace, serving):
            self._checked.pop(workspace.id, None)
            serving = self._serving_model(workspace, embedder)
        return serving

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

    def lacks(self, workspace: Workspace, ids: Iterable[str]) -> None:
        """These records lack vectors from some perspective: the next pass need not look for them."""
        with self._lock:
            waiting = self._lacking[workspace.id]
            waiting.update(ids)
            if len(waiting) > LACKING:
                waiting.clear()
                self._looked = False

    def catch_up(self, stopping: Callable[[], bool]) -> None:
        """Embed what is known to lack vectors of the present model, or else whatever does, in every workspace."""
        self._helpers.start()
        embedder = self._helpers.embedder.get(wait=3600)
        if embedder is None:
            return
        with self._lock:
            lacking, self._lacking = self._lacking, defaultdict(set)
            everything, self._looked = not (lacking and self._looked), True
        for workspace in self._workspaces.all():
            ids = sorted(lacking[workspace.id])
            if workspace.status == "active" and (ids or everything) and not stopping():
                batches = self._around(workspace, embedder.name) if everything else _batches(ids)
                if not self._embed_all(workspace, embedder, batches, stopping):
                    self._looked = False

    def _embed_all(
        self, workspace: Workspace, embedder: Embedder, batches: Iterable[Sequence[str]], stopping: Callable[[], bool]
    ) -> bool:
        """Embed batches of records; whether all of them were."""
        in_a_row = 0
        for ids in batches:
            made: list[tuple[str, Texts, dict[str, Embedded]]] = []
            for record_id, texts in self._lacking_texts(workspace, embedder.name, ids).items():
                if stopping() or in_a_row == FAILURES:
                    break
                vectors = self._try(embedder, record_id, texts)
                in_a_row = 0 if vectors else in_a_row + 1
                if vectors:
                    made.append((record_id, texts, vectors))
            if made:
                self._store.write(workspace, partial(_write, workspace, made))
            if stopping() or in_a_row == FAILURES:
                return False
        self._checked.pop(workspace.id, None)
        return True

    def _around(self, workspace: Workspace, model: str) -> Iterator[list[str]]:
        """What lacks vectors, in batches, from a random id on and around: other processes may do the same work now."""
        start = new_id()
        for first, last in ((start, ""), ("", start)):
            after = first
            while batch := self._missing(workspace, model, after):
                ids = [record_id for record_id in batch if not last or record_id <= last]
                if ids:
                    yield ids
                if len(ids) < len(batch):
                    break
                after = ids[-1]

    def _missing(self, workspace: Workspace, model: str, after: str) -> list[str]:
        def work(queries: Queries) -> list[str]:
            wanted = perspectives.to_be_counted(queries)
            rows = queries.all("embeddings.missing", **wanted, model=model, after=after, limit=BATCH)
            return [row["id"] for row in rows]

        return self._store.read(workspace, work)

    def _lacking_texts(self, workspace: Workspace, model: str, ids: Sequence[str]) -> dict[str, Texts]:
        """The texts of some records that have no vector yet."""

        def work(queries: Queries) -> dict[str, Texts]:
            rows = queries.all("embeddings.present", ids=json.dumps(ids), model=model)
            present = {(row["id"], row["perspective"]) for row in rows}
            texts = perspectives.texts(queries, workspace, ids)
            lacking = {
                key: {name: text for name, text in of.items() if (key, name) not in present}
                for key, of in texts.items()
            }
            return {key: of for key, of in lacking.items() if of}

        return self._store.read(workspace, work)

    def _try(self, embedder: Embedder, record_id: str, texts: Texts) -> dict[str, Embedded] | None:
        """The vectors of one record by perspective; equal texts are embedded once."""
        try:
            vectors = {text: Embedded(embedder.name, embedder.embed_passage(text)) for text in set(texts.values())}
        except ModelError as error:
            log.warning("record %s is not embedded: %s", record_id, error)
            return None
        return {name: vectors[text] for name, text in texts.items()}

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


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


def _retire(model: str, queries: Queries) -> int:
    return queries.run("embeddings.retire", model=model, limit=BATCH)


def _write(workspace: Workspace, made: Sequence[tuple[str, Texts, Mapping[str, Embedded]]], queries: Queries) -> None:
    """Write vectors of texts that are still what would be embedded now."""
    now = perspectives.texts(queries, workspace, [record_id for record_id, _, _ in made])
    for record_id, texts, vectors in made:
        for name, embedded in vectors.items():
            if now.get(record_id, {}).get(name) == texts[name]:
                embed(queries, record_id, name, embedded)
