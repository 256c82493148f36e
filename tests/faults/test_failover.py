"""Calls when a machine with Postgres dies, freezes, is replaced, or comes back, with real servers."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

import pytest

from memoryd.deadline import time_limit
from memoryd.errors import StoreBusyError, StoreError, UncertainError
from memoryd.server.http import app as http_app
from memoryd.store.postgres import pool
from memoryd.store.postgres.store import PostgresStore
from tests.clients import PATIENCE, until
from tests.http import serving
from tests.store.clusters import Cluster, ask, observed, of_several, replicated
from tests.store.kit import put, words, workspace

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.servers]

Pair = tuple[Cluster, Cluster]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with replicated() as started:
        yield started


def bodies(server: Cluster) -> set[str]:
    """Return the texts on a server; none on a standby that has not received the tables yet."""
    (there,) = server.ask("SELECT to_regclass('records') IS NOT NULL")
    return set(server.ask("SELECT body FROM records")) if there else set()


class Writers:
    """Threads that store one text after another, each in its own workspace."""

    def __init__(self, store: PostgresStore, number: int) -> None:
        self.acknowledged: list[str] = []
        self.failed: list[StoreError] = []
        self._store, self._end = store, threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(number)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        self.go_on()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(60)

    def go_on(self) -> None:
        """Wait until more writes are acknowledged."""
        before = len(self.acknowledged)
        until(lambda: len(self.acknowledged) > before + 20, "writes")

    def _write(self, writer: int) -> None:
        here, number = workspace(), 0
        while not self._end.is_set():
            number += 1
            try:
                put(self._store, here, f"text {number} of {writer}")
                self.acknowledged.append(f"text {number} of {writer}")
            except StoreError as error:
                self.failed.append(error)


def test_a_standby_takes_over_from_a_killed_primary_which_gets_no_more_writes(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = pair
    known = tmp_path / "data" / "timelines.json"
    with closing(PostgresStore(of_several(primary, standby), timelines=known)) as store:
        with Writers(store, 4) as writers:
            primary.stop(signal.SIGKILL)
            standby.promote()
            writers.go_on()
        assert set(writers.acknowledged) <= bodies(standby)
        assert all(isinstance(error, UncertainError) for error in writers.failed)

        (primary.data / "standby.signal").unlink(missing_ok=True)
        primary.start()
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        primary.ask("SELECT pg_reload_conf()")
        standby.stop(signal.SIGKILL)
        monkeypatch.setattr(pool, "FAILOVER", 0.1)
        for _ in range(4):  # each connection of a writer may not have heard of the end of its server
            with suppress(StoreError):
                put(store, workspace(), "on the old one")
        with pytest.raises(StoreError, match=r"its timeline is older than .*Connection refused.*Nothing was stored"):
            put(store, workspace(), "on the old one")
        with (
            closing(PostgresStore(of_several(primary, standby), timelines=known)) as later,
            pytest.raises(StoreError, match=rf"1 instead of 2.* delete {known} and restart"),
        ):
            put(later, workspace(), "on the old one, by a process that met no other")
        assert not [body for body in bodies(primary) if body.startswith("on the old one")]
        known.unlink()
        with closing(PostgresStore(of_several(primary, standby), timelines=known)) as meant:
            put(meant, workspace(), "on the old one, on purpose")
            assert ", timeline 1, " in meant.upkeep.describe()
        standby.start()
        put(store, workspace(), "on the new one")
    with closing(PostgresStore(of_several(primary, standby))) as fresh:
        put(fresh, workspace(), "by a process that starts now")
    assert {"on the new one", "by a process that starts now"} <= bodies(standby) - bodies(primary)


def test_a_standby_that_takes_over_without_the_last_store_is_noticed_when_its_log_has_grown(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    primary, standby = pair
    primary.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
    primary.ask("SELECT pg_reload_conf()")
    url, known = of_several(primary, standby), tmp_path / "timelines.json"
    with closing(PostgresStore(url, timelines=known)) as store:
        put(store, workspace(), "on both")
        until(lambda: "on both" in bodies(standby), "the standby")
        standby.stop()
        put(store, workspace(), "on the old one")
    primary.stop(signal.SIGKILL)
    standby.start()
    standby.promote()
    standby.ask(f"SELECT pg_logical_emit_message(false, 'other', repeat('x', {1 << 17}))")
    lost = "he server of timeline 2 has taken over, but it has lost the last of what was stored: its log ends at "
    for text in ("by a process that starts now", "by one that starts later"):
        with closing(PostgresStore(url, timelines=known)) as later:
            put(later, workspace(), text)
            assert lost in later.upkeep.describe()
    assert caplog.text.count(lost) == 1
    assert "on the old one" not in bodies(standby)


def test_a_standby_takes_over_from_a_frozen_primary(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    primary, standby = pair
    monkeypatch.setattr(pool, "DOUBT", 0.2)
    with closing(PostgresStore(of_several(primary, standby, connect_timeout="2"))) as store:
        with Writers(store, 16) as writers:
            primary.freeze()
            standby.promote()
            writers.go_on()
        primary.thaw()
        assert set(writers.acknowledged) <= bodies(standby)
        assert all(isinstance(error, UncertainError) for error in writers.failed)
        put(store, workspace(), "after it thawed")
    assert "after it thawed" in bodies(standby) - bodies(primary)


def test_a_single_address_may_lead_to_a_standby_until_that_takes_over(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = pair
    here, refused = workspace(), observed(monkeypatch)
    with closing(PostgresStore(primary.url)) as store:
        put(store, here, "before")
    with closing(PostgresStore(standby.url)) as store:
        caller = threading.Thread(target=put, args=(store, here, "during"), daemon=True)
        caller.start()
        until(lambda: len(refused) > 5, "refused writes")
        primary.stop(signal.SIGKILL)
        standby.promote()
        caller.join(PATIENCE)
    assert bodies(standby) == {"before", "during"}
    assert "is read-only" in str(refused[0])


def test_a_frozen_server_keeps_no_connection(server: Cluster) -> None:
    here = workspace()
    url = server.database()
    with closing(PostgresStore(url, 1)) as store:
        put(store, here, "before")
        server.freeze()

        try:
            with time_limit(0.3), pytest.raises(StoreBusyError, match=r"no answer for .*Nothing was stored"):
                put(store, here, "during")
        finally:
            server.thaw()
        put(store, here, "after")
    assert sorted(ask(url, "SELECT body FROM records")) == ["after", "before"]


def test_memoryd_can_end_while_its_server_is_frozen(
    server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_app, "LAST_CALLS", 0)
    url = server.database()
    with (
        serving(tmp_path, "--workspace", "default", MEMORY_DATABASE_URL=url) as http,
        ThreadPoolExecutor(1) as threads,
        http.connect() as client,
    ):
        assert http.tool("memory_store", content="before").status_code == 200
        server.freeze()
        try:
            late = threads.submit(client.post, "/tools/memory_store", json={"content": "late"})
            until(http.running, "the call")
            http.stop()
            assert late.result(PATIENCE).status_code == 503
        finally:
            server.thaw()


def test_a_statement_ends_shortly_after_the_servers_own_limit(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE", 0.1)
    here = workspace()
    with closing(PostgresStore(server.database(statement_timeout="200"))) as store:
        put(store, here, "before")
        server.freeze()
        try:
            with pytest.raises(StoreBusyError, match="does not answer"):
                store.read(here, lambda q: q.all("doctor.owners"))
        finally:
            server.thaw()


def test_writers_that_wait_for_a_standby_leave_connections_for_readers(pair: Pair) -> None:
    primary, standby = pair
    here = workspace()
    with closing(PostgresStore(primary.url, 4)) as store:
        put(store, here, "kept")
        standby.freeze()
        writers = [threading.Thread(target=put, args=(store, workspace(), "text"), daemon=True) for _ in range(6)]
        for writer in writers:
            writer.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'memoryd'"
        until(lambda: primary.ask(waiting) == [3], "three writers of four connections")
        assert words(store, here, "kept") == ["kept"]
        standby.thaw()
        for writer in writers:
            writer.join(60)
    assert primary.ask("SELECT count(*) FROM records") == [7]
