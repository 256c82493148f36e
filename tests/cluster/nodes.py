"""Three Postgres servers under Patroni, on ports of this machine, and one address that leads to the leader.

Patroni agrees by its own Raft here, so that nothing but Python packages is needed. Its timing is that of docs/scale.md.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil  # type: ignore[import-untyped]
from anyio.abc import SocketAttribute, SocketStream, TaskStatus
from anyio.from_thread import start_blocking_portal

from tests import places
from tests.http import free_port
from tests.installers import BUILD
from tests.store.clusters import ask

PATRONI = BUILD / "cluster" / "bin" / "patroni"
"""What `make cluster` installs."""
TIMING = {"ttl": 20, "loop_wait": 5, "retry_timeout": 7}
"""In seconds; the ones that docs/scale.md recommends."""
SERVER = {
    "fsync": "off",  # processes are killed here, not machines
    "max_connections": 100,
    "shared_buffers": "32MB",
    "unix_socket_directories": "",
}
CHECKED = 0.5  # seconds between two looks of the address at who leads
SLOW = 180.0  # seconds until a cluster is whole again
NAMES = ("n1", "n2", "n3")


def _as_owner(owner: int) -> list[str]:
    """Return how root starts a program as another user, who may nevertheless read this Python."""
    if os.geteuid() != 0:
        return []
    right = "+dac_override"  # Python may lie below a directory that is root's alone
    user = (f"--reuid={owner}", f"--regid={owner}", "--clear-groups")
    return ["setpriv", *user, f"--inh-caps={right}", f"--ambient-caps={right}"]


class Node:
    """Patroni and the Postgres that it starts."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name, self.data = name, directory / name
        self.postgres, self.rest, self.raft = free_port(), free_port(), free_port()
        self._patroni: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start Patroni, which starts Postgres or takes over one that runs."""
        with (self.data / "log").open("ab") as log:
            self._patroni = subprocess.Popen(
                [*_as_owner(self.data.stat().st_uid), PATRONI, self.data / "patroni.yml"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.data,
                env={name: value for name, value in os.environ.items() if not name.startswith(("PG", "PATRONI"))},
            )

    def postmaster(self) -> psutil.Process | None:
        """Return Postgres' first process, if it runs."""
        with suppress(OSError, ValueError, IndexError, psutil.NoSuchProcess):
            found = psutil.Process(int((self.data / "pg" / "postmaster.pid").read_text().split()[0]))
            return found if found.status() != psutil.STATUS_ZOMBIE else None
        return None

    def kill(self) -> None:
        """Kill Patroni and Postgres, as if the machine lost its power."""
        if self._patroni:
            self._patroni.kill()
            self._patroni.wait()
        self.kill_postgres()

    def kill_postgres(self) -> None:
        """Kill Postgres alone."""
        if server := self.postmaster():
            server.send_signal(signal.SIGKILL)

    def freeze(self) -> None:
        """Suspend Patroni and Postgres, as a machine that hangs."""
        for process in self._processes():
            process.suspend()

    def thaw(self) -> None:
        """Let them go on."""
        for process in reversed(self._processes()):
            process.resume()

    def _processes(self) -> list[psutil.Process]:
        assert self._patroni
        servers = [server] if (server := self.postmaster()) else []
        return [psutil.Process(self._patroni.pid), *servers, *(one for each in servers for one in each.children())]


