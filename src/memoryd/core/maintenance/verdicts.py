"""The verdicts of a person on two memories that may contradict each other: one replaces the other, or both hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.core.engine import Engine
from memoryd.core.maintenance.actions import Act, carry_out
from memoryd.core.records import records
from memoryd.core.records.client_names import client_name
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind, Record, Workspace
from memoryd.store.base import Queries, Row

HOLD, REOPEN = "refuse_contradiction", "unrefuse_contradiction"
"""The operations of `acts` by which both hold, and by which that is taken back."""
UNSEEN = ("", "")


@dataclass(frozen=True, slots=True)
class Held:
    """Two living memories that both hold, and when and by whom that was noted."""

    one: Record
    other: Record
    at: str
    client: str
    tool: str


def pair(engine: Engine, workspace: Workspace, one: str, other: str) -> tuple[Record, Record]:
    """Return two living memories without a key. Raise NotFoundError, InvalidInputError if they are the same."""
    return engine.store.read(workspace, lambda q: _demanded(q, one, other))


def replace(engine: Engine, workspace: Workspace, by: str, gone: str, seen: tuple[str, str] = UNSEEN) -> None:
    """Let one memory supersede another; `history.restore` undoes it.

    Raise the errors of `pair`, and ChangedMeanwhileError if one was changed after it was `seen`: the times of the last
    change of both, or ''.
    """

    def work(queries: Queries) -> None:
        new, old = _demanded(queries, by, gone, seen)
        act = Act(ending="superseded", gone=(old,), by=new, reason="replaced by another memory on request")
        carry_out(queries, act, engine.clock.now())

    engine.write(workspace, work)


def hold(
    engine: Engine, workspace: Workspace, one: str, other: str, seen: tuple[str, str] = UNSEEN, *, again: bool = False
) -> None:
    """Note that both of two memories hold, until one of them gets another text; with `again`, take that back.

    Raise the errors of `replace`.
    """

    def work(queries: Queries) -> None:
        first, second = sorted(memory.id for memory in _demanded(queries, one, other, seen))
        records.sign(queries, REOPEN if again else HOLD, first, engine.clock.now(), second)

    engine.write(workspace, work)


def held(queries: Queries) -> set[frozenset[str]]:
    """Return the ids of each pair of which both hold."""
    return {frozenset((row["one_id"], row["other_id"])) for row in _held(queries)}


def judged(engine: Engine, workspace: Workspace) -> list[Held]:
    """Return the pairs of which both hold, the last judged first."""

    def work(queries: Queries) -> list[Held]:
        rows = _held(queries)
        found = records.fetch(queries, [row[which] for row in rows for which in ("one_id", "other_id")], "")
        return [
            Held(found[row["one_id"]], found[row["other_id"]], row["at"], client_name(row["client"]), row["tool"])
            for row in rows
        ]

    return engine.store.read(workspace, work)


def _held(queries: Queries) -> Sequence[Row]:
    return queries.all("acts.refused", operation=HOLD, taken_back=REOPEN)


def _demanded(queries: Queries, one: str, other: str, seen: tuple[str, str] = UNSEEN) -> tuple[Record, Record]:
    if one == other:
        raise InvalidInputError("This needs two different memories.")
    found = records.fetch(queries, [one, other], "")
    living = [found[key] for key in (one, other) if key in found]
    memories = [memory for memory in living if memory.kind is Kind.MEMORY and memory.name is None]
    if len(memories) < 2:
        raise NotFoundError("One of the two is no living memory without a key, or not any more. Nothing was changed.")
    for memory, at in zip(memories, seen, strict=True):
        records.demand_unchanged(memory.updated_at, at)
    return memories[0], memories[1]
