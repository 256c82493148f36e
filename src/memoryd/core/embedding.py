"""Vectors follow rows: inline where the model is ready, else by the backfill, which a restart resumes.

Each vector knows its model. After a change of model the old set serves alone until the new one is complete. Both are
kept: another process may work with the other model. An operator lets go of the old one.
"""

import json
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial

from memoryd.core import perspectives
from memoryd.core.leases import TERM, Leases
from memoryd.core.records import Embedded, embed
from memoryd.core.secrets import Secrets
from memoryd.core.workspaces import Workspaces, going_on
from memoryd.errors import ModelError
from memoryd.model import GENERAL, Workspace
from memoryd.models.embedders import Embedder
from memoryd.models.helpers import Helpers
from memoryd.store.base import Queries, Row, Store, Vector

log = logging.getLogger(__name__)

INLINE = 4_000  # characters up to which the texts of a call are embedded before its transaction ...
INLINE_TEXTS = 16  # ... if there are no more than so many
BATCH = 64  # records a transaction of the backfill
DROPPED = 1_000  # records a transaction that lose a vector
FAILURES = 3  # texts in a row that a model refuses before a pass gives up
LACKING = 10_000  # records known to lack vectors; of more, all are looked through
AFTER_ALL = "\U0010ffff"  # behind every id
SLICES = ("", *"123456789abcdef")  # of all ids, which are random: where each begins, and the one before it ends
RECHECK = 5.0  # seconds between looks whether the present model's set is complete, which counts all vectors


Texts = Mapping[str, str]
"""What is to be embedded of one record, by perspective."""


