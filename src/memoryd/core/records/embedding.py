"""The vectors of records, made at once if the model is ready, otherwise by the backfill, which a restart resumes.

Each vector has the name of its model. After a change of model only the old set is searched until the new one is
complete. Both are kept, since another process may use the other model; an operator drops the old one.
"""

import logging
import math
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from memoryd.core.base.batches import batches
from memoryd.core.base.leases import TERM, Leases
from memoryd.core.records import perspectives
from memoryd.core.records.backlog import Backlog, Lacking
from memoryd.core.records.question import Question
from memoryd.core.records.records import Embedded
from memoryd.core.records.spaces import ACROSS, Need, OtherAbsentError, Spaces
from memoryd.core.records.unembedded import (
    BATCH,
    SLICES,
    Texts,
    embedded,
    lacking_texts,
    length,
    missing,
    slice_of,
    write,
)
from memoryd.core.security.secrets import Secrets
from memoryd.core.workspaces.registry import Workspaces, going_on
from memoryd.daemon import started
from memoryd.errors import MemorydError, ModelError
from memoryd.model import GENERAL, Filter, Workspace
from memoryd.models.embedders import MULTILINGUAL, Embedder
from memoryd.models.helpers import UNUSABLE, Helpers
from memoryd.store.base import Queries, Row, Store, number_of
from memoryd.text import gist, shortened

log = logging.getLogger(__name__)

INLINE = 4_000  # characters up to which the texts of a call are embedded before its transaction ...
INLINE_TEXTS = 16  # ... if there are at most so many
DROPPED = 1_000  # records whose vectors are dropped in a transaction
FAILURES = 3  # texts in a row that a model refuses before a pass gives up
LACKING = 10_000  # records whose ids are kept because they lack vectors; if there are more, all records are checked
RECHECK = 5.0  # seconds between checks whether the present model's set is complete, which count all vectors
AWAITED = 2.0  # seconds that a search waits for the vectors of new records ...
AWAITED_RECORDS = 64  # ... if there are at most so many (about .6 s); of more it reports that they lack vectors
AWAITED_TEXT = 20_000  # characters of a record that is awaited: about .4 s; a longer one is left to the backfill
AGAIN = 20.0  # seconds until a later search may try again to embed what could not be embedded for a search

T = TypeVar("T")


class _OutdatedError(Exception):
    """The snapshot is of no use: its vectors are by another embedder than expected, or some have to be made first."""

    def __init__(self, embedder: Embedder, lacking: Sequence[str] = (), need: Need | None = None) -> None:
        super().__init__()
        self.embedder = embedder
        self.lacking = lacking
        self.need = need


