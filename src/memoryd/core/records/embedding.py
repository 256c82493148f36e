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
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from memoryd.core.base.leases import TERM, Leases
from memoryd.core.records import perspectives
from memoryd.core.records.backlog import Backlog, Lacking
from memoryd.core.records.records import Embedded, embed
from memoryd.core.security.secrets import Secrets
from memoryd.core.workspaces.registry import Workspaces, going_on
from memoryd.errors import MemorydError, ModelError
from memoryd.model import GENERAL, Filter, Workspace
from memoryd.models.embedders import Embedder
from memoryd.models.helpers import UNUSABLE, Helpers
from memoryd.store.base import AFTER_EVERY_ID, Queries, Row, Store, Vector

log = logging.getLogger(__name__)

INLINE = 4_000  # characters up to which the texts of a call are embedded before its transaction ...
INLINE_TEXTS = 16  # ... if there are no more than so many
BATCH = 64  # records a transaction of the backfill
DROPPED = 1_000  # records a transaction that lose a vector
FAILURES = 3  # texts in a row that a model refuses before a pass gives up
LACKING = 10_000  # records known to lack vectors; of more, all are looked through
SLICES = ("", *"123456789abcdef")  # of all ids, which are random: where each begins, and the one before it ends
RECHECK = 5.0  # seconds between looks whether the present model's set is complete, which counts all vectors
AWAITED = 2.0  # seconds that a search waits for the vectors of what was just stored ...
AWAITED_RECORDS = 64  # ... if there are no more records than so many: about .6 s; of more it says that they lack some
AWAITED_TEXT = 20_000  # characters of a record that is awaited: about .4 s; a longer one is left to the backfill
AGAIN = 20.0  # seconds after which what could not be embedded for a search is tried again for another one

BY_WORDS = "searched by words alone"
EVERYTHING = Filter()

Texts = Mapping[str, str]
"""What is to be embedded of one record, by perspective."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The embedder whose vectors serve a search, if any, and what keeps it from finding all by meaning."""

    embedder: Embedder | None
    why_not: str = ""
    """Why there is none, as the end of a sentence; '' where there shall be none."""
    lacking: int = 0
    """How many of the records that the search may see have no vector yet."""

    def told(self, instead: str) -> str:
        """One sentence about what was done `instead`, such as `searched by words alone`; '' where nothing is amiss."""
        if self.why_not:
            return f"{instead.capitalize()}: {self.why_not}."
        if self.lacking:
            return f"Not embedded yet, so {instead}: {self.lacking:,} {'record' if self.lacking == 1 else 'records'}."
        return ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question's own vector and the embedder that made it, if any; `degraded` says what a search cannot do."""

    embedder: Embedder | None
    vector: Vector = field(default_factory=lambda: np.empty(0, np.float32))
    degraded: str = ""


