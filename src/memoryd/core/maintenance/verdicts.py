"""The verdicts of a person on pairs of memories that look like a contradiction: one replaces the other, or both hold."""

from collections.abc import Sequence

from memoryd.core.engine import Engine
from memoryd.core.maintenance.actions import Act, carry_out
from memoryd.core.records import records
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind, Record, Workspace
from memoryd.store.base import Queries

REASON = "replaced on request"


def pair(engine: Engine, workspace: Workspace, one: str, other: str) -> tuple[Record, Record]:
    """Return two living, durable memories without a key. Raise NotFoundError; InvalidInputError if they are the same."""
    return engine.store.read(workspace, lambda q: _demanded(q, one, other))


def replace(engine: Engine, workspace: Workspace, gone: str, by: str, seen: Sequence[str] = ("", "")) -> None:
    """Let one memory supersede another; `history.restore` undoes it.

    Raise the errors of `pair`, and ChangedMeanwhileError if one was changed after it was `seen`: the times of the last
    change of the two, or ''.
    """

    def work(queries: Queries) -> None:
        old, new = _demanded(queries, gone, by)
        for memory, at in zip((old, new), seen, strict=True):
            records.demand_unchanged(memory.updated_at, at)
        carry_out(queries, Act(ending="superseded", gone=(old,), by=new, reason=REASON), engine.clock.now())

    engine.write(workspace, work)


def hold(engine: Engine, workspace: Workspace, one: str, other: str) -> None:
    """Note that both of two memories hold, as long as their texts stay the same. Raise the errors of `pair`."""
    _sign(engine, workspace, "refuse_contradiction", one, other)


def look_again(engine: Engine, workspace: Workspace, one: str, other: str) -> None:
    """Take back that both hold. Raise the errors of `pair`."""
    _sign(engine, workspace, "unrefuse_contradiction", one, other)


def held(queries: Queries) -> set[frozenset[str]]:
    """Return the ids of each pair of which both hold."""
    operations = {"operation": "refuse_contradiction", "taken_back": "unrefuse_contradiction"}
    return {frozenset((row["one_id"], row["other_id"])) for row in queries.all("acts.refused", **operations)}


def _sign(engine: Engine, workspace: Workspace, operation: str, one: str, other: str) -> None:
    def work(queries: Queries) -> None:
        first, second = sorted(memory.id for memory in _demanded(queries, one, other))
        records.sign(queries, operation, first, engine.clock.now(), second)

    engine.write(workspace, work)


def _demanded(queries: Queries, one: str, other: str) -> tuple[Record, Record]:
    if one == other:
        raise InvalidInputError("This needs two different memories.")
    found = records.fetch(queries, [one, other], "")
    memories = [found[key] for key in (one, other) if key in found and _is_plain(found[key])]
    if len(memories) < 2:
        raise NotFoundError("One of the two is no living memory without a key, or not any more. Nothing was changed.")
    return memories[0], memories[1]


def _is_plain(record: Record) -> bool:
    return record.kind is Kind.MEMORY and record.name is None
