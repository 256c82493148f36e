"""How many times a call waits for the server: each time costs what the network between them takes."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from psycopg import conninfo

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, view
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.settings import Settings
from tests.clients import NO_MODELS

NETWORK = 0.01  # seconds that an answer takes: what the client sends meanwhile waits for nothing
UNPREPARED = 6  # times after which psycopg has prepared a statement


class Counting:
    """A relay to a server on a socket, which counts how often the client sends after the server has."""

    def __init__(self, directory: str, port: str) -> None:
        self.trips = 0
        self._server = f"{directory}/.s.PGSQL.{port}"
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                answered = threading.Event()
                answered.set()
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._relay, args=(*pair, client, answered), daemon=True).start()

    def _relay(
        self, source: socket.socket, target: socket.socket, client: socket.socket, answered: threading.Event
    ) -> None:
        with suppress(OSError), closing(source), closing(target):
            while data := source.recv(1 << 16):
                if source is not client:
                    time.sleep(NETWORK)
                    answered.set()
                elif answered.is_set():
                    self.trips += 1
                    answered.clear()
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@contextmanager
def relayed(url: str) -> Iterator[tuple[Counting, str]]:
    parts = conninfo.conninfo_to_dict(url)
    counting = Counting(str(parts["host"]), str(parts.get("port", 5432)))
    there = {**parts, "host": "127.0.0.1", "port": counting.port, "sslmode": "disable", "gssencmode": "disable"}
    yield counting, f"postgresql:///?{'&'.join(f'{key}={value}' for key, value in there.items())}"
    counting.close()


@pytest.mark.process
def test_a_store_waits_three_times_and_a_recall_once_a_question(url: str, tmp_path: Path) -> None:
    with relayed(url) as (counting, there):
        environ = {"MEMORY_DATABASE_URL": there, "MEMORY_DATA_DIR": str(tmp_path), **NO_MODELS}
        with Engine(Settings.read(environ), fetch=False) as engine:
            memories = Memories(Scope(engine, engine.workspaces.ensure("default")))

            def store(number: int) -> None:
                memories.store(f"ship {number} sails to port {number}")

            def recall(_: int) -> None:
                memories.recall("which ship sails", 500)

            found = {}
            for call in (store, recall):
                for number in range(UNPREPARED):
                    call(number)
                counting.trips = 0
                call(99)
                found[call.__name__] = counting.trips
    # a store: lock and mark; equal memories; rows, commit and flush. A recall: four questions, and its snapshot's end
    assert found == {"store": 3, "recall": 5}


@pytest.mark.process
def test_a_page_of_the_graph_does_not_wait_for_each_node(url: str, tmp_path: Path) -> None:
    with relayed(url) as (counting, there):
        environ = {"MEMORY_DATABASE_URL": there, "MEMORY_DATA_DIR": str(tmp_path), **NO_MODELS}
        with Engine(Settings.read(environ), fetch=False) as engine:
            graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
            nodes = [NewEntity(name=f"node {n}", type="thing", observations=("one", "two")) for n in range(20)]
            entities.create(graph, nodes)
            for _ in range(UNPREPARED):
                view.page(graph, 20_000)
            counting.trips = 0
            assert len(view.page(graph, 20_000)["entities"]) == 20
    assert counting.trips < 20, (
        "as many as nodes; each of two pages of ten needs three, and what does not fit one packet"
    )
