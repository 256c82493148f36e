"""What is told of changes among the memories with a key, whichever process did it, on either store."""

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
    """Opens one more process' engine on the same store."""
    url = database(request.getfixturevalue("postgres"), tmp_path) if request.param == "postgres" else ""
    with ExitStack() as ends:

        def begin(**variables: str) -> Engine:
            place = {"MEMORY_DATABASE_URL": url} if url else {}
            return ends.enter_context(engine(tmp_path, **place, **variables))

        yield begin


def vault(of: Engine, session: str = "s", name: str = "default") -> Vault:
    return Vault(Scope(of, of.workspaces.ensure(name), session))


class Watch:
    """One who watches the workspace of that name."""

    def __init__(self, of: Engine, name: str = "default") -> None:
        self._engine = of
        self.name = name
        self.told: list[Changed] = []
        self.threads: set[str] = set()
        self.looked = threading.Event()
        """Set each time that it was asked where to look."""
        now = self._where()
        self.end = of.changes.watch(self._where, self._heard, now.id if now else None)

    def _where(self) -> Workspace | None:
        self.looked.set()
        return self._engine.workspaces.get(self.name) if self._engine.store.placement.exists() else None

    def _heard(self, changed: Changed) -> None:
        self.told.append(changed)
        self.threads.add(threading.current_thread().name)

    def settle(self) -> "Watch":
        """Wait until it has come to where all is now."""
        for _ in range(2):
            self.looked.clear()
            assert self.looked.wait(10)
        return self

    def hears(self, *expected: Changed) -> None:
        """It is told this, and nothing else since it was asked last."""
        with suppress(AssertionError):  # the next line shows what came instead
            until(lambda: len(self.told) >= len(expected), "changes")
        assert self.told == [*expected]
        self.told.clear()


def created(*keys: tuple[str, str]) -> Changed:
    return Changed(listed=True, keys=keys)


def updated(*keys: tuple[str, str]) -> Changed:
    return Changed(listed=False, keys=keys)


GONE = Changed(listed=True, unknown=True)
"""What nothing is left of, or another workspace."""


@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True], ids=["its own", "another process"])
def test_each_change_is_told(open_one: Open, apart: bool) -> None:
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


def test_what_is_no_resource_is_not_told(open_one: Open) -> None:
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


def test_what_comes_together_is_told_together(open_one: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "MANY", 4)
    here = open_one()
    keyed = vault(here)
    with held_up(here):
        watch = Watch(here)
        for number in range(3):
            for _ in range(2):
                keyed.commit("vault", f"k{number}", "A text.")
    until(lambda: len(watch.told) == 2, "changes")
    assert watch.told == [created(("", "k0"), ("", "k1")), created(("", "k2"))]


@contextmanager
def held_up(of: Engine) -> Iterator[None]:
    """The thread that looks begins when this is over: a machine can be busy."""
    real, go = of.changes._run, threading.Event()

    def wait() -> None:
        go.wait(20)
        real()

    of.changes._run = wait  # type: ignore[method-assign]
    try:
        yield
    finally:
        go.set()


def test_nothing_is_missed_that_came_before_the_first_look(open_one: Open) -> None:
    here = open_one()
    keyed = vault(here)
    keyed.commit("vault", "old", "It was there before.")
    with held_up(here):
        watch = Watch(here)
        keyed.commit("vault", "k", "A text.")
    watch.hears(created(("", "k")))


def test_another_place_is_told_where_it_came_before_the_first_look(open_one: Open) -> None:
    here = open_one()
    for name in ("one", "two"):
        vault(here, name=name).commit("vault", "old", "It was there before.")
    with held_up(here):
        watch = Watch(here, "one")
        watch.name = "two"
    watch.hears(GONE)


def test_a_vault_that_comes_to_be_is_told_with_what_is_in_it(open_one: Open) -> None:
    here = open_one()
    watch = Watch(here).settle()
    keyed = vault(open_one())
    keyed.commit("vault", "k", "A text.")
    until(lambda: created(("", "k")) in watch.told, "changes")
    assert set(watch.told) <= {GONE, created(("", "k"))}


@pytest.mark.slow
def test_another_place_is_another_list(open_one: Open) -> None:
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
    assert watch.told[0] == GONE


def test_who_ends_hears_no_more_and_others_do(open_one: Open) -> None:
    here = open_one()
    keyed = vault(here)
    one, two = Watch(here).settle(), Watch(here).settle()
    one.end()
    keyed.commit("vault", "k", "A text.")
    two.hears(created(("", "k")))
    assert one.told == []
    assert two.threads == {"memoryd-changes"}


def test_what_could_not_be_read_is_told_when_it_can(open_one: Open, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_nobody_looks_where_nobody_watches(open_one: Open) -> None:
    here = open_one()
    vault(here).commit("vault", "k", "A text.")
    assert here.changes._thread is None
    here.changes.stop(1)
    Watch(here)
    assert here.changes._thread is None


def test_watching_makes_no_database(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        Watch(here).settle()
    assert list(tmp_path.rglob("*.db")) == []
