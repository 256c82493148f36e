"""What was born on two machines under one key or name: both texts stay, whichever machine merges."""

from pathlib import Path

import pytest

from memoryd.core.graph import entities, observations, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.maintenance import history
from memoryd.features.sync import items
from tests.features.sync.conftest import Opened
from tests.features.sync.kit import Machine, ShiftedClock, git, living, settle

FIRST, SECOND = "It is 1.", "It is 2."


@pytest.fixture
def three(open_machine: Opened) -> list[Machine]:
    return [open_machine(name) for name in ("one", "two", "three")]


def write(machine: Machine, text: str, hours: int) -> None:
    """Give the key and the node a text, at a time."""
    machine.engine.clock = ShiftedClock(hours)
    if machine.scope.read(items.all_groups):
        entities.set_summary(machine.graph, "port", text)
    else:
        entities.create(machine.graph, [NewEntity(name="port", type="thing", summary=text)])
    machine.vault.commit("vault", "port", text)


def standing(machine: Machine) -> dict[str, str]:
    """Return the texts of the key and the node by their ids."""
    found = {one["id"]: one["body"] for one in living(machine.scope)}
    assert len(found) == 2
    return found


def both(text: str) -> list[str]:
    """Return what the key and the node say if both say the same."""
    return [text, text]


def versions(machine: Machine, key: str) -> dict[str, str]:
    """Return the earlier texts of a record by the time until which they stood."""
    return {row["until"]: row["body"] for row in machine.versions(key)}


@pytest.mark.parametrize("is_first_later", [True, False])
def test_the_text_that_gives_way_is_a_version_where_it_is_merged(three: list[Machine], is_first_later: bool) -> None:
    one, two, third = three
    later, text, other = (one, FIRST, SECOND) if is_first_later else (two, SECOND, FIRST)
    for machine in (one, two):  # what is changed last was made last, too, or first
        write(machine, "It is open." if machine is later else other, 2 if machine is one else 1)
    write(later, text, 3)
    one.sync()
    conflicts = two.sync().conflicts
    now = standing(two)
    assert [*now.values()] == both(text)
    assert sorted((conflict["workspace"], conflict["id"]) for conflict in conflicts) == sorted(
        ("default", key) for key in now
    )
    assert [versions(two, conflict["id"])[conflict["until"]] for conflict in conflicts] == both(other)
    for machine in (one, two):
        assert not machine.sync().conflicts
        assert standing(machine) == now
    assert one.files() == two.files()
    for conflict in conflicts:
        history.restore(two.graph, [conflict["id"]], conflict["until"])
    for machine in (two, third, one, two):
        machine.sync()
        assert standing(machine) == dict.fromkeys(now, other)
    assert one.files() == two.files() == third.files()


@pytest.mark.parametrize("hours", [3, 5])
def test_a_text_that_was_changed_where_the_two_were_not_yet_one_is_a_version_or_stands(
    three: list[Machine], hours: int
) -> None:
    one, two, third = three
    write(third, "It is open.", 2)
    settle(third, one)
    write(two, "It was open.", 1)
    two.sync()
    write(two, FIRST, 4)
    two.sync()
    write(one, SECOND, hours)
    conflicts = one.sync().conflicts
    text, other = (FIRST, SECOND) if hours == 3 else (SECOND, FIRST)
    assert [*standing(one).values()] == both(text)
    assert [versions(one, conflict["id"])[conflict["until"]] for conflict in conflicts] == both(other)
    for machine in (two, third, one):
        assert not machine.sync().conflicts
    assert one.files() == two.files() == third.files()


def test_both_texts_are_in_the_history_of_every_machine(three: list[Machine], shared: Path) -> None:
    one, two, third = three
    write(one, "It is open.", 1)
    settle(*three)
    write(one, FIRST, 3)
    write(two, SECOND, 2)
    settle(one, two, third, one)
    for machine in three:
        for key, now in standing(machine).items():
            assert {now, *versions(machine, key).values()} >= {"It is open.", FIRST, SECOND}
            texts = [text for _, text in sorted(versions(machine, key).items())]
            assert texts.index("It is open.") < texts.index(SECOND)
    one.vault.prune("vault", key="port")
    entities.delete(one.graph, ["port"])
    settle(one, two)
    assert "conflicts" not in git(shared, "ls-tree", "-r", "--name-only", "main")


