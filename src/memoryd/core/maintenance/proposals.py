"""What maintenance would do, for a person to accept or refuse one by one."""

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

SHOWN = 50  # proposals that are looked for at once
PATIENCE = 60.0  # seconds after which a language model is asked no further: somebody waits


def proposals(engine: Engine, workspace: Workspace) -> list[Act]:
    """Return the first acts that maintenance would take without asking a language model; nothing is changed."""
    return list(islice(_would(engine, workspace), SHOWN))


def _would(engine: Engine, workspace: Workspace) -> Iterator[Act]:
    return scheduler.maintain(engine, workspace, lambda: False, dry_run=CountingWriter())


@dataclass(slots=True)
class _Heard:
    """A language model that notes why it failed: maintenance goes on by words alone then."""

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
    """Ask the language model; return the first acts that maintenance would take then, and nothing is changed.

    Acts that need no language model are among them. Raise ModelError if it proposes nothing since it failed.
    """
    writer = engine.helpers.background_writer()
    if writer is None:
        raise ModelError("No language model is configured (MEMORY_LLM_BASE_URL or MEMORY_LLM_API_KEY).")
    heard, until = _Heard(writer), time.monotonic() + PATIENCE
    batch = engine.settings.consolidation_batch_size
    acts = scheduler.maintain(engine, workspace, lambda: time.monotonic() > until, unjudged=batch, dry_run=heard)
    found = list(islice(acts, SHOWN))
    if heard.problem and not found:
        raise ModelError(heard.problem)
    return found


def key_of(act: Act) -> str:
    """Return what identifies a proposal: what would become of which memories."""
    return " ".join([act.ending, act.by.id, *sorted(memory.id for memory in act.gone)])


def accept(engine: Engine, workspace: Workspace, key: str, known: Act | None = None) -> Act:
    """Carry out a proposal, which may be `known`. Raise NotFoundError if maintenance would not do that any more."""
    act = known or _found(engine, workspace, key)
    if not scheduler.do(engine, workspace, act):
        raise _gone()
    return act


def refuse(engine: Engine, workspace: Workspace, key: str, known: Act | None = None) -> Act:
    """Leave the memories of a proposal alone from now on, as those that were restored are. Raise like `accept`."""
    act = known or _found(engine, workspace, key)
    ids = [memory.id for memory in act.gone]

    def work(queries: Queries) -> None:
        queries.run("maintenance.leave", ids=json.dumps(ids))
        records.act(queries, "refuse", ids, engine.clock.now())

    engine.write(workspace, work)
    return act


def take_back(engine: Engine, workspace: Workspace, ids: Sequence[str]) -> None:
    """Undo a refusal: maintenance looks at these memories again."""

    def work(queries: Queries) -> None:
        queries.run("maintenance.look_again", ids=json.dumps(ids))
        records.act(queries, "unrefuse", ids, engine.clock.now())

    engine.write(workspace, work)


def _found(engine: Engine, workspace: Workspace, key: str) -> Act:
    for act in _would(engine, workspace):
        if key_of(act) == key:
            return act
    raise _gone()


def _gone() -> NotFoundError:
    return NotFoundError("Maintenance would not do this any more: one of the memories has changed. Nothing was done.")