class Cluster:
    """The three nodes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.nodes = {name: Node(name, directory) for name in NAMES}
        self._client = httpx2.Client(timeout=2)

    @property
    def url(self) -> str:
        """The URL that names all three."""
        hosts = ",".join(f"127.0.0.1:{node.postgres}" for node in self.nodes.values())
        return f"postgresql://postgres@{hosts}/memory"

    def members(self) -> list[dict[str, Any]]:
        """Return what a node that answers knows of all."""
        for node in self.nodes.values():
            with suppress(httpx2.HTTPError, ValueError):
                found: list[dict[str, Any]] = self._client.get(self._rest(node, "cluster")).json()["members"]
                return found
        return []

    def leader(self) -> Node | None:
        """Return the node that says of itself that it leads."""
        for node in self.nodes.values():
            with suppress(httpx2.HTTPError):
                if self._client.get(self._rest(node, "primary")).status_code == 200:
                    return node
        return None

    def following(self, role: str = "sync_standby") -> Node:
        """Return a standby that follows."""
        self.wait(lambda: self._with(role), f"a {role}")
        return self.nodes[self._with(role)[0]]

    def is_whole(self) -> bool:
        """Return whether one leads and the others follow, one of them synchronously."""
        members = self.members()
        states = [member["state"] for member in members]
        return (
            self.leader() is not None
            and bool(self._with("sync_standby"))
            and sorted(states) == ["running", "streaming", "streaming"]
        )

    def wait(self, condition: Callable[[], object], what: str, seconds: float = SLOW) -> float:
        """Return the seconds until a condition holds; raise AssertionError if it does not."""
        began = time.monotonic()
        while not condition():
            assert time.monotonic() < began + seconds, f"no {what} after {seconds} s: {self.members()}"
            time.sleep(0.2)
        return time.monotonic() - began

    def switch(self) -> None:
        """Hand over to the synchronous standby, as `patronictl switchover` does."""
        names = {"leader": self._with("leader")[0], "candidate": self.following().name}
        leader = self.nodes[names["leader"]]
        done = self._client.post(self._rest(leader, "switchover"), json=names, timeout=60)
        assert done.status_code == 200, done.text

    def mend(self) -> list[str]:
        """Wait until all follow; return the nodes that had to be made new, as `patronictl reinit` does."""
        with suppress(AssertionError):
            self.wait(self.is_whole, "whole cluster", SLOW / 3)
            return []
        well = {member["name"] for member in self.members() if member["state"] in ("running", "streaming")}
        for name in (left := [name for name in NAMES if name not in well]):
            self._client.post(self._rest(self.nodes[name], "reinitialize"), json={"force": True}, timeout=60)
        self.wait(self.is_whole, "whole cluster")
        return left

    def _with(self, role: str) -> list[str]:
        return [member["name"] for member in self.members() if member["role"] == role]

    def _rest(self, node: Node, path: str) -> str:
        return f"http://127.0.0.1:{node.rest}/{path}"

    def close(self) -> None:
        """Kill all nodes."""
        for node in self.nodes.values():
            with suppress(psutil.NoSuchProcess):
                node.kill()
        self._client.close()


@contextmanager
def running() -> Iterator[Cluster]:
    """Make a new cluster with an empty database `memory`."""
    managed = import_module("memoryd.store.postgres.managed_server")
    owner = managed._account() if os.geteuid() == 0 else os.getuid()
    directory = Path(tempfile.mkdtemp(prefix="memoryd-", dir=places.for_databases()))
    os.chown(directory, owner, -1)
    with ExitStack() as ends:
        ends.callback(shutil.rmtree, directory, ignore_errors=True)
        cluster = Cluster(directory)
        ends.callback(cluster.close)
        for node in cluster.nodes.values():
            node.data.mkdir(mode=0o700)
            text = json.dumps(_configuration(node, cluster, managed.PROGRAMS))
            (node.data / "patroni.yml").write_text(text, encoding="utf-8")
            for path in (node.data, node.data / "patroni.yml"):
                os.chown(path, owner, -1)
        for node in cluster.nodes.values():
            node.start()
        cluster.wait(cluster.is_whole, "whole cluster")
        leader = cluster.leader()
        assert leader
        ask(f"postgresql://postgres@127.0.0.1:{leader.postgres}/postgres", "CREATE DATABASE memory")
        yield cluster


def _configuration(node: Node, cluster: Cluster, programs: Path) -> dict[str, Any]:
    """Return what patroni.yml holds; JSON is YAML, too."""
    rest, server = f"127.0.0.1:{node.rest}", f"127.0.0.1:{node.postgres}"
    others = [f"127.0.0.1:{other.raft}" for other in cluster.nodes.values() if other is not node]
    accounts = {"superuser": "postgres", "replication": "replicator", "rewind": "rewinder"}
    return {
        "scope": "memory",
        "name": node.name,
        "restapi": {"listen": rest, "connect_address": rest},
        "raft": {
            "data_dir": str(node.data / "raft"),
            "self_addr": f"127.0.0.1:{node.raft}",
            "partner_addrs": others,
        },
        "bootstrap": {
            "dcs": TIMING
            | {
                "synchronous_mode": True,
                "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": SERVER},
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums", "no-sync"],
        },
        "postgresql": {
            "listen": server,
            "connect_address": server,
            "data_dir": str(node.data / "pg"),
            "bin_dir": str(programs),
            "pgpass": str(node.data / "pgpass"),
            "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
            "authentication": {kind: {"username": name, "password": "none"} for kind, name in accounts.items()},
        },
    }


class Address:
    """One address for whichever node leads, as of HAProxy with `on-marked-down shutdown-sessions`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._leader = cluster.leader()
        self._scopes: set[anyio.CancelScope] = set()

    async def serve(self, *, task_status: TaskStatus[int]) -> None:
        """Listen on a free port."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._look)
            async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
                task_status.started(listener.extra(SocketAttribute.local_port))
                await listener.serve(self._connected)

    async def _look(self) -> None:
        while True:
            await anyio.sleep(CHECKED)
            leader = await anyio.to_thread.run_sync(self._cluster.leader)
            if leader is not self._leader:
                self._leader = leader
                for scope in list(self._scopes):
                    scope.cancel()

    async def _connected(self, client: SocketStream) -> None:
        async with client:
            if not self._leader:
                return
            with suppress(OSError, anyio.BrokenResourceError), anyio.CancelScope() as scope:
                self._scopes.add(scope)
                try:
                    server = await anyio.connect_tcp("127.0.0.1", self._leader.postgres)
                    async with server, anyio.create_task_group() as tasks:
                        for ends in ((client, server), (server, client)):
                            tasks.start_soon(_pass_on, *ends, tasks.cancel_scope)
                finally:
                    self._scopes.discard(scope)


async def _pass_on(source: SocketStream, target: SocketStream, both: anyio.CancelScope) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for data in source:
            await target.send(data)
    both.cancel()


@contextmanager
def addressed(cluster: Cluster) -> Iterator[str]:
    """Yield the URL of a single address that leads to the leader."""
    with start_blocking_portal() as portal:
        serving, port = portal.start_task(Address(cluster).serve)
        yield f"postgresql://postgres@127.0.0.1:{port}/memory"
        serving.cancel()
