"""Maintenance of memories (d): consolidation, decay and compaction, in the background or when an operator asks."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace

from memoryd.core.agents.spool import Spool
from memoryd.core.base.background import Worker
from memoryd.core.engine import Engine
from memoryd.core.maintenance import compaction, consolidation
from memoryd.core.maintenance.actions import Act, carry_out
from memoryd.core.maintenance.consolidation import Seen
from memoryd.core.records.records import written_by
from memoryd.core.workspaces.registry import going_on
from memoryd.errors import BusyError, ModelError
from memoryd.model import Workspace
from memoryd.models.llm import CountingWriter, Writer, configured
from memoryd.models.providers import Spec
from memoryd.store.base import Row

log = logging.getLogger(__name__)

TOOL = "maintenance"
"""What a record says that maintenance wrote."""
PAUSE = 24 * 3600.0  # seconds between two compactions of a workspace in the background
EVERY = 1 << 40  # more memories than there are
BEGIN = ("", "")  # before every time and id
TERM = 300.0  # seconds that a batch may take: a language model is asked several times


Some = Callable[[int, tuple[str, str]], list[Row]]
"""Some memories that are still to be looked at: so many at most, from after a time and an id on."""


def begin(engine: Engine) -> None:
    """Begin the background work of a server; returns at once. Nothing else waits for a language model."""
    maintenance = Maintenance(engine)
    taking_in = Worker([], seldom=[Spool(engine).take_in])  # apart: turns must not wait for a language model
    engine.begin(Worker([maintenance.follow], seldom=[maintenance.catch_up]), taking_in)


class Maintenance:
    """When a server looks after the memories of its workspaces."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._interval = engine.settings.maintenance_interval
        self._least = min(1, self._interval)  # d: at start, whatever is left over
        self._compacted: dict[str, float] = {}
        self._unsettled: set[str] = set()
        """Workspaces where a language model failed: they wait for the next catch_up."""

    def catch_up(self, stopping: Callable[[], bool]) -> None:
        """Every workspace where enough was stored, by whichever process; at first where anything was.

        And, where there is a language model, those with memories that it has not judged: a batch of them each time.
        """
        self._unsettled.clear()
        every = self._engine.workspaces.all("active") if self._least else ()
        most = self._engine.settings.consolidation_batch_size
        looked = [self._look(workspace, self._least, stopping, unjudged=most) for workspace in every]
        if all(looked):
            self._least = self._interval

    def follow(self, stopping: Callable[[], bool]) -> None:
        """The workspaces that this process has stored in since it last looked."""
        stored = self._engine.stored_in() - self._unsettled if self._interval else set()
        for workspace in self._engine.workspaces.all("active") if stored else ():
            if workspace.id in stored:
                self._look(workspace, self._interval, stopping)

    def _look(self, workspace: Workspace, least: int, stopping: Callable[[], bool], unjudged: int = 0) -> bool:
        """Maintain a workspace if there is enough to do; False where another process is at it, or is thought to be."""
        with going_on(workspace):
            if not stopping() and self._is_due(workspace, least, unjudged):
                compacting = self._may_compact(workspace)
                try:
                    for _ in maintain(self._engine, workspace, stopping, compacting=compacting, unjudged=unjudged):
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

    def _may_compact(self, workspace: Workspace) -> bool:
        now = time.monotonic()
        if now < self._compacted.get(workspace.id, -PAUSE) + PAUSE:
            return False
        self._compacted[workspace.id] = now
        return True


def judges(engine: Engine) -> bool:
    """Whether a language model is to judge memories: there is one, and vectors show which of them lie close."""
    return configured(engine.settings) and not Spec.parse(engine.settings.embedder).off


