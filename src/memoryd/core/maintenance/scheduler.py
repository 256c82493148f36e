"""Runs maintenance (d), which is consolidation and compaction, in the background or on demand."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace

from memoryd import features
from memoryd.core.admin.shared_folders import shared_folder
from memoryd.core.base.background import Worker
from memoryd.core.engine import Engine
from memoryd.core.maintenance import compaction, consolidation
from memoryd.core.maintenance.actions import Act, carry_out
from memoryd.core.maintenance.consolidation import MemoriesByKey
from memoryd.core.records.records import written_by
from memoryd.core.workspaces.registry import going_on
from memoryd.errors import BusyError, ModelError
from memoryd.model import Workspace
from memoryd.models.embedders import MULTILINGUAL
from memoryd.models.llm import Writer, configured
from memoryd.models.providers import Spec
from memoryd.store.base import Row

log = logging.getLogger(__name__)

TOOL = "maintenance"
"""The provenance of a record written by maintenance."""
PAUSE = 24 * 3600.0  # seconds after a background compaction of a workspace, even if its summaries were not usable
EVERY = 1 << 40  # no limit: more memories than exist
BEGIN = ("", "")  # sorts before every time and id
TERM = 300.0  # seconds that a batch may take, because it needs several answers of a language model


ReadPage = Callable[[Engine, Workspace, int, tuple[str, str]], list[Row]]
"""A function that returns a page of memories to consolidate: at most a given number, after a time and an id."""


def begin(engine: Engine) -> None:
    """Start the background work of a server unless it is read-only; return immediately.

    Warn if the database is in an unsafe place.
    """
    if engine.settings.read_only:
        return
    path = engine.store.placement.path(None)
    if path and (shared := shared_folder(path)):
        log.warning("%s: the database is in %s. See `memoryd doctor`.", shared.path, shared.problem)
    maintenance = Maintenance(engine)
    chores = [chore for chores in features.hooked("chores") for chore in chores(engine)]
    beside = [Worker([], seldom=chores)] if chores else []  # a separate thread: turns must not wait for maintenance
    engine.begin(Worker([maintenance.follow], seldom=[maintenance.catch_up]), *beside)


class Maintenance:
    """The background maintenance of a server."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._interval = engine.settings.maintenance_interval
        self._least = min(1, self._interval)  # d: on start, anything that was left unfinished
        self._compacted: dict[str, float] = {}
        self._unsettled: set[str] = set()
        """Workspaces for which the language model failed; they wait for the next catch_up."""

    def catch_up(self, stopping: Callable[[], bool]) -> None:
        """Maintain every workspace in which any processes stored enough; on the first call, one memory is enough.

        If there is a language model, it also judges a batch of the memories that it has not judged yet.
        """
        self._unsettled.clear()
        every = self._engine.workspaces.all("active") if self._least else ()
        most = self._engine.settings.consolidation_batch_size
        looked = [self._look(workspace, self._least, stopping, unjudged=most) for workspace in every]
        if all(looked):
            self._least = self._interval

    def follow(self, stopping: Callable[[], bool]) -> None:
        """Maintain the workspaces in which this process has stored enough since the last call."""
        stored = self._engine.stored_in() - self._unsettled if self._interval else set()
        for workspace in self._engine.workspaces.all("active") if stored else ():
            if workspace.id in stored:
                self._look(workspace, self._interval, stopping)

    def _look(self, workspace: Workspace, least: int, stopping: Callable[[], bool], unjudged: int = 0) -> bool:
        """Maintain a workspace if there is enough to do; return False if another process holds its lease."""
        with going_on(workspace):
            if not stopping() and self._is_due(workspace, least, unjudged):
                compacted = self._compacted.get(workspace.id, -PAUSE)
                acts = maintain(
                    self._engine,
                    workspace,
                    stopping,
                    compacting=time.monotonic() >= compacted + PAUSE,
                    asking=lambda: self._compacted.update({workspace.id: time.monotonic()}),
                    unjudged=unjudged,
                )
                try:
                    for _ in acts:
                        pass
                except BusyError:
                    return False
                if len(_fresh(self._engine, workspace, least)) >= least:
                    self._unsettled.add(workspace.id)
        return True

    def _is_due(self, workspace: Workspace, least: int, unjudged: int) -> bool:
        if len(_fresh(self._engine, workspace, least)) >= least:
            return True
        return bool(unjudged) and judges(self._engine) and bool(_unjudged(self._engine, workspace, 1))


def judges(engine: Engine) -> bool:
    """Return whether a language model judges memories, which also takes vectors, to find similar ones."""
    return configured(engine.settings) and not Spec.parse(engine.settings.embedder).off


