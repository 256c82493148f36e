"""The changes that are reported of memories with a key, whichever process made them, on either store."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria
from memoryd.core.memories.vault import Vault
from memoryd.core.records import change_feed
from memoryd.core.records.change_feed import Changed
from memoryd.core.scope import Scope
from memoryd.errors import StoreError
from memoryd.model import Shelf, Workspace
from tests.clients import database, until
from tests.core.kit import engine, memories

Open = Callable[..., Engine]


@pytest.fixture(params=["sqlite", "postgres"])
def open_one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens another engine on the same store, as another process does."""
    url = database(request.getfixturevalue("postgres"), tmp_path) if request.param == "postgres" else ""
    with ExitStack() as ends:

        def begin(**variables: str) -> Engine:
            place = {"MEMORY_DATABASE_URL": url} if url else {}
            return ends.enter_context(engine(tmp_path, **place, **variables))

        yield begin


def vault(of: Engine, session: str = "s", name: str = "default") -> Vault:
    return Vault(Scope(of, of.workspaces.ensure(name), session))


class Watch:
    """A watcher of the workspace with this name."""

    def __init__(self, of: Engine, name: str = "default") -> None:
        self._engine = of
        self.name = name
        self.received: list[Changed] = []
        self.threads: set[str] = set()
        self.looked = threading.Event()
        """Set each time that it was asked where to look."""
        now = self._where()
        self.end = of.changes.watch(self._where, self._heard, now.id if now else None)

    def _where(self) -> Workspace | None:
        self.looked.set()
        return self._engine.workspaces.get(self.name) if self._engine.store.placement.exists() else None

    def _heard(self, changed: Changed) -> None:
        self.received.append(changed)
        self.threads.add(threading.current_thread().name)

    def settle(self) -> "Watch":
        """Wait until it has caught up."""
        for _ in range(2):
            self.looked.clear()
            assert self.looked.wait(10)
        return self

    def hears(self, *expected: Changed) -> None:
        """Check that it has received exactly these changes since the last check."""
        with suppress(AssertionError):  # the next line shows what came instead
            until(lambda: len(self.received) >= len(expected), "changes")
        assert self.received == [*expected]
        self.received.clear()


def created(*keys: tuple[str, str]) -> Changed:
    return Changed(listed=True, keys=keys)


def updated(*keys: tuple[str, str]) -> Changed:
    return Changed(listed=False, keys=keys)


GONE = Changed(listed=True, unknown=True)
"""What nothing is left of, or another workspace."""


@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True], ids=["its own", "another process"])
def test_each_change_is_reported(open_one: Open, apart: bool) -> None:
    here = open_one()
    keyed = vault(here if not apart else open_one())
    watch = Watch(here).settle()
    for shelf, scope in (("vault", ""), ("session", "s")):
        place: Shelf = shelf  # type: ignore[assignment]
        keyed.commit(place, "k", "A text.")
        watch.hears(created((scope, "k")))
        keyed.commit(place, "k", "Another text.")
        watch.hears(updated((scope, "k")))
        keyed.commit(place, "k", "Another text.", ["t"])
        watch.hears(updated((scope, "k")))
    keyed.prune("vault", "k")
    watch.hears(created(("", "k")))
    keyed.prune("session")
    watch.hears(GONE)


def test_changes_of_other_records_are_not_reported(open_one: Open) -> None:
    here = open_one()
    keyed, plain = vault(here), memories(here, "s")
    keyed.commit("vault", "old", "A text.")
    watch = Watch(here).settle()
    forgotten = Criteria(ids=(plain.store("A memory without a key.").id,))
    plain.forget(forgotten)
    keyed.search("text")
    keyed.prune("vault", "none such")
    keyed.commit("vault", "k", "A text.")
    watch.hears(created(("", "k")))


