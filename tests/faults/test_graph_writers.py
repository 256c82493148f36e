"""Several processes write one graph at once and are killed: no duplicate ordinal, no acknowledged write lost."""

import signal
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from tests.clients import Agent, Json, problems, until
from tests.conftest import Pipe, Start
from tests.store.kit import together
from tests.wires import ProcessWire

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.stores]

PATIENCE = 60.0
NODES = ("hub", "rim")


@pytest.fixture
def serve(pipe: Pipe) -> Pipe:
    """Return a function that starts a server on one graph that has the NODES; all end with the test."""

    def begin(**settings: str) -> ProcessWire:
        server = pipe("--toolsets", "graph", **settings)
        server.handshake()
        return server

    make = [{"name": name, "entity_type": "thing"} for name in NODES]
    call(begin(), "create_entities", entities=make)
    return begin


def call(wire: ProcessWire, tool: str, **arguments: Any) -> Json:
    answer = wire.call(tool, **arguments)
    assert not answer.get("isError"), answer
    content: Json = answer["structuredContent"]
    return content


class Writer:
    """A client of its own server that adds observations and relations without pause."""

    def __init__(self, name: str, wire: ProcessWire) -> None:
        self.name = name
        self.wire = wire
        self.added: dict[tuple[str, int], str] = {}
        """The acknowledged observations: text by node and ordinal."""
        self.related: set[str] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        with suppress(AssertionError, OSError):  # the process was killed, as planned
            self.write_all(range(100_000))

    def write_all(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.write(number)

    def write(self, number: int) -> None:
        texts = [f"{self.name} number {number} part {part}" for part in range(number % 3 + 1)]
        wanted = [{"entity_name": node, "contents": texts} for node in NODES]
        for entry in call(self.wire, "add_observations", observations=wanted)["result"]:
            self.added |= {(entry["entity_name"], one["ordinal"]): one["content"] for one in entry["added"]}
        kind = f"{self.name} {number}"
        edge = {"from": "hub", "to": "rim", "relation_type": kind}
        if call(self.wire, "create_relations", relations=[edge])["created"]:
            self.related.add(kind)

    def kill(self) -> None:
        until(lambda: len(self.added) > 20, "observations", PATIENCE)
        self.wire.signal(signal.SIGKILL)
        assert self.wire.wait() == -signal.SIGKILL
        with self.wire._changed:  # wakes threads that wait for an answer
            self.wire._changed.notify_all()
        self._thread.join(PATIENCE)


def check(reader: Agent, writers: list[Writer]) -> None:
    """Check that everything acknowledged exists, at the ordinal in its answer, and each ordinal once."""
    assert problems(reader.data.parent) == []
    assert sum(len(writer.added) for writer in writers) == len({key for writer in writers for key in writer.added})
    kept = {(node, ordinal): text for node in NODES for ordinal, text in reader.facts(node).items()}
    between = reader.ok("get_relations_between", entity_a="hub", entity_b="rim")["result"]
    for writer in writers:
        assert writer.added.items() <= kept.items()
        assert writer.related <= {one["relation_type"] for one in between}
    for node in NODES:
        ordinals = sorted(ordinal for name, ordinal in kept if name == node)
        assert ordinals == list(range(len(ordinals))), "no gaps: each call is stored completely or not at all"


def test_killed_writers_lose_no_acknowledged_write(serve: Pipe, spawn: Start) -> None:
    writers = [Writer(f"writer {number}", serve()) for number in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.kill()
    check(spawn("--toolsets", "graph"), writers)


def test_concurrent_processes_share_the_ordinals(serve: Pipe, spawn: Start) -> None:
    writers = [Writer(f"writer {number}", serve()) for number in range(3)]
    assert together(lambda n: writers[n].write_all(range(6)), 3) == []
    reader = spawn("--toolsets", "graph")
    check(reader, writers)
    assert len(reader.facts("hub")) == sum(number % 3 + 1 for number in range(6)) * 3


def test_processes_that_create_the_same_create_it_once(serve: Pipe, spawn: Start) -> None:
    servers = [serve() for _ in range(3)]
    made: list[Json] = []

    def write(number: int) -> None:
        for turn in range(6):
            entity = {"name": f"node{turn}", "entity_type": "thing", "observations": ["the same", f"by {number}"]}
            made.extend(call(servers[number], "create_entities", entities=[entity])["result"])
            edge = {"from": "hub", "to": f"node{turn}", "relation_type": "has"}
            call(servers[number], "create_relations", relations=[edge, edge])

    assert together(write, 3) == []
    assert sum(not one["already_existed"] for one in made) == 6
    assert len({one["id"] for one in made}) == 6
    reader = spawn("--toolsets", "graph")
    assert reader.edges() == [f"hub has node{turn}" for turn in range(6)]
    for turn in range(6):
        facts = reader.facts(f"node{turn}")
        assert sorted(facts) == [0, 1, 2, 3]
        assert sorted(facts.values()) == ["by 0", "by 1", "by 2", "the same"]