def maintain(
    engine: Engine,
    workspace: Workspace,
    stopping: Callable[[], bool],
    *,
    compacting: bool = True,
    asking: Callable[[], object] = bool,
    unjudged: int = EVERY,
    dry_run: Writer | None = None,
) -> Iterator[Act]:
    """Maintain the memories of a workspace; yield each act once it is done.

    With `compacting`, `asking` is called each time before a language model is asked for a summary.
    `unjudged` limits the number of older memories that a language model judges for the first time. With `dry_run`
    nothing is changed, and it is asked instead of the language model: a CountingWriter counts the prompts. Raise
    BusyError if another process is maintaining the workspace.
    """
    name = f"maintain {workspace.id}"
    with nullcontext(enter_result=True) if dry_run else engine.leases.alone(name, term=TERM) as mine:
        if not mine:
            raise BusyError(f"Another process is maintaining the workspace {workspace.name!r}. Try again later.")

        def goes_on() -> bool:
            return not stopping() and (dry_run is not None or engine.leases.take(name, TERM))

        gone: set[str] = set()
        for act in _acts(_Look(engine, workspace, goes_on, dry_run), unjudged, asking if compacting else None):
            if not goes_on():
                return
            ids = {memory.id for memory in act.gone}
            if not gone.isdisjoint(ids | {act.by.id}):
                continue
            with written_by("memoryd", TOOL):
                done = dry_run or do(engine, workspace, act)
            if done:
                gone |= ids
                yield act


class _Look:
    """One pass over the memories of a workspace."""

    def __init__(
        self, engine: Engine, workspace: Workspace, goes_on: Callable[[], bool], dry_run: Writer | None
    ) -> None:
        self.engine, self.workspace, self.goes_on, self.dry_run = engine, workspace, goes_on, dry_run
        self.llm: Writer | None = None
        self.failed = False
        """Whether the language model failed: then words alone decide, and all memories are compared again later."""
        if judges(engine):
            try:
                self.llm = dry_run or engine.helpers.background_writer()
            except ModelError as error:
                log.info("not consolidated by a language model: %s", error)
                self.failed = True

    @property
    def judges(self) -> bool:
        """Whether a language model judges."""
        return self.llm is not None and not self.failed

    def consolidate(self, page: ReadPage, most: int = EVERY) -> Iterator[Act]:
        """Compare at most `most` memories in batches; mark each batch once its acts were taken; yield the acts."""
        size, after, seen = self.engine.settings.consolidation_batch_size, BEGIN, MemoriesByKey(list)
        while self.goes_on() and (rows := page(self.engine, self.workspace, min(size, most), after)):
            ids = [row["id"] for row in rows]
            judgement = consolidation.judge(self.engine, self.workspace, ids, self.llm if self.judges else None, seen)
            yield from judgement.acts
            self.failed = self.failed or not judgement.settled
            if not (self.dry_run or self.failed):
                self.engine.write(self.workspace, judgement.settle)
                seen.clear()  # now they are in the database
            after, most = (rows[-1]["created_at"], rows[-1]["id"]), most - len(rows)


def _acts(look: _Look, unjudged: int, asking: Callable[[], object] | None) -> Iterator[Act]:
    """Yield all acts of a pass."""
    yield from look.consolidate(_fresh)
    yield from look.consolidate(lambda *page: _unjudged(*page) if look.judges else [], unjudged)
    if look.llm and look.judges and asking and look.goes_on():
        yield from compaction.compact(look.engine, look.workspace, look.llm, asking)


def _fresh(engine: Engine, workspace: Workspace, limit: int, after: tuple[str, str] = BEGIN) -> list[Row]:
    """Return a page of memories that were not consolidated yet."""
    page = {"limit": limit, "time": after[0], "id": after[1]}
    return engine.store.read(workspace, lambda q: q.all("maintenance.fresh", **page))


def _unjudged(engine: Engine, workspace: Workspace, limit: int, after: tuple[str, str] = BEGIN) -> list[Row]:
    """Return a page of memories that were consolidated by words alone and can now be judged."""
    embedder = engine.embedding.serving(workspace)
    if embedder is None:
        return []
    page = {"limit": limit, "time": after[0], "id": after[1], "model": embedder.name, "other": MULTILINGUAL}
    return engine.store.read(workspace, lambda q: q.all("maintenance.unjudged", **page))


def do(engine: Engine, workspace: Workspace, act: Act) -> bool:
    """Carry out an act and return True; do nothing and return False if one of its memories has changed."""
    act = replace(act, reason=engine.secrets.masked(act.reason))
    done = engine.write(workspace, lambda q: carry_out(q, act, engine.clock.now()))
    if done and act.ending == "compacted":
        engine.embed_later(workspace, [act.by.id])
    return done