def test_simultaneous_changes_are_reported_together(open_one: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "MANY", 4)
    here = open_one()
    keyed = vault(here)
    with held_up(here):
        watch = Watch(here)
        for number in range(3):
            for _ in range(2):
                keyed.commit("vault", f"k{number}", "A text.")
    until(lambda: len(watch.received) == 2, "changes")
    assert watch.received == [created(("", "k0"), ("", "k1")), created(("", "k2"))]


@contextmanager
def held_up(of: Engine) -> Iterator[None]:
    """Delay the polling thread until the block ends, as on a busy machine."""
    real, go = of.changes._run, threading.Event()

    def wait() -> None:
        go.wait(20)
        real()

    of.changes._run = wait  # type: ignore[method-assign]
    try:
        yield
    finally:
        go.set()


def test_changes_before_the_first_poll_are_not_missed(open_one: Open) -> None:
    here = open_one()
    keyed = vault(here)
    keyed.commit("vault", "old", "It was there before.")
    with held_up(here):
        watch = Watch(here)
        keyed.commit("vault", "k", "A text.")
    watch.hears(created(("", "k")))


def test_another_workspace_before_the_first_poll_is_reported(open_one: Open) -> None:
    here = open_one()
    for name in ("one", "two"):
        vault(here, name=name).commit("vault", "old", "It was there before.")
    with held_up(here):
        watch = Watch(here, "one")
        watch.name = "two"
    watch.hears(GONE)


@pytest.mark.slow
def test_a_new_vault_is_reported_with_its_contents(open_one: Open) -> None:
    here = open_one()
    watch = Watch(here).settle()
    keyed = vault(open_one())
    keyed.commit("vault", "k", "A text.")
    until(lambda: created(("", "k")) in watch.received, "changes")
    assert set(watch.received) <= {GONE, created(("", "k"))}


@pytest.mark.slow
def test_another_workspace_is_another_list(open_one: Open) -> None:
    here = open_one()
    one, two = vault(here, name="one"), vault(here, name="two")
    for each in (one, two):
        each.commit("vault", "old", "It was there before.")
    watch = Watch(here, "one").settle()
    two.commit("vault", "k", "Elsewhere.")
    watch.name = "two"
    watch.hears(GONE)
    one.commit("vault", "k", "Elsewhere.")
    two.commit("vault", "j", "Here.")
    watch.hears(created(("", "j")))
    watch.name = "none"
    watch.hears(GONE)
    watch.name = "one"
    watch.settle()
    assert watch.received[0] == GONE


@pytest.mark.slow
def test_an_ended_watch_receives_nothing_more_and_others_do(open_one: Open) -> None:
    here = open_one()
    keyed = vault(here)
    one, two = Watch(here).settle(), Watch(here).settle()
    one.end()
    keyed.commit("vault", "k", "A text.")
    two.hears(created(("", "k")))
    assert one.received == []
    assert two.threads == {"memoryd-changes"}


@pytest.mark.slow
def test_changes_that_could_not_be_read_are_reported_later(open_one: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    here = open_one()
    keyed = vault(open_one())
    watch = Watch(here).settle()
    real, failed = here.store.read, threading.Event()

    def fail(*_: Any) -> Any:
        failed.set()
        raise StoreError("away")

    monkeypatch.setattr(here.store, "read", fail)
    keyed.commit("vault", "k", "A text.")
    assert failed.wait(10)
    monkeypatch.setattr(here.store, "read", real)
    watch.hears(created(("", "k")))


def test_without_watchers_nothing_is_polled(open_one: Open) -> None:
    here = open_one()
    vault(here).commit("vault", "k", "A text.")
    assert here.changes._thread is None
    here.changes.stop(1)
    Watch(here)
    assert here.changes._thread is None


def test_the_end_waits_for_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "PAUSE", 600)
    with engine(tmp_path) as here:
        Watch(here)
        here.changes.stop(60)
        assert here.changes._thread
        assert not here.changes._thread.is_alive()


@pytest.mark.slow
def test_watching_creates_no_database(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        Watch(here).settle()
    assert list(tmp_path.rglob("*.db")) == []