def maintain(
    engine: Engine,
    workspace: Workspace,
    stopping: Callable[[], bool],
    *,
    compacting: bool = True,
    unjudged: int = EVERY,
    dry_run: CountingWriter | None = None,
) -> Iterator[Act]:
    """Look after the memories of a workspace; each act is told once it is done.

    Of those that no language model has judged so many at most are judged, where there is one. With `dry_run` nothing
    is done: each act is told that the words decide, and what a language model would be asked is counted.
    Raises BusyError where another process is at it.
    """
    name = f"maintain {workspace.id}"
    with nullcontext(enter_result=True) if dry_run else engine.leases.alone(name, term=TERM) as mine:
        if not mine:
            raise BusyError(f"Another process is maintaining the workspace {workspace.name!r}. Try again later.")

        def goes_on() -> bool:
            return not stopping() and (dry_run is not None or engine.leases.take(name, TERM))

        gone: set[str] = set()
        for act in _acts(_Look(engine, workspace, goes_on, dry_run), unjudged, compacting=compacting):
            if not goes_on():
                return
            ids = {memory.id for memory in act.gone}
            if gone.isdisjoint(ids | {act.by.id}) and (dry_run or _do(engine, workspace, act)):
                gone |= ids
                yield act


class _Look:
    """One look at the memories of a workspace."""

    def __init__(
        self, engine: Engine, workspace: Workspace, goes_on: Callable[[], bool], dry_run: CountingWriter | None
    ) -> None:
        self.engine, self.workspace, self.goes_on, self.dry_run = engine, workspace, goes_on, dry_run
        self.llm: Writer | None = None
        self.failed = False
        """Whether there is a language model and it failed: words alone decide, and all is looked at again."""
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

    def fresh(self, limit: int, after: tuple[str, str]) -> list[Row]:
        """Some memories that nobody has looked at."""
        return _fresh(self.engine, self.workspace, limit, after)

    def unjudged(self, limit: int, after: tuple[str, str]) -> list[Row]:
        """Some memories that words alone have settled, as long as a language model judges."""
        return _unjudged(self.engine, self.workspace, limit, after) if self.judges else []

    def consolidate(self, some: Some, most: int = EVERY) -> Iterator[Act]:
        """Compare memories, `most` at most, a batch at a time. They are settled once what is to be done is taken."""
        size, after, seen = self.engine.settings.consolidation_batch_size, BEGIN, Seen(list)
        while self.goes_on() and (rows := some(min(size, most), after)):
            ids = [row["id"] for row in rows]
            judgement = consolidation.judge(self.engine, self.workspace, ids, self.llm if self.judges else None, seen)
            yield from judgement.acts
            self.failed = self.failed or not judgement.settled
            if not (self.dry_run or self.failed):
                self.engine.write(self.workspace, judgement.settle)
                seen.clear()  # the database knows them from now on
            after, most = (rows[-1]["created_at"], rows[-1]["id"]), most - len(rows)


def _acts(look: _Look, unjudged: int, *, compacting: bool) -> Iterator[Act]:
    """What there is to be done."""
    yield from look.consolidate(look.fresh)
    yield from look.consolidate(look.unjudged, unjudged)
    if look.llm and look.judges and compacting and look.goes_on():
        yield from compaction.compact(look.engine, look.workspace, look.llm)


def _fresh(engine: Engine, workspace: Workspace, limit: int, after: tuple[str, str] = BEGIN) -> list[Row]:
    """Some memories that consolidation has not looked at."""
    asked = {"limit": limit, "time": after[0], "id": after[1]}
    return engine.store.read(workspace, lambda q: q.all("maintenance.fresh", **asked))


def _unjudged(engine: Engine, workspace: Workspace, limit: int, after: tuple[str, str] = BEGIN) -> list[Row]:
    """Some memories that were settled by their words alone, and can be judged now."""
    embedder = engine.embedding.serving(workspace)
    if embedder is None:
        return []
    asked = {"limit": limit, "time": after[0], "id": after[1], "model": embedder.name}
    return engine.store.read(workspace, lambda q: q.all("maintenance.unjudged", **asked))


def _do(engine: Engine, workspace: Workspace, act: Act) -> bool:
    act = replace(act, reason=engine.secrets.masked(act.reason))
    with written_by("memoryd", TOOL):
        done = engine.write(workspace, lambda q: carry_out(q, act, engine.clock.now()))
    if done and act.ending == "compacted":
        engine.embed_later(workspace, [act.by.id])
    return done