class Embedding:
    """The sets of vectors, one a workspace and model, and what keeps them complete."""

    def __init__(
        self, store: Store, workspaces: Workspaces, helpers: Helpers, leases: Leases, secrets: Secrets
    ) -> None:
        self._secrets = secrets
        self._store = store
        self._leases = leases
        self._workspaces = workspaces
        self._helpers = helpers
        self._serving: dict[str, str] = {}
        self._checked: dict[str, float] = {}
        self._lock = threading.Lock()
        self._lacking: dict[str, set[str] | None] = {}
        """Records that lack vectors, by workspace; None: nobody knows which, so all of it is looked through."""

    def passages(self, texts: Sequence[str]) -> list[Embedded | None]:
        """The vectors of each text, where the model is ready and they are few; None: the backfill must see to it."""
        self._helpers.embedder.start()
        few = len(texts) <= INLINE_TEXTS and sum(map(len, texts)) <= INLINE
        embedder = self._helpers.embedder.get() if few else None
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
        return time.monotonic() > self._checked.get(workspace.id, -math.inf) + RECHECK

    def _most_complete(self, workspace: Workspace, present: str) -> str:
        numbers = self.sets(workspace)
        return max(numbers, key=lambda name: (numbers[name], name == present), default=present)

    def sets(self, workspace: Workspace) -> dict[str, int]:
        """How many records have vectors of each model."""
        rows = self._store.read(workspace, lambda q: q.all("embeddings.models", perspective=GENERAL))
        return {row["model"]: row["number"] for row in rows}

    # the backfill ----------------------------------------------------------------------------------------------------

    def lacks(self, workspace: Workspace, ids: Iterable[str] | None) -> None:
        """These records, or nobody knows which (None), lack vectors from some perspective: for follow()."""
        with self._lock:
            waiting = self._lacking.setdefault(workspace.id, set())
            if ids is None:
                self._lacking[workspace.id] = None
            elif waiting is not None:
                waiting.update(ids)
                if len(waiting) > LACKING:
                    self._lacking[workspace.id] = None

    def catch_up(self, stopping: Callable[[], bool], wait: float = 0) -> None:
        """Embed whatever lacks vectors of the present model, in every workspace: other processes write there too.

        What another process is at is left to it, or waited for so many seconds.
        """
        every = self._workspaces.all("active")
        with self._lock:
            self._lacking |= {workspace.id: None for workspace in every}
        self.follow(stopping, wait)

    def follow(self, stopping: Callable[[], bool], wait: float = 0) -> None:
        """Embed what is known to lack vectors of the present model; no other workspace is opened."""
        self._helpers.start()
        embedder = self._helpers.embedder.get(wait=3600)
        if embedder is None:
            return
        for workspace in self._workspaces.all("active") if self._lacking else ():
            if workspace.id in self._lacking and not stopping():
                with going_on(workspace):  # one that cannot be used now waits for the next catch_up()
                    self._fill(workspace, embedder, stopping, wait)

    def _fill(self, workspace: Workspace, embedder: Embedder, stopping: Callable[[], bool], wait: float) -> None:
        """Embed what one workspace lacks; what the model refused is looked for again."""
        with self._lock:
            ids = self._lacking.pop(workspace.id, None)
        shared = self._shared(workspace, embedder.name, wait) if ids is None else _batches(sorted(ids))
        with closing(shared) as batches:  # a pass that gives up leaves no lease behind
            done = self._embed_all(workspace, embedder, batches, stopping)
        if not done:
            with self._lock:
                self._lacking[workspace.id] = None

    def complete(self, report: Callable[[float], None]) -> None:
        """Embed whatever lacks vectors before this returns; `report` gets how far that is, 0 to 1."""
        total, done = 0, 0
        for workspace in self._workspaces.all("active"):
            with going_on(workspace):
                total += self.unembedded(workspace)

        def asked_whether_to_stop() -> bool:
            """Before each record; a good place to tell how far it has come."""
            nonlocal done
            report(min(done / max(total, 1), 1.0))
            done += 1
            return False

        self.catch_up(asked_whether_to_stop, wait=TERM)

    def unembedded(self, workspace: Workspace) -> int:
        """How many records lack vectors of the present model; 0 without one."""
        embedder = self._helpers.embedder.get()
        if embedder is None:
            return 0

        def work(queries: Queries) -> Row | None:
            wanted = perspectives.to_be_counted(queries)
            return queries.one("doctor.unembedded", **wanted, model=embedder.name)

        row = self._store.read(workspace, work)
        return row["number"] if row else 0

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

    def _shared(self, workspace: Workspace, model: str, wait: float) -> Generator[Sequence[str]]:
        """What lacks vectors, a slice of the ids at a time, in batches; what another process is at is left to it.

        So processes share a backlog, on any store, and hold no locks on rows while they embed.
        """
        for number in random.sample(range(len(SLICES)), len(SLICES)):
            if next(self._slice(workspace, model, number), None):
                lease = f"embed {workspace.id} {number}"
                with self._leases.alone(lease, wait) as mine:
                    if not mine:
                        with self._lock:  # who has it may die over it
                            self._lacking[workspace.id] = None
                    batches = self._slice(workspace, model, number) if mine else ()
                    yield from (ids for ids in batches if self._leases.take(lease))

    def _slice(self, workspace: Workspace, model: str, number: int) -> Iterator[list[str]]:
        """What lacks vectors in a slice of the ids, in batches."""
        after, last = SLICES[number], (*SLICES, AFTER_ALL)[number + 1]
        while batch := self._missing(workspace, model, after, last):
            yield batch
            after = batch[-1]

    def _missing(self, workspace: Workspace, model: str, after: str, last: str = AFTER_ALL) -> list[str]:
        def work(queries: Queries) -> list[str]:
            wanted = perspectives.to_be_counted(queries)
            rows = queries.all("embeddings.missing", **wanted, model=model, after=after, last=last, limit=BATCH)
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

    # letting go of vectors --------------------------------------------------------------------------------------------

    def retire(self, workspace: Workspace) -> None:
        """Drop the vectors of other models, if the present one's are complete. For an operator to ask for.

        A process with another model that is at work on the same file would have to make its own anew.
        """
        embedder = self._helpers.embedder.get()
        if embedder and not self._missing(workspace, embedder.name, ""):
            self._drop(workspace, lambda made: made["model"] != embedder.name)

    def change_perspectives(
        self, workspace: Workspace, changed: Mapping[str, str], removed: Sequence[str] = (), *, reset: bool = False
    ) -> dict[str, str]:
        """Add perspectives, or give them another template, and remove some; `reset`: of the defaults. Returns all.

        Raises InvalidInputError, and nothing is changed then. One with another template is away until all vectors of
        the old one are gone, so that none passes for a new one. A process that dies over it leaves it away: say it
        again.
        """
        changed = self._secrets.clean(changed).value

        def withdraw(queries: Queries) -> tuple[dict[str, str], dict[str, str]]:
            wanted = perspectives.edited(queries, changed, removed, reset=reset)
            return wanted, perspectives.withdraw(queries, wanted)

        wanted, kept = self._store.write(workspace, withdraw)
        self._drop(workspace, lambda made: made["perspective"] not in kept)
        return self._store.write(workspace, partial(perspectives.add, wanted=wanted))

    def _drop(self, workspace: Workspace, stale: Callable[[Row], bool]) -> None:
        """Drop sets of vectors, a part at a time: others write between them."""
        for made in filter(stale, self._store.read(workspace, lambda q: q.all("embeddings.sets"))):
            while self._store.write(workspace, partial(_drop, made)):
                pass


def _batches(ids: Sequence[str]) -> Generator[Sequence[str]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


def _drop(made: Row, queries: Queries) -> int:
    return queries.run("embeddings.drop", **made, limit=DROPPED)


def _write(workspace: Workspace, made: Sequence[tuple[str, Texts, Mapping[str, Embedded]]], queries: Queries) -> None:
    """Write vectors of texts that are still what would be embedded now."""
    now = perspectives.texts(queries, workspace, [record_id for record_id, _, _ in made])
    for record_id, texts, vectors in made:
        for name, embedded in vectors.items():
            if now.get(record_id, {}).get(name) == texts[name]:
                embed(queries, record_id, name, embedded)
