"""The sync of several machines through a repository: what one writes, corrects and forgets, and what two do at once."""

import sys
from pathlib import Path

import pytest

from memoryd.core.memories import correction
from memoryd.features.sync import status
from tests.features.sync.histories import History
from tests.features.sync.kit import Machine, settle
from tests.forks import run


@pytest.mark.slow
def test_what_one_stores_the_other_corrects_and_the_first_forgets(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    stored = one.memories.store("The staging port is 5433.", tags=["ops"])
    settle(one, two)
    assert two.texts() == ["The staging port is 5433."]
    correction.correct(two.scope, correction.Correction(id=stored.id, content="The staging port is 6000."))
    settle(two, one)
    assert one.texts() == ["The staging port is 6000."]
    one.forget(stored.id)
    settle(one, two)
    assert one.texts() == []


@pytest.mark.slow
def test_a_conflict_is_named_with_the_version_that_has_the_other_side(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    stored = one.memories.store("The port is 1.")
    settle(one, two)
    for port, machine in enumerate(pair, 2):
        correction.correct(machine.scope, correction.Correction(id=stored.id, content=f"The port is {port}."))
    one.sync()
    done = two.sync()
    (conflict,) = done.conflicts
    assert (conflict["workspace"], conflict["id"]) == ("default", stored.id)
    status.note(two.engine.settings.data_dir, done)
    status.note(two.engine.settings.data_dir, two.sync())
    assert status.read(two.engine.settings.data_dir)["conflicts"] == [conflict]
    versions = two.versions(stored.id)
    assert "The port is 2." in [row["body"] for row in versions if row["until"] == conflict["until"]]
    assert not one.sync().conflicts


@pytest.mark.parametrize("is_replaced", [True, False])
@pytest.mark.slow
def test_what_gave_way_to_a_memory_that_was_replaced_is_its_version_everywhere(
    pair: tuple[Machine, Machine], *, is_replaced: bool
) -> None:
    one, two = pair
    stored = one.memories.store("The port is 1.")
    settle(one, two)
    for port, machine in enumerate(pair, 2):
        correction.correct(machine.scope, correction.Correction(id=stored.id, content=f"The port is {port}."))
    if is_replaced:
        one.memories.store("There is no port.", supersedes=(stored.id,))
    else:
        one.forget(stored.id)
    settle(one, two, one)
    for machine in pair:
        known = {text for key, text in machine.wordings() if key == stored.id}
        assert ({"The port is 2.", "The port is 3."} <= known) == is_replaced
    assert one.files() == two.files()


@pytest.mark.slow
def test_random_histories_end_equal(tmp_path: Path) -> None:
    History(0, tmp_path, harm=False).run()


@pytest.mark.process
@pytest.mark.files
@pytest.mark.long
def test_so_do_those_with_cut_syncs_full_disks_clones_and_backups() -> None:
    command = [sys.executable, "-m", "bench.histories", "1", "131"]  # in a process: it may not write large files
    done = run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert "1 of 1 histories from 131 on ended equal" in done.stdout, done.stdout + done.stderr
