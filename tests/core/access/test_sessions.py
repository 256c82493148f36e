"""One active project per session, and volatile memories that end with the session."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import pytest

from memoryd.core.access import sessions
from memoryd.core.base import background
from memoryd.core.engine import Engine
from memoryd.core.memories.vault import Vault
from memoryd.core.records import records
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError, StoreBusyError
from memoryd.model import Shelf
from tests.clients import until
from tests.core.kit import engine, never
from tests.store.kit import value

Later = Callable[[float], None]


@pytest.fixture(params=["false", "true"], ids=["kept in the registry", "read-only: kept in memory"])
def here(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine(tmp_path) as first:
        for name in ("one", "two", "old"):
            first.workspaces.create(name)
        first.workspaces.archive("old")
    with engine(tmp_path, MEMORY_READ_ONLY=request.param) as here:
        yield here


def active(of: Engine, session: str) -> str | None:
    found = of.sessions.active(session)
    return found.name if found else None


def rows(home: Path) -> object:
    return value(home / "_meta.db", "SELECT count(*) FROM sessions")


def test_each_session_has_its_own(here: Engine) -> None:
    assert active(here, "a") is None
    assert here.sessions.switch("a", "one").name == "one"
    here.sessions.switch("b", "two")
    assert [active(here, "a"), active(here, "b")] == ["one", "two"]
    here.sessions.switch("a", "two")
    assert [active(here, "a"), active(here, "b")] == ["two", "two"]


def test_a_project_that_was_archived_or_deleted_stays_deselected_even_if_it_is_restored(
    here: Engine, tmp_path: Path
) -> None:
    here.sessions.switch("a", "one")
    here.sessions.switch("b", "two")
    with engine(tmp_path) as other:
        other.workspaces.archive("one")
        other.workspaces.delete("two")
        assert [active(here, "a"), active(here, "b")] == [None, None]
        other.workspaces.restore("one")
    assert active(here, "a") is None


def test_only_active_projects_can_be_chosen(here: Engine) -> None:
    here.sessions.switch("a", "one")
    with pytest.raises(NotFoundError, match='project "none" not found'):
        here.sessions.switch("a", "none")
    with pytest.raises(InvalidInputError, match='project "old" is archived — restore it first'):
        here.sessions.switch("a", "old")
    assert active(here, "a") == "one"


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
    with engine(tmp_path) as new:
        assert active(new, "a") == "p"


def test_a_session_that_no_other_process_can_name_ends_with_its_process(tmp_path: Path) -> None:
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
    with engine(tmp_path) as new:
        assert active(new, "a") is None


@pytest.mark.parametrize("read_only", ["false", "true"])
def test_a_read_creates_no_database(tmp_path: Path, read_only: str) -> None:
    with engine(tmp_path, MEMORY_READ_ONLY=read_only) as here:
        assert active(here, here.sessions.new()) is None
        with pytest.raises(NotFoundError):
            here.sessions.switch("a", "p")
    assert list(tmp_path.rglob("*.db")) == []


# what lasts as long as a session -------------------------------------------------------------------------------------


def commit(of: Engine, session: str, key: str, shelf: Shelf = "session", name: str = "default") -> None:
    Vault(Scope(of, of.workspaces.ensure(name), session)).commit(shelf, key, "A text.")


def left(home: Path) -> list[str]:
    """Return the keys of all stored memories, whoever may see them."""
    with engine(home) as looking:
        found = looking.workspaces.all("active")
        every = [looking.store.read(one, lambda q: q.all("moved.records_first", limit=9_999)) for one in found]
    return sorted({row["name"] for rows in every for row in rows})


def holders(home: Path) -> object:
    return value(home / "_meta.db", "SELECT count(*) FROM session_holders")


def killed(of: Engine) -> None:
    """Simulate a kill -9: nothing is released."""
    of.store.close()


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let holds expire after half a minute, and renew them at each call."""
    monkeypatch.setattr(sessions, "TERM", timedelta(seconds=30))
    monkeypatch.setattr(sessions, "RENEWAL", timedelta(0))


def test_the_last_holder_ends_a_session_in_every_workspace(tmp_path: Path) -> None:
    with engine(tmp_path) as one:
        with engine(tmp_path) as two:
            two.sessions.hold("s")
            for name in ("default", "elsewhere"):
                commit(one, "s", f"s in {name}", name=name)
                commit(one, "other", f"other in {name}", name=name)
                commit(one, "s", f"kept in {name}", "vault", name)
        assert len(left(tmp_path)) == 6
    assert left(tmp_path) == ["kept in default", "kept in elsewhere"]
    assert holders(tmp_path) == 0


