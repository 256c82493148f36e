"""Tries memoryd on a cluster under Patroni, while its leader changes, dies and hangs: `make cluster`, or some of the
faults: `make cluster FAULTS="node freeze"`.

Two servers, one with the URL of all nodes and one with a single address that follows the leader, each have two writers
and a reader. Prints a row for each fault; the exit code is 1 if an acknowledged store is lost or was stored twice.
"""

import itertools
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.cluster.nodes import Cluster, Node, addressed, running
from tests.http import WORKSPACE, HttpProcess
from tests.store.clusters import ask

WRITERS, PAUSE = 2, 0.1  # of each server; seconds between two calls of a client
BEFORE, AFTER = 3.0, 8.0  # seconds of load before a fault, and after another leads
PATIENCE = 90.0  # seconds for an answer: memoryd's own limits are shorter
HERE = {WORKSPACE: "default"}
UNKNOWN = "unknown whether"
WITHOUT = {"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none", "MEMORY_SERVICE": "off", "MEMORY_RATE_LIMIT": "none"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a client, and how it ended."""

    way: str
    ended: float
    stored: str
    """The text, or '' for a recall."""
    problem: str


class Load:
    """Clients of some servers, and what became of their calls."""

    def __init__(self, servers: Mapping[str, HttpProcess]) -> None:
        self.calls: list[Call] = []
        self._end = threading.Event()
        work: list[tuple[Callable[..., None], tuple[object, ...]]] = [
            *((self._write, (way, server, n)) for way, server in servers.items() for n in range(WRITERS)),
            *((self._read, (way, server)) for way, server in servers.items()),
        ]
        self._threads = [threading.Thread(target=target, args=given, daemon=True) for target, given in work]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let all clients finish their calls."""
        self._end.set()
        for thread in self._threads:
            thread.join(PATIENCE + 10)

    def acknowledged(self, way: str = "") -> list[Call]:
        """Return the stores that succeeded, of one way or of all, in order."""
        return [call for call in self.calls if call.stored and not call.problem and way in ("", call.way)]

    def longest_wait(self, way: str) -> float:
        """Return the longest time in seconds without an acknowledged store."""
        ends = [call.ended for call in self.acknowledged(way)]
        return max((later - earlier for earlier, later in itertools.pairwise(ends)), default=-1.0)

    def failed(self, way: str) -> list[Call]:
        """Return the calls that did not succeed."""
        return [call for call in self.calls if call.problem and call.way == way]

    def _write(self, way: str, server: HttpProcess, writer: int) -> None:
        number = 0
        while not self._end.wait(PAUSE):
            number += 1
            text = f"Crane {time.time_ns()} of {way} {writer}, number {number}, is blue."
            self._note(way, text, server, "memory_store", content=text)

    def _read(self, way: str, server: HttpProcess) -> None:
        while not self._end.wait(PAUSE):
            self._note(way, "", server, "memory_recall", query="blue crane")

    def _note(self, way: str, stored: str, server: HttpProcess, tool: str, **arguments: str) -> None:
        try:
            answer = server.client.post(f"{server.url}/tools/{tool}", headers=HERE, json=arguments, timeout=PATIENCE)
            problem = "" if answer.status_code == 200 else answer.text
        except httpx2.HTTPError as error:
            problem = repr(error)
        self.calls.append(Call(way, time.monotonic(), stored, problem))


def switchover(cluster: Cluster, _leader: Node) -> None:
    """Hand over in an orderly way."""
    cluster.switch()


def postgres(_cluster: Cluster, leader: Node) -> None:
    """Kill the leader's Postgres; its Patroni starts it again, or hands over."""
    leader.kill_postgres()


def node(cluster: Cluster, leader: Node) -> None:
    """Kill the leader and its Patroni; start them once another leads."""
    leader.kill()
    _another(cluster, leader)
    leader.start()


def freeze(cluster: Cluster, leader: Node) -> None:
    """Let the leader hang until another leads; it then still takes itself for the leader."""
    leader.freeze()
    try:
        _another(cluster, leader)
    finally:
        leader.thaw()


def replica(cluster: Cluster, _leader: Node) -> None:
    """Kill the synchronous standby and its Patroni, then start them."""
    standby = cluster.following()
    standby.kill()
    time.sleep(AFTER)
    standby.start()


FAULTS: Mapping[str, Callable[[Cluster, Node], None]] = {
    each.__name__: each for each in (switchover, postgres, node, freeze, replica)
}


def _another(cluster: Cluster, leader: Node) -> None:
    cluster.wait(lambda: cluster.leader() not in (None, leader), "other leader")


@contextmanager
def servers(cluster: Cluster) -> Iterator[dict[str, HttpProcess]]:
    """Run a memoryd with the URL of all nodes, and one with a single address."""
    with ExitStack() as ends:
        urls = {"all": cluster.url, "one": ends.enter_context(addressed(cluster))}
        started = {}
        for way, url in urls.items():
            home = Path(cluster.directory) / f"home-{way}"
            home.mkdir(exist_ok=True)
            given = WITHOUT | {"MEMORY_DATABASE_URL": url, "MEMORY_DATA_DIR": str(home / "data"), "HOME": str(home)}
            started[way] = HttpProcess(os.environ | given, log=home / "log")
            ends.callback(started[way].stop)
        yield started


def tried(fault: str, cluster: Cluster, used: Mapping[str, HttpProcess]) -> tuple[Load, list[str]]:
    """Try a fault; return what became of the calls, and the nodes that had to be made new."""
    load = Load(used)
    time.sleep(BEFORE)
    leader = cluster.leader()
    assert leader
    FAULTS[fault](cluster, leader)
    cluster.wait(cluster.leader, "leader")
    time.sleep(AFTER)
    load.stop()
    return load, cluster.mend()


def kept(cluster: Cluster) -> Counter[str]:
    """Return how often the leader has each text."""
    return Counter(ask(f"{cluster.url}?target_session_attrs=read-write", "SELECT body FROM records"))


def main(names: Sequence[str]) -> int:
    """Try the named faults, or all; return 1 if a store was lost or doubled, 2 if a name is unknown."""
    if unknown := [name for name in names if name not in FAULTS]:
        print(f"There is no fault {unknown[0]}. Name some of: {' '.join(FAULTS)}", file=sys.stderr)
        return 2
    wrong = 0
    print("fault, address: longest wait s, stores, lost, twice, unknown, failed stores, failed recalls")
    with running() as cluster, servers(cluster) as used:
        for fault in names or FAULTS:
            load, renewed = tried(fault, cluster, used)
            found = kept(cluster)
            for way in used:
                stores = load.acknowledged(way)
                lost = sum(not found[call.stored] for call in stores)
                twice = sum(found[call.stored] > 1 for call in load.calls if call.stored and call.way == way)
                failed = load.failed(way)
                doubtful = sum(UNKNOWN in call.problem for call in failed)
                refused = sum(bool(call.stored) for call in failed) - doubtful
                recalls = sum(not call.stored for call in failed)
                figures = [len(stores), lost, twice, doubtful, refused, recalls]
                print(f"{fault}, {way}: {load.longest_wait(way):.1f}, {', '.join(map(str, figures))}", flush=True)
                for problem in sorted({call.problem for call in failed}):
                    print(f"    {problem[:300]}")
                wrong += lost + twice
            if renewed:
                print(f"    made new afterwards: {', '.join(renewed)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
