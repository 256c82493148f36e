"""One active project a session."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, NotFoundError
from tests.core.kit import engine
from tests.store.kit import value


@pytest.fixture(params=["false", "true"], ids=["kept in the registry", "read-only: kept in memory"])
def here(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine(tmp_path) as first:
        for name in ("one", "two", "old"):
            first.workspaces.create(name)
        first.workspaces.archive("old")
    with engine(tmp_path, MEMORY_READ_ONLY=request.param) as here:
        yield here


def active(of: Engine, session: str, principal: str = "") -> str | None:
    found = of.sessions.active(session, principal)
    return found.name if found else None


def rows(home: Path) -> object:
    return value(home / "_meta.db", "SELECT count(*) FROM sessions")


def test_each_session_has_its_own(here: Engine) -> None:
    assert active(here, "a") is None
    assert here.sessions.switch("a", "one").name == "one"
    here.sessions.switch("b", "two")
    here.sessions.switch("a", "one", "somebody else")
    here.sessions.switch("a", "two", "somebody else")
    assert [active(here, "a"), active(here, "b"), active(here, "a", "somebody else")] == ["one", "two", "two"]
    here.sessions.switch("a", "two")
    assert [active(here, "a"), active(here, "b")] == ["two", "two"]


def test_what_was_archived_is_chosen_no_more_also_when_it_is_back(here: Engine, tmp_path: Path) -> None:
    here.sessions.switch("a", "one")
    with engine(tmp_path) as other:
        other.workspaces.archive("one")
        other.workspaces.restore("one")
    assert active(here, "a") is None


def test_only_what_is_active_can_be_chosen(here: Engine) -> None:
    here.sessions.switch("a", "one")
    with pytest.raises(NotFoundError, match='project "none" not found'):
        here.sessions.switch("a", "none")
    with pytest.raises(InvalidInputError, match='project "old" is archived — restore it first'):
        here.sessions.switch("a", "old")
    assert active(here, "a") == "one"


def test_what_somebody_archived_or_deleted_is_active_no_more(here: Engine, tmp_path: Path) -> None:
    here.sessions.switch("a", "one")
    here.sessions.switch("b", "two")
    with engine(tmp_path) as other:
        other.workspaces.archive("one")
        other.workspaces.delete("two")
    assert [active(here, "a"), active(here, "b")] == [None, None]


def test_another_process_knows_a_session_too(tmp_path: Path) -> None:
    with engine(tmp_path) as one:
        one.workspaces.create("p")
        one.sessions.switch("a", "p")
        with engine(tmp_path) as two:
            assert active(two, "a") == "p"
            two.workspaces.archive("p")
            two.workspaces.restore("p")
        assert active(one, "a") is None, "b: archiving clears the session"
        one.sessions.switch("a", "p")
    with engine(tmp_path) as later:
        assert active(later, "a") == "p"


def test_a_session_that_nobody_else_can_name_ends_with_its_process(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        here.workspaces.create("p")
        own, other = here.sessions.new(), here.sessions.new()
        assert own != other
        here.sessions.switch(own, "p")
        here.sessions.switch("named", "p")
        assert active(here, own) == "p"
        assert rows(tmp_path) == 2
    assert rows(tmp_path) == 1


def test_read_only_writes_nothing(tmp_path: Path) -> None:
    with engine(tmp_path) as first:
        first.workspaces.create("p")
    with engine(tmp_path, MEMORY_READ_ONLY="true") as here:
        here.sessions.switch("a", "p")
        assert active(here, "a") == "p"
        assert rows(tmp_path) == 0
    with engine(tmp_path) as later:
        assert active(later, "a") is None


@pytest.mark.parametrize("read_only", ["false", "true"])
def test_asking_makes_no_database(tmp_path: Path, read_only: str) -> None:
    with engine(tmp_path, MEMORY_READ_ONLY=read_only) as here:
        assert active(here, here.sessions.new()) is None
        with pytest.raises(NotFoundError):
            here.sessions.switch("a", "p")
    assert list(tmp_path.rglob("*.db")) == []