class Embedding:
    """The sets of vectors, one for each workspace and model, and the work that completes them."""

    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        helpers: Helpers,
        leases: Leases,
        secrets: Secrets,
        *,
        read_only: bool = False,
    ) -> None:
        self._secrets = secrets
        self._store = store
        self._read_only = read_only
        self._backlog = Backlog()
        self._hurrying: dict[str, threading.Thread] = {}
        self._failed: dict[str, float] = {}  # when a record could not be embedded for a search, by its id
        self._leases = leases
        self._workspaces = workspaces
        self._helpers = helpers
        self._spaces = Spaces(helpers)
        self._mixed: set[str] = set()  # the workspaces with texts or questions that are not English
        self._waiting: set[str] = set()  # the workspaces with texts whose embedder is still absent
        self._serving: dict[str, str] = {}
        self._checked: dict[str, float] = {}
        self._lock = threading.Lock()
        self._lacking: dict[str, set[str] | None] = {}
        """Records that lack vectors, by workspace; None if they are unknown, so that all records are checked."""

    def passages(self, texts: Sequence[str]) -> list[Embedded | None]:
        """Return the vectors of each text; None for all that are left to the backfill.

        That is, if the model is not ready or the texts are too many or too long.
        """
        self._helpers.embedder.start()
        few = len(texts) <= INLINE_TEXTS and sum(map(len, texts)) <= INLINE
        embedder = self._helpers.embedder.get() if few else None
        if embedder is None:
            return [None] * len(texts)
        spaces = self._spaces.of(embedder, texts)
        try:
            return [
                embedded(space, text, hurry=True) if space else None for space, text in zip(spaces, texts, strict=True)
            ]
        except ModelError as error:
            log.warning("stored without a vector for now: %s", error)
            self._helpers.failed(embedder, error)
            return [None] * len(texts)

    def ask(self, workspace: Workspace, text: str | None, work: Callable[[Question], T]) -> T:
        """Run `work` on one snapshot, and return its result; a `text` gets a vector before the snapshot opens.

        Wait for the model if it is loading. If `work` asks what is lacking, and that can soon be made, `work` is
        interrupted and run again on a later snapshot; these waits take at most AWAITED seconds in all.
        """
        # the vector before the snapshot: a model takes long, and a snapshot must not stay open meanwhile
        present = self._present()
        # made by the embedder whose vectors were last searched
        expected = self._named(self._serving.get(workspace.id), present) if present else None
        asked = self._asked(workspace, expected, text)
        until = time.monotonic() + AWAITED
        while True:
            try:
                return self._store.read(workspace, partial(self._run, work, asked, present, until))
            except _OutdatedError as outdated:
                if not outdated.lacking:  # expected wrongly: the snapshot shows which embedder's vectors are searched
                    asked = self._asked(workspace, outdated.embedder, text)
                elif not self._hurried(workspace, outdated, until):
                    until = -math.inf  # the next snapshot waits for nothing more, so the loop ends

    def _asked(
        self, workspace: Workspace, embedder: Embedder | None, text: str | None
    ) -> Callable[[Queries], Question]:
        """Return a function that makes the question, with its vector, from the queries of a snapshot."""
        searched, cut = shortened(text or "")
        question = partial(Question, text=searched, gist=gist(text or ""), cut=cut)
        if embedder is None:
            return partial(question, why_not=self._helpers.why_not("embedder"))
        try:
            mixed = workspace.id in self._mixed
            compared = self._spaces.asked(embedder, None if text is None else searched, mixed=mixed)
        except OtherAbsentError as absent:
            return partial(question, why_not=str(absent))
        except ModelError as error:
            log.warning("searched by words alone: %s", error)
            self._helpers.failed(embedder, error)
            return partial(question, why_not=UNUSABLE["embedder"])
        return partial(question, embedder=compared[0].embedder, compared=compared)

    def _run(
        self,
        work: Callable[[Question], T],
        asked: Callable[[Queries], Question],
        present: Embedder | None,
        until: float,
        queries: Queries,
    ) -> T:
        """Run `work` if the question's embedder is the one whose vectors are searched in this snapshot."""
        question = asked(queries)
        embedder = question.embedder
        if embedder is None or present is None:
            return work(question)
        serving = self._served(queries, present)
        if question.compared[0].model not in (serving.name, MULTILINGUAL if self._spaces.splits(serving) else ""):
            raise _OutdatedError(serving)
        if question.compared[0].model != serving.name:  # a question that is not English wants all in one embedder
            self._mixed.add(queries.workspace_id)
            need = self._spaces.across() or self._spaces.need(serving)
        else:
            need = self._spaces.need(serving)
            if self._turned_mixed(queries, serving) and question.text:
                raise _OutdatedError(serving)
        return work(replace(question, lacking=partial(self._lacking_for, queries, serving, need, until)))

    def _turned_mixed(self, queries: Queries, embedder: Embedder) -> bool:
        """Return whether a workspace has texts that are not English, and was not known to."""
        if queries.workspace_id in self._mixed or not self._spaces.splits(embedder):
            return False
        if queries.one("embeddings.some", perspective=GENERAL, model=MULTILINGUAL) is None:
            return False
        self._mixed.add(queries.workspace_id)
        return True

    def _present(self) -> Embedder | None:
        """Return the embedder of the settings once it is loaded, or None."""
        self._helpers.start()  # both, because a search waits for both
        return self._helpers.embedder.get(self._helpers.patience)

    def serving(self, workspace: Workspace) -> Embedder | None:
        """Return the embedder whose vectors are searched in this workspace, or None if there is no embedder."""
        present = self._present()
        return self._store.read(workspace, lambda q: self._served(q, present)) if present else None

    def _named(self, name: str | None, present: Embedder) -> Embedder:
        return present if name in (None, present.name) else self._helpers.older(name) or present

    def _served(self, queries: Queries, present: Embedder) -> Embedder:
        """Return the present embedder, or the one that has more vectors here until the present one has as many."""
        # counting the sets is slow: do it once, then every RECHECK seconds while another model's set is searched
        key = queries.workspace_id
        name = self._serving.get(key)
        if key not in self._checked or (name != present.name and self._due(key)):
            return self._named(self._most_complete(queries, present.name), present)
        serving = self._named(name, present)
        some = {"perspective": GENERAL, "model": serving.name}
        if name == serving.name and queries.one("embeddings.some", **some) is None:  # another process has dropped it
            self._backlog.forget(key)
            serving = self._named(self._most_complete(queries, present.name), present)
        return serving

    def _due(self, workspace_id: str) -> bool:
        return time.monotonic() > self._checked.get(workspace_id, -math.inf) + RECHECK

    def _most_complete(self, queries: Queries, present: str) -> str:
        numbers = self._spaces.counted(_sets(queries), present)
        name = max(numbers, key=lambda name: (numbers[name], name == present), default=present)
        self._serving[queries.workspace_id], self._checked[queries.workspace_id] = name, time.monotonic()
        return name

    def sets(self, workspace: Workspace) -> dict[str, int]:
        """Return the number of records that have vectors of each model."""
        return self._store.read(workspace, _sets)

    # what a search waits for -----------------------------------------------------------------------------------------

    def _lacking_for(self, queries: Queries, embedder: Embedder, need: Need, until: float, allowed: Filter) -> int:
        """Return how many records lack a vector; raise _OutdatedError if it is worth waiting for them."""
        # only what the filter lets through: this search needs no other vectors
        lacking = self._backlog.lacking(queries, need.sets, allowed)
        if time.monotonic() < until and (wanted := self._hopeful(lacking)):
            raise _OutdatedError(embedder, wanted, need)
        if lacking.number and embedder is self._helpers.embedder.get():  # the backfill completes no older model's set
            self._remember(queries.workspace_id, lacking.ids or None)
        return lacking.number

    def _hurried(self, workspace: Workspace, outdated: _OutdatedError, until: float) -> bool:
        """Have some records embedded by a thread; return whether it ended in time."""
        hurrying = self._hurry(workspace, outdated.need or self._spaces.need(outdated.embedder), outdated.lacking)
        hurrying.join(max(0.0, until - time.monotonic()))
        return not hurrying.is_alive()  # otherwise the thread goes on without this search

    def _hopeful(self, lacking: Lacking) -> list[str]:
        """Return the ids worth waiting for: none if they are too many, cannot be written, or have failed recently."""
        if self._read_only or len(lacking.ids) > AWAITED_RECORDS:
            return []
        now = time.monotonic()
        return [key for key in lacking.ids if now >= self._failed.get(key, -math.inf) + AGAIN]

    def _hurry(self, workspace: Workspace, need: Need, ids: Sequence[str]) -> threading.Thread:
        """Return the thread that embeds for searches of a workspace: the running one, or a new one for these records.

        No search embeds records itself: a model may hang, or another process may keep the database locked.
        """
        with self._lock:
            thread = self._hurrying.get(workspace.id)
            if thread is None or not thread.is_alive():
                thread = started(partial(self._embed_soon, workspace, need, ids), "memoryd-hurry")
                self._hurrying[workspace.id] = thread
            return thread

    def _embed_soon(self, workspace: Workspace, need: Need, ids: Sequence[str]) -> None:
        """Embed some records, the shortest first, until the time is up."""
        deadline = time.monotonic() + AWAITED
        made: list[tuple[str, Texts, dict[str, Embedded]]] = []
        left, in_a_row = set(ids), 0
        try:
            lacking = lacking_texts(self._store, workspace, need, ids)
            left &= lacking.keys()  # the backfill may have made the others meanwhile
            # shortest first: as many records as possible before the deadline
            for record_id, texts in sorted(lacking.items(), key=lambda item: length(item[1])):
                if time.monotonic() > deadline or length(texts) > AWAITED_TEXT or in_a_row == FAILURES:
                    break
                vectors = self._try(need, record_id, texts, hurry=True)
                in_a_row = 0 if vectors is not None else in_a_row + 1
                if vectors:
                    made.append((record_id, texts, vectors))
            # one write at the end: a commit a record would use up the time
            if made:
                self._store.write(workspace, partial(write, workspace, made))
            left -= {record_id for record_id, _, _ in made}
        except MemorydError as error:
            log.warning("not embedded for a search: %s", error)
        finally:  # after a failed write too, or each search would try again
            now = time.monotonic()
            recent = {key: at for key, at in self._failed.items() if now < at + AGAIN}
            self._failed = recent | dict.fromkeys(left, now)

    # the backfill ----------------------------------------------------------------------------------------------------

    def lacks(self, workspace: Workspace, ids: Iterable[str] | None) -> None:
        """Note for `follow` that these records lack vectors of some perspective; None if the records are unknown."""
        if ids is None:
            self._backlog.forget(workspace.id)
        self._remember(workspace.id, ids)

    def _remember(self, workspace_id: str, ids: Iterable[str] | None) -> None:
        with self._lock:
            waiting = self._lacking.setdefault(workspace_id, set())
            if ids is None:
                self._lacking[workspace_id] = None
            elif waiting is not None:
                waiting.update(ids)
                if len(waiting) > LACKING:
                    self._lacking[workspace_id] = None

    def catch_up(self, stopping: Callable[[], bool], wait: float = 0) -> None:
        """Embed whatever lacks vectors of the present model, in every workspace: other processes write there too.

        Wait up to `wait` seconds for what another process is working on, then leave it to that process.
        """
        every = self._workspaces.all("active")  # before the lock: it reads the database
        with self._lock:
            self._lacking |= {workspace.id: None for workspace in every}
        self.follow(stopping, wait)

    def follow(self, stopping: Callable[[], bool], wait: float = 0) -> None:
        """Embed the records known to lack vectors of the present model; open no other workspace."""
        self._helpers.start()
        embedder = self._helpers.embedder.get(wait=3600)
        if embedder is None:
            return
        if self._waiting and self._helpers.other(wait):
            with self._lock:
                self._lacking |= dict.fromkeys(self._waiting)
                self._waiting.clear()
        for workspace in self._workspaces.all("active") if self._lacking else ():
            if workspace.id in self._lacking and not stopping():
                with going_on(workspace):  # a workspace that cannot be used now waits for the next catch_up()
                    self._fill(workspace, embedder, stopping, wait)

    def _fill(self, workspace: Workspace, embedder: Embedder, stopping: Callable[[], bool], wait: float) -> None:
        """Embed what one workspace lacks; if the model refused too many texts, check all its records next time."""
        # taken out before the work: what is stored meanwhile is noted again
        with self._lock:
            ids = self._lacking.pop(workspace.id, None)
        done = True
        for need in self._needs(workspace, embedder):
            shared = self._shared(workspace, need, wait) if ids is None else batches(sorted(ids), BATCH)
            with closing(shared) as some:  # a pass that gives up leaves no lease behind
                done = done and self._embed_all(workspace, need, some, stopping)
        if not done:
            with self._lock:
                self._lacking[workspace.id] = None

    def _needs(self, workspace: Workspace, embedder: Embedder) -> Iterator[Need]:
        """Yield what the records of a workspace need, what every search needs first."""
        yield self._spaces.need(embedder)
        if self._spaces.splits(embedder):
            self._store.read(workspace, lambda queries: self._turned_mixed(queries, embedder))
            across = self._spaces.across() if workspace.id in self._mixed else None
            yield from (across,) if across else ()

    def complete(self, report: Callable[[float], None]) -> None:
        """Embed everything that lacks vectors; `report` gets the progress, 0 to 1."""
        total, done = 0, 0
        for workspace in self._workspaces.all("active"):
            with going_on(workspace):
                total += self.unembedded(workspace)

        def report_and_go_on() -> bool:
            """Report the progress before each record; never stop."""
            nonlocal done
            report(min(done / max(total, 1), 1.0))
            done += 1
            return False

        self.catch_up(report_and_go_on, wait=TERM)

    def unembedded(self, workspace: Workspace) -> int:
        """Return how many records lack vectors of the present model; 0 without one."""
        embedder = self._helpers.embedder.get()
        if embedder is None:
            return 0

        def count(queries: Queries) -> int:
            wanted = perspectives.to_be_counted(queries)
            return number_of(queries, "doctor.unembedded", **wanted, **self._spaces.need(embedder).sets)

        return self._store.read(workspace, count)

    def _embed_all(
        self, workspace: Workspace, need: Need, batches: Iterable[Sequence[str]], stopping: Callable[[], bool]
    ) -> bool:
        """Embed batches of records; return whether none was skipped."""
        in_a_row = 0
        for ids in batches:
            made: list[tuple[str, Texts, dict[str, Embedded]]] = []
            # read, embed and write apart: no transaction stays open while the model works
            for record_id, texts in lacking_texts(self._store, workspace, need, ids).items():
                if stopping() or in_a_row == FAILURES:
                    break
                vectors = self._try(need, record_id, texts)
                in_a_row = 0 if vectors is not None else in_a_row + 1
                if vectors == {}:
                    self._waiting.add(workspace.id)
                if vectors:
                    made.append((record_id, texts, vectors))
            if made:
                self._store.write(workspace, partial(write, workspace, made))
            if stopping() or in_a_row == FAILURES:
                return False
        self._checked.pop(workspace.id, None)  # complete: the next search counts the sets again
        return True

    def _shared(self, workspace: Workspace, need: Need, wait: float) -> Generator[Sequence[str]]:
        """Yield batches of ids that lack vectors, slice by slice; skip the slices that other processes work on.

        This is how processes share a backlog, on any store, without locks on rows while they embed.
        """
        # in random order, so that processes which start together take different slices
        for number in random.sample(range(len(SLICES)), len(SLICES)):
            # look before leasing: most slices lack nothing, and a lease is a write
            if next(slice_of(self._store, workspace, need, number), None):
                lease = f"embed {workspace.id} {number} {need.english}"
                with self._leases.alone(lease, wait) as mine:
                    if not mine:
                        with self._lock:  # the holder may die
                            self._lacking[workspace.id] = None
                    # read again under the lease: its last holder has embedded some; renew it before each batch
                    batches = slice_of(self._store, workspace, need, number) if mine else ()
                    yield from (ids for ids in batches if self._leases.take(lease))

    def _try(self, need: Need, record_id: str, texts: Texts, *, hurry: bool = False) -> dict[str, Embedded] | None:
        """Return the vectors of one record by perspective, or None if the model refused; embed equal texts once.

        They are none while the model for the language of the text is absent.
        """
        space = need.space(texts.get(GENERAL) or min(texts.values(), key=len))
        if space is None:
            self._helpers.multilingual.start()
            return {}
        try:
            vectors = {text: embedded(space, text, hurry=hurry) for text in set(texts.values())}
        except ModelError as error:
            log.warning("record %s is not embedded: %s", record_id, error)
            return None
        return {name: vectors[text] for name, text in texts.items()}

    # dropping vectors -------------------------------------------------------------------------------------------------

    def retire(self, workspace: Workspace) -> None:
        """Drop the vectors of other models if those of the present one are complete; only for operators.

        A process that uses another model on the same database would have to embed everything again.
        """
        embedder = self._helpers.embedder.get()
        if embedder and not missing(self._store, workspace, self._spaces.need(embedder), ""):
            kept = {embedder.name, *((MULTILINGUAL, ACROSS) if self._spaces.splits(embedder) else ())}
            self._drop(workspace, lambda made: made["model"] not in kept)

    def change_perspectives(
        self, workspace: Workspace, changed: Mapping[str, str], removed: Sequence[str] = (), *, reset: bool = False
    ) -> dict[str, str]:
        """Add, change and remove perspectives, starting from the defaults with `reset`; return all.

        Raise InvalidInputError, and change nothing, if a name or template is invalid. A changed perspective is
        missing until all its old vectors are dropped, so that none is taken for a new one. If the process dies before
        that, the perspective stays missing: repeat the call.
        """
        changed = self._secrets.clean(changed).value

        def withdraw(queries: Queries) -> tuple[dict[str, str], dict[str, str]]:
            wanted = perspectives.edited(queries, changed, removed, reset=reset)
            return wanted, perspectives.withdraw(queries, wanted)

        # withdrawn first, then dropped, then added: no old vector is ever searched under a new template
        wanted, kept = self._store.write(workspace, withdraw)
        self._drop(workspace, lambda made: made["perspective"] not in kept)
        return self._store.write(workspace, partial(perspectives.add, wanted=wanted))

    def _drop(self, workspace: Workspace, stale: Callable[[Row], bool]) -> None:
        """Drop sets of vectors in batches, so that other processes can write in between."""
        for made in filter(stale, self._store.read(workspace, lambda q: q.all("embeddings.sets"))):
            while self._store.write(workspace, partial(_drop, made)):
                pass


def _sets(queries: Queries) -> dict[str, int]:
    """Return the number of records that have vectors of each model."""
    return {row["model"]: row["number"] for row in queries.all("embeddings.models", perspective=GENERAL)}


def _drop(made: Row, queries: Queries) -> int:
    return queries.changed("embeddings.drop", **made, limit=DROPPED)
