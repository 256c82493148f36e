"""How long stores fail or wait when a machine with Postgres is lost, with memoryd's default limits.

    python -m bench.failover                       # kill, kill-late, shutdown, restart, asynchronous, freeze, standby
    python -m bench.failover freeze
    python -m bench.failover vanish                # as root, with nftables: drops all packets to and from the primary

A primary and a standby, which is synchronous unless the fault says otherwise, run on this machine, with four writers
and a reader. `repaired` is when the standby was promoted, or abandoned if it froze, or when the primary ran again;
`stores again` and `recalls again` are when the first call succeeded; all in seconds after the fault.
"""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from rich.table import Table

from bench.tables import console
from memoryd.errors import StoreError, UncertainError
from memoryd.store.postgres.store import PostgresStore
from tests.store.clusters import Cluster, of_several, replicated
from tests.store.kit import put, words, workspace

FAULTS = {
    "kill": 2.0,
    "kill-late": 10.0,
    "shutdown": 2.0,
    "restart": 2.0,
    "asynchronous": 2.0,
    "freeze": 5.0,
    "standby": 10.0,
    "vanish": 5.0,
}
"""Seconds until the repair."""
USUAL = tuple(fault for fault in FAULTS if fault != "vanish")
ADDRESS = "127.0.0.9"
"""The address of the primary that vanishes."""
SILENCE = f"""
table ip memoryd_bench {{
  chain out {{
    type filter hook output priority 0
    ip daddr {ADDRESS} drop
    ip saddr {ADDRESS} drop
  }}
}}
"""
AFTER = 30.0
WRITERS = 4


class Load:
    """Writers and a reader, with the time and outcome of their calls."""

    def __init__(self, store: PostgresStore) -> None:
        self.store, self.end = store, threading.Event()
        self.stores: list[tuple[float, str, StoreError | None]] = []
        self.recalls: list[tuple[float, str, StoreError | None]] = []
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(WRITERS)]
        self._threads.append(threading.Thread(target=self._read, daemon=True))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wait for the running calls."""
        self.end.set()
        for thread in self._threads:
            thread.join(150)

    def _write(self, writer: int) -> None:
        here, number = workspace(), 0
        while not self.end.wait(0.005):
            text, number = f"text {number} of {writer}", number + 1
            try:
                put(self.store, here, text)
                self.stores.append((time.monotonic(), text, None))
            except StoreError as error:
                self.stores.append((time.monotonic(), text, error))

    def _read(self) -> None:
        here = workspace()
        while not self.end.wait(0.1):
            try:
                words(self.store, here, "text")
                self.recalls.append((time.monotonic(), "", None))
            except StoreError as error:
                self.recalls.append((time.monotonic(), "", error))


@contextmanager
def vanished() -> Iterator[None]:
    """Drop every packet to and from the primary's address."""
    subprocess.run(["nft", "-f", "-"], input=SILENCE, text=True, check=True)
    try:
        yield
    finally:
        subprocess.run(["nft", "delete", "table", "ip", "memoryd_bench"], check=True)


def tried(fault: str, primary: Cluster, standby: Cluster) -> list[str]:
    """Try a fault and return its row of the table."""
    if fault == "asynchronous":
        _wait_for_none(primary)
    with closing(PostgresStore(of_several(primary, standby))) as store, ExitStack() as ends:
        load = Load(store)
        time.sleep(4)
        at = time.monotonic()
        _begin(fault, primary, standby, ends)
        time.sleep(FAULTS[fault])
        survivor = _repair(fault, primary, standby)
        repaired = time.monotonic() - at
        time.sleep(AFTER)
        load.stop()
    if fault in {"freeze", "standby"}:
        (primary if fault == "freeze" else standby).thaw()
    stored = set(survivor.ask("SELECT body FROM records"))
    acknowledged = [text for _, text, error in load.stores if error is None]
    unknown = sum(isinstance(error, UncertainError) for _, _, error in load.stores)
    failed = sum(error is not None for _, _, error in load.stores) - unknown
    lost = sum(text not in stored for text in acknowledged)
    again = [_first(calls, at) for calls in (load.stores, load.recalls)]
    return [fault, f"{repaired:.1f}", *again, str(len(acknowledged)), str(lost), str(unknown), str(failed)]


def _begin(fault: str, primary: Cluster, standby: Cluster, ends: ExitStack) -> None:
    match fault:
        case "standby":
            standby.freeze()
        case "vanish":
            ends.enter_context(vanished())
        case "freeze":
            primary.freeze()
        case _:
            primary.stop(signal.SIGINT if fault == "shutdown" else signal.SIGKILL)


def _repair(fault: str, primary: Cluster, standby: Cluster) -> Cluster:
    """Return the server that goes on."""
    match fault:
        case "standby":
            _wait_for_none(primary)
        case "restart":
            primary.start()
        case _:
            standby.promote()
            return standby
    return primary


def _wait_for_none(primary: Cluster) -> None:
    """Let commits wait for no standby."""
    primary.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
    primary.ask("SELECT pg_reload_conf()")


def _first(calls: list[tuple[float, str, StoreError | None]], fault: float) -> str:
    """Return the seconds from a fault to the first call that succeeded, ignoring calls that were already running."""
    return f"{min((ended - fault for ended, _, error in calls if not error and ended > fault + 0.1), default=-1):.1f}"


def main() -> None:
    """Print the table."""
    columns = ("fault", "repaired", "stores again", "recalls again", "acknowledged", "lost", "unknown", "failed")
    table = Table(*columns)
    for fault in sys.argv[1:] or USUAL:
        with replicated(ADDRESS if fault == "vanish" else "") as (primary, standby):
            table.add_row(*tried(fault, primary, standby))
    console().print(table)


if __name__ == "__main__":
    main()
