"""Proposals: the acts that maintenance would carry out, for a person to accept or refuse one by one."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memoryd.core.engine import Engine
from memoryd.core.maintenance import scheduler
from memoryd.core.maintenance.actions import Act
from memoryd.core.records import records
from memoryd.errors import ModelError, NotFoundError
from memoryd.model import Workspace
from memoryd.models.llm import CountingWriter, ShapeT, Writer
from memoryd.store.base import Queries

SHOWN = 50  # maximum proposals returned at once
PATIENCE = 60.0  # seconds after which the language model is no longer asked, because a person is waiting


def proposals(engine: Engine, workspace: Workspace) -> list[Act]:
    """Return the first acts that maintenance would carry out without a language model; change nothing."""
    return list(islice(_would(engine, workspace), SHOWN))


def _would(engine: Engine, workspace: Workspace) -> Iterator[Act]:
    return scheduler.maintain(engine, workspace, lambda: False, dry_run=CountingWriter())


@dataclass(slots=True)
class _RecordingWriter:
    """A language model that keeps its last error, because maintenance then continues by words alone."""

    asked: Writer
    problem: str = ""

    @property
    def name(self) -> str:
        return self.asked.name

    def fill(self, system: str, prompt: str, tokens: int, shape: type[ShapeT]) -> ShapeT:
        try:
            return self.asked.fill(system, prompt, tokens, shape)
        except ModelError as error:
            self.problem = str(error)
            raise


def judged(engine: Engine, workspace: Workspace) -> list[Act]:
    """Return the first acts that maintenance would carry out with the language model; change nothing.

    They include acts that need no language model. Raise ModelError if there are none because it failed.
    """
    writer = engine.helpers.background_writer()
    if writer is None:
        raise ModelError("No language model is configured (MEMORY_LLM_BASE_URL or MEMORY_LLM_API_KEY).")
    recording, until = _RecordingWriter(writer), time.monotonic() + PATIENCE
    batch = engine.settings.consolidation_batch_size
    acts = scheduler.maintain(engine, workspace, lambda: time.monotonic() > until, unjudged=batch, dry_run=recording)
    found = list(islice(acts, SHOWN))
    if recording.problem and not found:
        raise ModelError(recording.problem)
    return found


def key_of(act: Act) -> str:
    """Return the key of a proposal: the ending, the replacement and the replaced memories."""
    return " ".join([act.ending, act.by.id, *sorted(memory.id for memory in act.gone)])


def accept(engine: Engine, workspace: Workspace, key: str, known: Act | None = None) -> Act:
    """Carry out a proposal and return it; `known` saves looking it up. Raise NotFoundError if it no longer applies."""
    act = known or _found(engine, workspace, key)
    if not scheduler.do(engine, workspace, act):
        raise _gone()
    return act


def refuse(engine: Engine, workspace: Workspace, key: str, known: Act | None = None) -> Act:
    """Refuse a proposal and return it: maintenance leaves its memories alone, like restored ones.

    Raise NotFoundError if it no longer applies.
    """
    act = known or _found(engine, workspace, key)
    _leave(engine, workspace, [memory.id for memory in act.gone], "maintenance.leave", "refuse")
    return act


def take_back(engine: Engine, workspace: Workspace, ids: Sequence[str]) -> None:
    """Undo a refusal, so that maintenance considers these memories again."""
    _leave(engine, workspace, ids, "maintenance.look_again", "unrefuse")


def _leave(engine: Engine, workspace: Workspace, ids: Sequence[str], statement: str, verb: str) -> None:
    def work(queries: Queries) -> None:
        queries.run(statement, ids=json.dumps(ids))
        records.act(queries, verb, ids, engine.clock.now())

    engine.write(workspace, work)


def _found(engine: Engine, workspace: Workspace, key: str) -> Act:
    for act in _would(engine, workspace):
        if key_of(act) == key:
            return act
    raise _gone()


def _gone() -> NotFoundError:
    return NotFoundError("This proposal no longer applies: one of its memories has changed. Nothing was done.")
