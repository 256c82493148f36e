"""What happened on each day, and the sessions of a workspace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from memoryd.features.page import chronicle
from tests.core.kit import engine


@pytest.fixture
def scope(home: Path) -> Iterator[Scope]:
    with engine(home) as made:
        yield Scope(made, made.workspaces.ensure("default"))


def test_days_and_sessions_add_up(scope: Scope) -> None:
    session = Scope(scope.engine, scope.workspace, "s1")
    stored = Memories(session).store("one")
    Memories(session).store("two")
    Memories(scope).forget(Criteria(ids=(stored.id,)))
    (day,) = chronicle.days(scope, 2)
    assert (day.stored, day.changed, day.forgotten) == (2, 0, 1)
    (seen,) = chronicle.sessions(scope)
    assert (seen.id, seen.turns, seen.stored) == ("s1", 0, 1)
