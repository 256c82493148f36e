"""What happened on each day, and the sessions of a workspace."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.journal.journal import Journal
from memoryd.core.memories.correction import Correction, correct
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.records.records import written_by
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


def test_a_session_without_turns_has_the_title_of_the_first_thing_that_was_stored(scope: Scope) -> None:
    session = Scope(scope.engine, scope.workspace, "s1")
    first = Memories(session).store("Staging listens on port 5433. It is fast.")
    Memories(session).store("Another fact.")
    (seen,) = seen_sessions(scope)
    assert seen.title == "Staging listens on port 5433"
    Memories(scope).forget(Criteria(ids=(first.id,)))
    assert seen_sessions(scope)[0].title == "Another fact"
    Journal(scope).add("Which port?", "", "5433.", "s1")
    assert seen_sessions(scope)[0].title == "Which port?"


def test_a_session_is_of_the_client_that_stored_not_of_who_corrected_it_later(scope: Scope) -> None:
    session = Scope(scope.engine, scope.workspace, "s1")
    with written_by("claude-code", "memory_store"):
        wrong = Memories(session).store("Staging listens on port 5433.")
        Memories(session).store("It is fast.")
    time.sleep(0.01)  # times have milliseconds
    with written_by("memoryd ui", "ui.correct"):
        correct(scope, Correction(id=wrong.id, content="Staging listens on port 5434."))
    assert seen_sessions(scope)[0].client == "claude-code"


def test_a_session_without_a_summary_has_the_title_of_its_first_turn(scope: Scope) -> None:
    journal = Journal(scope)
    for prompt in ("Grüße an Anna. Then the ports.", "Which port?"):
        journal.add(prompt, "thinking", "Done.", "s1")
    Memories(Scope(scope.engine, scope.workspace, "s2")).store("one")
    assert {one.id: one.title for one in seen_sessions(scope)} == {"s1": "Grüße an Anna", "s2": "one"}
    journal.summarize("s1")
    assert next(one.title for one in seen_sessions(scope) if one.turns) == "Grüße an Anna"
