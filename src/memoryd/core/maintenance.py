"""Maintenance of memories (d): consolidation, decay and compaction, in the background or when an operator asks."""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace

from memoryd.core import compaction, judging
from memoryd.core.acts import Act, carry_out
from memoryd.core.engine import Engine
from memoryd.core.judging import Seen
from memoryd.core.records import written_by
from memoryd.core.worker import Worker
from memoryd.core.workspaces import going_on
from memoryd.errors import BusyError
from memoryd.model import Workspace
from memoryd.store.base import Row

TOOL = "maintenance"
"""What a record says that maintenance wrote."""
PAUSE = 24 * 3600.0  # seconds between two compactions of a workspace in the background
TERM = 300.0  # seconds that a batch may take: a language model is asked several times


def begin(engine: Engine) -> None:
    """Begin the background work of a server; returns at once. Nothing else waits for a language model."""
    maintenance = Maintenance(engine)
    engine.begin(Worker([maintenance.follow], seldom=[maintenance.catch_up]))


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
        """Every workspace where enough was stored, by whichever process; at first where anything was."""
        self._unsettled.clear()
        every = self._engine.workspaces.all("active") if self._least else ()
        looked = [self._look(workspace, self._least, stopping) for workspace in every]
        if all(looked):
            self._least = self._interval

    def follow(self, stopping: Callable[[], bool]) -> None:
        """The workspaces that this process has stored in since it last looked."""
        stored = self._engine.stored_in() - self._unsettled if self._interval else set()
        for workspace in self._engine.workspaces.all("active") if stored else ():
            if workspace.id in stored:
                self._look(workspace, self._interval, stopping)

    def _look(self, workspace: Workspace, least: int, stopping: Callable[[], bool]) -> bool:
        """Maintain a workspace if there is enough to do; False where another process is at it, or is thought to be."""
        with going_on(workspace):
            if not stopping() and len(_fresh(self._engine, workspace, least)) >= least:
                try:
                    for _ in maintain(self._engine, workspace, stopping, compacting=self._may_compact(workspace)):
                        pass
                except BusyError:
                    return False
                if len(_fresh(self._engine, workspace, least)) >= least:
                    self._unsettled.add(workspace.id)
        return True

    def _may_compact(self, workspace: Workspace) -> bool:
        now = time.monotonic()
        if now < self._compacted.get(workspace.id, -PAUSE) + PAUSE:
            return False
        self._compacted[workspace.id] = now
        return True


def maintain(
    engine: Engine,
    workspace: Workspace,
    stopping: Callable[[], bool],
    *,
    compacting: bool = True,
    dry_run: bool = False,
) -> Iterator[Act]:
    """Look after the memories of a workspace; each act is told once it is done, or, with `dry_run`, would be.

    Raises BusyError where another process is at it.
    """
    name = f"maintain {workspace.id}"
    with nullcontext(enter_result=True) if dry_run else engine.leases.alone(name, term=TERM) as mine:
        if not mine:
            raise BusyError(f"Another process is maintaining the workspace {workspace.name!r}. Try again later.")

        def goes_on() -> bool:
            return not stopping() and (dry_run or engine.leases.take(name, TERM))

        gone: set[str] = set()
        for act in _acts(engine, workspace, goes_on, compacting=compacting, dry_run=dry_run):
            if not goes_on():
                return
            ids = {memory.id for memory in act.gone}
            if gone.isdisjoint(ids | {act.by.id}) and (dry_run or _do(engine, workspace, act)):
                gone |= ids
                yield act


def _acts(
    engine: Engine, workspace: Workspace, goes_on: Callable[[], bool], *, compacting: bool, dry_run: bool
) -> Iterator[Act]:
    """What there is to be done. What was looked at is settled once its acts are taken."""
    llm, failed = engine.helpers.writer(), False
    size, after, seen = engine.settings.consolidation_batch_size, ("", ""), Seen(list)
    while goes_on() and (fresh := _fresh(engine, workspace, size, after)):
        ids = [row["id"] for row in fresh]
        judgement = judging.judge(engine, workspace, ids, None if failed else llm, seen)
        yield from judgement.acts
        failed = failed or not judgement.settled  # then words alone decide, and all is looked at again
        if not (dry_run or failed):
            engine.write(workspace, judgement.settle)
            seen.clear()  # the database knows them from now on
        after = (fresh[-1]["created_at"], fresh[-1]["id"])
    if llm is not None and compacting and not failed and goes_on():
        yield from compaction.compact(engine, workspace, llm)


def _fresh(engine: Engine, workspace: Workspace, limit: int, after: tuple[str, str] = ("", "")) -> list[Row]:
    """Some memories that consolidation has not looked at."""
    asked = {"limit": limit, "time": after[0], "id": after[1]}
    return engine.store.read(workspace, lambda q: q.all("maintenance.fresh", **asked))


def _do(engine: Engine, workspace: Workspace, act: Act) -> bool:
    act = replace(act, reason=engine.secrets.masked(act.reason))
    with written_by("memoryd", TOOL):
        done = engine.write(workspace, lambda q: carry_out(q, act, engine.clock.now()))
    if done and act.ending == "compacted":
        engine.embed_later(workspace, [act.by.id])
    return done
