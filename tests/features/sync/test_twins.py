"""What was born on two machines under one key or name: both texts stay, whichever machine merges."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.graph import entities, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.maintenance import history
from memoryd.features.sync import items
from memoryd.store import rows
from tests.features.sync.kit import Machine, ShiftedClock, repository

KINDS = ("key", "node")
FIRST, SECOND = "It is 1.", "It is 2."


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[Machine]]:
    url = repository(tmp_path / "shared.git")
    machines = [Machine(tmp_path / name, url) for name in ("one", "two", "three")]
    yield machines
    for machine in machines:
        machine.engine.close()


def write(machine: Machine, kind: str, text: str, hours: int) -> None:
    """Give the key or the node a text, at a time."""
    machine.engine.clock = ShiftedClock(hours)
    if kind == "key":
        machine.vault.commit("vault", "port", text)
    elif not machine.scope.read(items.all_groups):
        entities.create(machine.graph, [NewEntity(name="port", type="thing", summary=text)])
    else:
        entities.set_summary(machine.graph, "port", text)


def standing(machine: Machine, kind: str) -> dict[str, str]:
    """Return the texts of what stands by its id."""
    every = machine.scope.read(lambda q: items.read(q, items.all_groups(q)))
    found = [one for each in every.values() for one in each if not one.get("deleted_at")]
    return {one["id"]: one["body"] for one in found if one["kind"] == ("memory" if kind == "key" else "entity")}


def versions(machine: Machine, key: str) -> dict[str, str]:
    """Return the earlier texts of a record by the time until which they stood."""
    return {row["until"]: row["body"] for row in machine.scope.read(lambda q: rows.of(q, "versions", [key]))}


@pytest.mark.parametrize(
    ("kind", "is_first_older", "is_first_later"), list(itertools.product(KINDS, (True, False), (True, False)))
)
def test_the_text_that_gives_way_is_a_version_where_it_is_merged(
    three: list[Machine], kind: str, is_first_older: bool, is_first_later: bool
) -> None:
    one, two, third = three
    later, text, other = (one, FIRST, SECOND) if is_first_later else (two, SECOND, FIRST)
    for machine, is_older in ((one, is_first_older), (two, not is_first_older)):
        write(machine, kind, "It is open." if machine is later else other, 1 if is_older else 2)
    write(later, kind, text, 3)
    one.sync()
    done = two.sync()
    ((key, now),) = standing(two, kind).items()
    assert now == text
    (conflict,) = done.conflicts
    assert (conflict["workspace"], conflict["id"]) == ("default", key)
    assert versions(two, key)[conflict["until"]] == other
    for machine in (one, two):
        assert not machine.sync().conflicts
        assert standing(machine, kind) == {key: text}
    assert one.files() == two.files()
    history.restore(two.graph, [key], conflict["until"])
    for machine in (two, third, one, two):
        machine.sync()
        assert standing(machine, kind) == {key: other}
    assert one.files() == two.files() == third.files()


@pytest.mark.parametrize(("kind", "hours"), list(itertools.product(KINDS, (3, 5))))
def test_a_text_that_was_changed_where_the_two_were_not_yet_one_is_a_version_or_stands(
    three: list[Machine], kind: str, hours: int
) -> None:
    one, two, third = three
    write(third, kind, "It is open.", 2)
    for machine in (third, one):
        machine.sync()
    write(two, kind, "It was open.", 1)
    two.sync()
    write(two, kind, FIRST, 4)
    two.sync()
    write(one, kind, SECOND, hours)
    (conflict,) = one.sync().conflicts
    ((key, now),) = standing(one, kind).items()
    texts = [FIRST, SECOND] if hours == 3 else [SECOND, FIRST]
    assert [now, versions(one, key)[conflict["until"]]] == texts
    for machine in (two, third, one):
        assert not machine.sync().conflicts
    assert one.files() == two.files() == third.files()


def test_observations_move_to_the_entity_that_another_machine_has_merged_theirs_into(three: list[Machine]) -> None:
    one, two, third = three
    for name in ("Ann", "Anne"):
        entities.create(one.graph, [NewEntity(name=name, type="person", observations=(f"is {name}",))])
    for machine in three:
        machine.sync()
    renaming.merge(one.graph, "Anne", "Ann")
    for machine in (one, two, third):
        assert not machine.sync().refused
    assert one.files() == two.files() == third.files()
    assert b"is Anne" in b"".join(two.files().values())
