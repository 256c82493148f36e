"""What happened on each day, and the sessions of a workspace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from memoryd.features.page.journal import days, seen_sessions
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
    (day,) = days(scope, 2)
    assert (day.stored, day.changed, day.forgotten) == (2, 0, 1)
    (seen,) = seen_sessions(scope)
    assert (seen.id, seen.turns, seen.stored) == ("s1", 0, 1)


def test_a_session_without_a_summary_has_the_title_of_its_first_turn(scope: Scope) -> None:
    journal = Journal(scope)
    for prompt in ("Grüße an Anna. Then the ports.", "Which port?"):
        journal.add(prompt, "thinking", "Done.", "s1")
    Memories(Scope(scope.engine, scope.workspace, "s2")).store("one")
    assert {one.id: one.title for one in seen_sessions(scope)} == {"s1": "Grüße an Anna", "s2": ""}
    journal.summarize("s1")
    assert next(one.title for one in seen_sessions(scope) if one.turns) == "Grüße an Anna"