def test_many_memories_are_deleted_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ERASED", 3)
    with engine(tmp_path) as here:
        for number in range(8):
            commit(here, "s", f"k{number}")
    assert left(tmp_path) == []


def test_a_new_session_is_held_from_its_first_write(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        own = here.sessions.new()
        here.sessions.hold(own)
        assert list(tmp_path.rglob("*.db")) == []
        commit(here, own, "k", "vault")
        here.sessions.hold(own)
        assert holders(tmp_path) == 0
        commit(here, own, "k")
        assert holders(tmp_path) == 1
    assert left(tmp_path) == ["k"]
    assert holders(tmp_path) == 0


def test_the_memories_of_a_dead_process_are_deleted_after_its_term(tmp_path: Path, brief: None, later: Later) -> None:
    gone = engine(tmp_path)
    for session in ("s", "t"):
        commit(gone, session, f"of {session}")
    commit(gone, "s", "kept", "vault")
    killed(gone)
    with engine(tmp_path) as here:
        here.sessions.tend(never)
        here.sessions.join("t")
        assert left(tmp_path) == ["kept", "of s", "of t"]
        later(36)
        here.sessions.tend(lambda: True)
        assert left(tmp_path) == ["kept", "of s", "of t"], "it was to stop"
        here.sessions.tend(never)
        assert left(tmp_path) == ["kept", "of t"], "a session that another process holds goes on"
    assert left(tmp_path) == ["kept"]
    assert holders(tmp_path) == 0


@pytest.mark.slow
def test_a_running_process_renews_its_sessions_also_after_a_sleep(tmp_path: Path, brief: None, later: Later) -> None:
    with engine(tmp_path) as here, engine(tmp_path) as other:
        here.sessions.join("s")
        commit(here, "s", "k")
        for _ in range(3):
            later(18)
            here.sessions.tend(never)
            other.sessions.tend(never)
        assert left(tmp_path) == ["k"]
        later(36)
        here.sessions.tend(never)
        assert left(tmp_path) == ["k"], "it ends nothing of its own"


def test_a_process_renews_by_the_time_of_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine(tmp_path) as here:
        here.sessions.join("s")
        commit(here, "s", "k")
        later = here.clock.ago(timedelta(days=-3))
        monkeypatch.setattr(here.clock, "now", lambda: later)  # the machine slept
        here.sessions.tend(never)
        assert left(tmp_path) == ["k"]


def test_a_service_renews_for_its_clients_before_it_ends_what_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine(tmp_path) as here:
        client = here.client(here.settings, "client", tmp_path)
        session = client.sessions.new()
        commit(client, session, "k")
        later = here.clock.ago(timedelta(days=-3))
        monkeypatch.setattr(here.clock, "now", lambda: later)  # the machine slept
        monkeypatch.setattr(background, "START", 0)
        here.begin()
        until(
            lambda: str(value(tmp_path / "_meta.db", "SELECT max(expires_at) FROM session_holders")) > later, "renewal"
        )
        here.worker.stop(60)
        assert left(tmp_path) == ["k"]


def test_a_clock_that_was_far_ahead_keeps_no_session(tmp_path: Path) -> None:
    def held(of: Engine, session: str) -> None:
        later = of.clock.ago(timedelta(days=-5000))
        with patch.object(of.clock, "now", lambda: later):  # the machine's clock is wrong
            of.sessions.join(session)
            commit(of, session, session)

    def tended(of: Engine, days: float) -> None:
        later = of.clock.ago(timedelta(days=-days))
        with patch.object(of.clock, "now", lambda: later):
            of.sessions.tend(never)

    gone = engine(tmp_path)
    held(gone, "gone")
    killed(gone)
    with engine(tmp_path) as here, engine(tmp_path) as other:
        held(here, "here")
        tended(other, 0)
        assert left(tmp_path) == ["gone", "here"], "a living process has time to hold it by the right clock"
        tended(here, 0)
        tended(here, 0.7)
        tended(other, 1.1)
        assert left(tmp_path) == ["here"]


def test_an_interrupted_end_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise StoreBusyError

    with monkeypatch.context() as patched, engine(tmp_path) as here:
        commit(here, "s", "k")
        patched.setattr(records, "erase", fail)
        here.sessions.close()
        assert left(tmp_path) == ["k"]
        assert holders(tmp_path) == 1
    with engine(tmp_path) as new:
        new.sessions.tend(never)
        assert left(tmp_path) == []
        assert holders(tmp_path) == 0


def test_what_a_new_holder_writes_while_a_session_ends_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new holder takes the session when the last one has released it, in the middle of its clean-up."""
    monkeypatch.setattr(sessions, "ERASED", 2)
    with engine(tmp_path) as newcomer:
        with engine(tmp_path) as last:
            for number in range(6):
                commit(last, "s", f"k{number}")
            for clock, ahead in ((last.clock, 9), (newcomer.clock, 1)):  # clocks differ
                clock._last = datetime.now(UTC) + timedelta(seconds=ahead)
            real, turns = last.store.write, []

            def write(workspace: Any, work: Any) -> Any:
                done = real(workspace, work)
                turns.append(workspace)
                if len(turns) == 2:  # the release, and the first part
                    commit(newcomer, "s", "new")
                    commit(newcomer, "s", "k5")
                return done

            monkeypatch.setattr(last.store, "write", write)
        assert len(turns) > 3
        assert left(tmp_path) == ["k5", "new"]
        newcomer.sessions.tend(never)
        assert left(tmp_path) == ["k5", "new"]
    assert left(tmp_path) == []


def test_a_holder_that_keeps_its_session_ends_nothing(tmp_path: Path, brief: None, later: Later) -> None:
    keeps = {"MEMORY_MCP_SESSION_PERSIST": "true"}
    with engine(tmp_path, **keeps) as one:
        commit(one, "s", "k")
    assert left(tmp_path) == ["k"]
    assert holders(tmp_path) == 0
    gone = engine(tmp_path, **keeps)
    commit(gone, "s", "j")
    killed(gone)
    later(36)
    with engine(tmp_path) as new:
        new.sessions.tend(never)
        assert left(tmp_path) == ["j", "k"]


def test_a_reader_holds_and_ends_nothing(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        commit(here, "s", "k")
        with engine(tmp_path, MEMORY_READ_ONLY="true") as reader:
            reader.sessions.hold("s")
            assert holders(tmp_path) == 1
        assert left(tmp_path) == ["k"]


@pytest.mark.parametrize(("transport", "kept"), [("http", []), ("stdio", ["k"])])
def test_a_session_without_a_connection_is_renewed_only_by_calls_and_over_stdio_by_its_process(
    tmp_path: Path, brief: None, later: Later, transport: str, kept: list[str]
) -> None:
    with engine(tmp_path, MEMORY_TRANSPORT=transport) as here, engine(tmp_path) as other:
        commit(here, "s", "k")
        later(36)
        here.sessions.tend(never)
        other.sessions.tend(never)
        assert left(tmp_path) == kept
    assert left(tmp_path) == []


def test_a_session_of_requests_over_http_outlasts_the_server(tmp_path: Path, brief: None, later: Later) -> None:
    with engine(tmp_path, MEMORY_TRANSPORT="http") as here:
        here.sessions.join("a connection's")
        commit(here, "a connection's", "j")
        commit(here, "s", "k")
    assert left(tmp_path) == ["k"]
    later(36)
    with engine(tmp_path) as new:
        new.sessions.tend(never)
    assert left(tmp_path) == []
    assert holders(tmp_path) == 0


def test_a_session_ends_with_the_last_of_its_connections(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        here.sessions.join("s")
        here.sessions.join("s")
        commit(here, "s", "k")
        here.sessions.end("s")
        assert left(tmp_path) == ["k"]
        here.sessions.end("s")
        assert left(tmp_path) == []
        assert holders(tmp_path) == 0


def test_a_connection_that_joins_while_the_last_one_ends_holds_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine(tmp_path) as here:
        here.sessions.join("s")
        commit(here, "s", "k")
        joining = Thread(target=here.sessions.join, args=("s",))
        real = here.sessions._left

        def meanwhile(session: Any) -> Any:
            joining.start()
            joining.join(0.2)
            return real(session)

        with monkeypatch.context() as patched:
            patched.setattr(here.sessions, "_left", meanwhile)
            here.sessions.end("s")
        joining.join()
        assert holders(tmp_path) == 1
