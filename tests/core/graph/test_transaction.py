"""Changes of the graph: each is one transaction with its events, and deletions are complete."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoryd.core.graph import entities, observations, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.names import named
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Change, Graph
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Entity
from tests.core.kit import engine, never


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with engine(tmp_path) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        entities.create(graph, [NewEntity(name="Ann", type="person", observations=("a", "b", "c"))])
        entities.create(graph, [NewEntity(name="Bob", type="person"), NewEntity(name="Acme", type="company")])
        yield graph


def there(graph: Graph, name: str = "Ann") -> Entity | None:
    return graph.read(lambda q: named(q, [name])).get(name)


def facts(graph: Graph, name: str = "Ann") -> dict[int, str]:
    found = there(graph, name)
    assert found
    return {one.ordinal: one.content for one in graph.read(lambda q: observations.of(q, [found.id]))[found.id]}


def sql(graph: Graph, statement: str) -> list[tuple[object, ...]]:
    with closing(
        apsw.Connection(str(graph.engine.store.placement.path(graph.workspace)), apsw.SQLITE_OPEN_READONLY)
    ) as file:
        return list(file.execute(statement))


def events(graph: Graph) -> Counter[str]:
    return Counter(str(operation) for (operation,) in sql(graph, "SELECT operation FROM events"))


def rows(graph: Graph, table: str) -> int:
    ((number,),) = sql(graph, f"SELECT count(*) FROM {table}")
    assert isinstance(number, int)
    return number


# changes -------------------------------------------------------------------------------------------------------------


def test_a_change_that_fails_has_changed_nothing(graph: Graph) -> None:
    before = there(graph), facts(graph), events(graph)

    def work(change: Change) -> None:
        found = named(change.queries, ["Ann"])["Ann"]
        observations.append(change, found, ["d"], {})
        entities._summarize(change, found, "s")
        raise InvalidInputError("no")

    with pytest.raises(InvalidInputError):
        graph.change(work)
    assert (there(graph), facts(graph), events(graph)) == before


def test_ordinals_are_never_reused(graph: Graph) -> None:
    observations.delete(graph, [Deletion(entity="Ann", ordinals=(2,))])
    observations.add(graph, [("Ann", ["d"])])
    observations.delete(graph, [Deletion(entity="Ann", ordinals=(0, 1, 3))])
    assert facts(graph) == {}
    observations.add(graph, [("Ann", ["e", "f"])])
    assert facts(graph) == {4: "e", 5: "f"}


def test_a_node_created_again_is_a_new_one(graph: Graph) -> None:
    first = there(graph)
    relations.create(graph, [Edge("Ann", "Bob", "knows")])
    entities.delete(graph, ["Ann"])
    entities.create(graph, [NewEntity(name="Ann", type="ship", observations=("z",))])
    second = there(graph)
    assert first
    assert second
    assert first.id != second.id
    assert (second.type, facts(graph)) == ("ship", {0: "z"})
    assert relations.between(graph, "Ann", "Bob") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda g: observations.add(g, [("Ann", ["d"])]),
        lambda g: observations.replace(g, "Ann", 0, "z"),
        lambda g: observations.delete(g, [Deletion(entity="Ann", contents=("a",))]),
        lambda g: entities.set_summary(g, "Ann", "s"),
        lambda g: entities.set_tags(g, "Ann", ["t"]),
        lambda g: relations.create(g, [Edge("Bob", "Ann", "knows")]),
    ],
)
def test_any_change_to_a_node_updates_only_its_own_time(graph: Graph, change: object) -> None:
    before, other = there(graph), there(graph, "Acme")
    assert before
    assert callable(change)
    change(graph)
    after = there(graph)
    assert after
    assert after.updated_at > before.updated_at
    assert after.created_at == before.created_at
    assert there(graph, "Acme") == other


def test_a_relation_given_twice_in_one_call_is_created_once(graph: Graph) -> None:
    knows = Edge("Ann", "Bob", "knows")
    made = relations.create(graph, [knows, knows])
    assert made["created"] == made["already_existed"]
    assert len(relations.between(graph, "Ann", "Bob")) == 1


def test_a_call_without_effect_updates_no_time_and_writes_no_event(graph: Graph) -> None:
    relations.create(graph, [Edge("Ann", "Bob", "knows")])
    before, noted = there(graph), events(graph)
    entities.create(graph, [NewEntity(name="Ann", type="other", observations=("a", "b"))])
    relations.delete(graph, [Edge("Ann", "Acme", "knows"), Edge("Ann", "Zed", "knows")])
    observations.add(graph, [("Zed", ["x"]), ("Ann", [])])
    with pytest.raises(NotFoundError, match="'Zed'"):
        observations.delete(graph, [Deletion(entity="Ann", ordinals=(0,)), Deletion(entity="Zed", ordinals=(0,))])
    assert (there(graph), events(graph)) == (before, noted)


def test_each_change_writes_its_events(graph: Graph) -> None:
    start = events(graph)
    assert start == {"create_entity": 3, "create_observation": 3}
    relations.create(graph, [Edge("Ann", "Bob", "knows"), Edge("Ann", "Acme", "works_at")])
    relations.rename(graph, Edge("Ann", "Bob", "knows"), "likes")
    observations.replace(graph, "Ann", 0, "z")
    entities.set_tags(graph, "Ann", ["t"])
    assert events(graph) - start == {
        "create_relation": 2,
        "update_relation": 1,
        "update_observation": 1,
        "update_entity": 1,
    }
    middle = events(graph)
    entities.delete(graph, ["Ann"])
    assert events(graph) - middle == {"delete_entity": 1, "delete_observation": 3, "delete_relation": 2}


def test_times_are_in_the_order_of_commits(graph: Graph) -> None:
    go, waiting = threading.Event(), threading.Event()

    def hold(_queries: object) -> None:
        waiting.set()
        go.wait(20)

    with ThreadPoolExecutor(2) as threads:
        threads.submit(graph.engine.write, graph.workspace, hold)
        assert waiting.wait(20)
        adding = threads.submit(observations.add, graph, [("Ann", ["later"])])
        before = graph.engine.clock.now()
        go.set()
        (added,) = adding.result(20)["result"]
    assert added["added"][0]["created_at"] > before


def test_a_time_never_goes_back(graph: Graph) -> None:
    ahead = "2999-01-01T00:00:00.000Z"
    found = there(graph)
    assert found
    graph.engine.write(graph.workspace, lambda q: q.run("entities.touch", ids=json.dumps([found.id]), now=ahead))
    observations.add(graph, [("Ann", ["d"])])
    after = there(graph)
    assert after
    assert after.updated_at == ahead


# purging -------------------------------------------------------------------------------------------------------------


def test_relations_are_purged_like_records(tmp_path: Path) -> None:
    with engine(tmp_path, MEMORY_RETENTION_DAYS="0") as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        entities.create(graph, [NewEntity(name=name, type="t", observations=("x",)) for name in ("a", "b", "c")])
        relations.create(graph, [Edge("a", "b", "r"), Edge("b", "c", "r"), Edge("c", "a", "r")])
        relations.delete(graph, [Edge("a", "b", "r")])
        assert rows(graph, "relations") == 2
        entities.delete(graph, ["c"])
        assert (rows(graph, "relations"), rows(graph, "records"), rows(graph, "observation_details")) == (0, 4, 2)


def test_deleted_parts_are_kept_until_the_retention_ends(graph: Graph) -> None:
    relations.create(graph, [Edge("Ann", "Bob", "knows")])
    entities.delete(graph, ["Ann"])
    graph.engine.retention.purge(never)
    assert (rows(graph, "relations"), rows(graph, "observation_details")) == (1, 3)