class Embedding:
    """The sets of vectors, one a workspace and model, and what keeps them complete."""

    def __init__(
        self, store: Store, workspaces: Workspaces, helpers: Helpers, leases: Leases, secrets: Secrets, *,
        read_only: bool = False,
    ) -> None:  # fmt: skip
        self._secrets = secrets
        self._store = store
        self._read_only = read_only
        self._backlog = Backlog(store)
        self._hurrying: dict[str, threading.Thread] = {}
        self._failed: dict[str, float] = {}
        """When records could not be embedded for a search."""
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

    def question(self, workspace: Workspace, text: str, allowed: Filter = EVERYTHING) -> Question:
        """The question's own vector, once what a filter lets through is ready to be compared with it."""
        embedder = self.serving(workspace)
        if embedder is None:
            return Question(None, degraded=self._absent().told(BY_WORDS))
        try:
            vector = embedder.embed_query(text)
        except ModelError as error:
            log.warning("searched by words alone: %s", error)
            self._helpers.failed(embedder, error)
            return Question(None, degraded=Readiness(None, UNUSABLE["embedder"]).told(BY_WORDS))
        lacking = self._awaited(workspace, embedder, allowed)
        return Question(embedder, vector, Readiness(embedder, lacking=lacking).told(BY_WORDS))

    def ready(self, workspace: Workspace, allowed: Filter) -> Readiness:
        """The embedder whose vectors serve a search, once the few records that it may see and that lack one have it.

        Waits for the model while it loads, and then AWAITED seconds at most.
        """
        embedder = self.serving(workspace)
        if embedder is None:
            return self._absent()
        return Readiness(embedder, lacking=self._awaited(workspace, embedder, allowed))

    def _absent(self) -> Readiness:
        return Readiness(None, self._helpers.why_not("embedder"))

    def serving(self, workspace: Workspace) -> Embedder | None:
        """The embedder whose vectors serve this workspace."""
        self._helpers.start()  # both, for a search waits for both
        embedder = self._helpers.embedder.get(self._helpers.patience)
        if embedder is None:
            return None
        serving = self._serving_model(workspace, embedder)
        if self._is_gone(workspace, serving):
            self._backlog.forget(workspace)
            self._checked.pop(workspace.id, None)
            serving = self._serving_model(workspace, embedder)
        return serving

    def _is_gone(self, workspace: Workspace, serving: Embedder) -> bool:
        """Whether another process has dropped the set that was the fullest."""
        if self._serving[workspace.id] != serving.name:
            return False
        some = self._store.read(workspace, lambda q: q.one("embeddings.some", perspective=GENERAL, model=serving.name))
        return some is None

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

    # what a search waits for -----------------------------------------------------------------------------------------

    def _awaited(self, workspace: Workspace, embedder: Embedder, allowed: Filter) -> int:
        """Have the few records that lack vectors embedded; how many lack some all the same."""
        deadline = time.monotonic() + AWAITED
        lacking = self._backlog.lacking(workspace, embedder.name, allowed)
        while time.monotonic() < deadline and (wanted := self._hopeful(lacking)):
            hurrying = self._hurry(workspace, embedder, wanted)
            hurrying.join(max(0.0, deadline - time.monotonic()))
            if hurrying.is_alive():  # it goes on without this search
                break
            lacking = self._backlog.lacking(workspace, embedder.name, allowed)
        if lacking.number and embedder is self._helpers.embedder.get():
            self._remember(workspace, lacking.ids or None)
        return lacking.number

    def _hopeful(self, lacking: Lacking) -> list[str]:
        """Those that are worth waiting for: if they are few, may be written, and have not failed a moment ago."""
        if self._read_only or len(lacking.ids) > AWAITED_RECORDS:
            return []
        now = time.monotonic()
        return [key for key in lacking.ids if now >= self._failed.get(key, -math.inf) + AGAIN]

    def _hurry(self, workspace: Workspace, embedder: Embedder, ids: Sequence[str]) -> threading.Thread:
        """The thread that embeds for searches of a workspace: the one that is at it, or a new one for these records.

        No search does so itself: a model may hang, or another process may keep the database locked.
        """
        with self._lock:
            thread = self._hurrying.get(workspace.id)
            if thread is None or not thread.is_alive():
                work = partial(self._embed_soon, workspace, embedder, ids)
                thread = threading.Thread(target=work, name="memoryd-hurry", daemon=True)
                thread.start()
                self._hurrying[workspace.id] = thread
            return thread

    def _embed_soon(self, workspace: Workspace, embedder: Embedder, ids: Sequence[str]) -> None:
        """Embed some records, the shortest first, as far as the time goes."""
        deadline = time.monotonic() + AWAITED
        made: list[tuple[str, Texts, dict[str, Embedded]]] = []
        done: set[str] = set()
        in_a_row = 0
        try:
            lacking = self._lacking_texts(workspace, embedder.name, ids)
            for record_id, texts in sorted(lacking.items(), key=lambda one: _length(one[1])):
                if time.monotonic() > deadline or _length(texts) > AWAITED_TEXT or in_a_row == FAILURES:
                    break
                vectors = self._try(embedder, record_id, texts, hurry=True)
                in_a_row = 0 if vectors else in_a_row + 1
                if vectors:
                    made.append((record_id, texts, vectors))
            if made:
                self._store.write(workspace, partial(_write, workspace, made))
            done = {record_id for record_id, _, _ in made}
        except MemorydError as error:
            log.warning("not embedded for a search: %s", error)
        finally:
            now = time.monotonic()
            recent = {key: at for key, at in self._failed.items() if now < at + AGAIN}
            self._failed = recent | {key: now for key in ids if key not in done}

    # the backfill ----------------------------------------------------------------------------------------------------

    def lacks(self, workspace: Workspace, ids: Iterable[str] | None) -> None:
        """These records, or nobody knows which (None), lack vectors from some perspective: for follow()."""
        if ids is None:
            self._backlog.forget(workspace)
        self._remember(workspace, ids)

    def _remember(self, workspace: Workspace, ids: Iterable[str] | None) -> None:
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
        after, last = SLICES[number], (*SLICES, AFTER_EVERY_ID)[number + 1]
        while batch := self._missing(workspace, model, after, last):
            yield batch
            after = batch[-1]

    def _missing(self, workspace: Workspace, model: str, after: str, last: str = AFTER_EVERY_ID) -> list[str]:
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

    def _try(
        self, embedder: Embedder, record_id: str, texts: Texts, *, hurry: bool = False
    ) -> dict[str, Embedded] | None:
        """The vectors of one record by perspective; equal texts are embedded once."""
        try:
            vectors = {
                text: Embedded(embedder.name, embedder.embed_passage(text, hurry=hurry)) for text in set(texts.values())
            }
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


def _length(texts: Texts) -> int:
    """Characters that are embedded of a record."""
    return sum(map(len, texts.values()))


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
