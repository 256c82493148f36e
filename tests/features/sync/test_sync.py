"""The sync of several machines through a repository: what one writes, corrects and forgets, and what two do at once."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.sync.kit import KEPT, Machine, ShiftedClock, act, repository


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    url = repository(tmp_path / "shared.git")
    one, two = (Machine(tmp_path / name, url) for name in ("one", "two"))
    yield one, two
    for machine in (one, two):
        machine.engine.close()


def test_what_one_stores_the_other_corrects_and_the_first_forgets(pair: tuple[Machine, Machine]) -> None:
    from memoryd.core.memories import correction

    one, two = pair
    stored = one.memories.store("The staging port is 5433.", tags=["ops"])
    one.sync()
    two.sync()
    assert two.texts() == ["The staging port is 5433."]
    correction.correct(two.scope, correction.Correction(id=stored.id, content="The staging port is 6000."))
    two.sync()
    one.sync()
    assert one.texts() == ["The staging port is 6000."]
    one.forget(stored.id)
    one.sync()
    two.sync()
    assert one.texts() == two.texts() == []
    assert one.files() == two.files()


@pytest.mark.parametrize("seed", range(4))
def test_random_histories_end_equal(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    url = repository(tmp_path / "shared.git")
    machines = [Machine(tmp_path / f"m{number}", url) for number in range(dice.randint(2, 4))]
    for number, machine in enumerate(machines):
        machine.engine.clock = ShiftedClock(5 * number)
    kept = list[str]()
    for step in range(60):
        machine = dice.choice(machines)
        act(machine, dice, step)
        if step % 10 == 0:
            kept.append(f"Fact {step} {KEPT}.")
            machine.vault.commit("vault", f"kept {step}", kept[-1])
        if dice.random() < 0.15:
            machine.sync()
    for machine in (*machines, *machines):
        machine.sync()
    first, *others = [machine.files() for machine in machines]
    assert all(other == first for other in others)
    assert set(kept) <= set(machines[0].texts())
    for machine in machines:
        assert machine.sync().sent == 0
        machine.engine.close()