def test_a_machine_that_joins_brings_the_text_that_gives_way_to_all(three: list[Machine]) -> None:
    one, two, third = three
    for hours, machine, text in ((3, one, FIRST), (1, two, SECOND), (2, third, "It is 3.")):
        write(machine, text, hours)
    settle(one, two, third, one, two)
    for machine in three:
        for key, now in standing(machine).items():
            assert {now, *versions(machine, key).values()} == {FIRST, SECOND, "It is 3."}


def test_all_texts_of_one_instant_are_kept(three: list[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    now = three[0].engine.clock.now()
    for number, machine in enumerate(three):
        monkeypatch.setattr(machine.engine.clock, "now", lambda: now)
        machine.vault.commit("vault", "port", f"It is {number}.")
    settle(*three, *three)
    for machine in three:
        ((key, text),) = [(each["id"], each["body"]) for each in living(machine.scope)]
        assert {text, *versions(machine, key).values()} == {"It is 0.", "It is 1.", "It is 2."}


def test_two_names_for_one_node_are_a_conflict(three: list[Machine]) -> None:
    one, two, third = three
    entities.create(one.graph, [NewEntity(name="Ann", type="person", summary="A person.")])
    settle(*three)
    for machine, name in ((one, "Anna"), (two, "Anne")):
        renaming.rename(machine.graph, "Ann", name)
    one.sync()
    done = two.sync()
    (conflict,) = done.conflicts
    assert any("name" in remark for remark in done.remarks)
    settle(third, one, two)
    name = two.record(conflict["id"])["name"]
    other = "Anna" if name == "Anne" else "Anne"
    for machine in three:
        row = next(row for row in machine.versions(conflict["id"]) if row["until"] == conflict["until"])
        assert (row["name"], row["body"]) == (other, "A person.")
    history.restore(third.graph, [conflict["id"]], conflict["until"])
    for machine in (third, one, two):
        machine.sync()
        assert machine.record(conflict["id"])["name"] == other


def test_observations_move_to_the_entity_that_another_machine_has_merged_theirs_into(three: list[Machine]) -> None:
    one, two, third = three
    for name in ("Ann", "Anne"):
        entities.create(one.graph, [NewEntity(name=name, type="person", observations=(f"is {name}",))])
    settle(*three)
    renaming.merge(one.graph, "Anne", "Ann")
    for machine in (one, two, third):
        assert not machine.sync().refused
    assert one.files() == two.files() == third.files()
    assert b"is Anne" in b"".join(two.files().values())


def test_a_deleted_observation_makes_room_and_raises_no_number(three: list[Machine], open_machine: Opened) -> None:
    one, two, third = three
    fourth = open_machine("four")
    for machine, hours, text in ((one, 1, "tea"), (fourth, 2, "rum")):
        machine.engine.clock = ShiftedClock(hours)
        entities.create(machine.graph, [NewEntity(name="port", type="thing", observations=(text,))])
    for machine in (fourth, third, one, two):
        machine.sync()
    (rum,) = [one["id"] for one in living(two.scope) if one.get("body") == "rum"]
    entities.delete(third.graph, ["port"])
    observations.add(fourth.graph, [("port", ["gin"])])
    for machine in (third, fourth, two, one, third, fourth):
        machine.sync()
    assert one.files() == two.files() == third.files() == fourth.files()
    observations.add(one.graph, [("port", ["ale"])])
    history.restore(two.graph, [rum])
    for machine in (two, one, third, fourth, two, one, third, fourth):
        machine.sync()
    assert one.files() == two.files() == third.files() == fourth.files()
    ordinals = {item["body"]: item["ordinal"] for item in living(two.scope) if item["kind"] == "observation"}
    assert ordinals.keys() == {"tea", "gin", "ale", "rum"}
    assert len({*ordinals.values()}) == len(ordinals)
