"""Commands on what does not exist, is empty, or contradicts itself: they say so, and do nothing else."""

import json

from tests.cli.test_commands import Run, data, run, stored, told

__all__ = ["data", "run"]  # fixtures


# ids and times -------------------------------------------------------------------------------------------------------


def test_ids_that_nothing_has_are_named(run: Run) -> None:
    key = stored(run, "Tea is green.")
    assert told(run("forget", "nope", "--yes", code=1)) == "There is no memory nope in 'default'.\n"
    some = run("forget", key[:8], "nope", "none", "--yes", code=1)
    assert (some.stdout, some.stderr) == ("Forgot 1 memory.\n", "There is no memory nope, none in 'default'.\n")
    assert json.loads(run("forget", key, "--yes", "--json", code=1).stdout)["forgotten"] == 0
    assert run("forget", "nope", "--tag", "old", "--yes").stdout == "No memories match the criteria.\n"


def test_a_deleted_memory_has_no_other_time_to_go_back_to(run: Run) -> None:
    key = stored(run, "Tea is green.")
    run("edit", key, "Tea is black.")
    (changed,) = json.loads(run("history", "--json").stdout)
    run("forget", key, "--yes")
    deleted = json.loads(run("history", "--json").stdout)[0]
    assert "is deleted, since" in told(run("restore", key, "--at", changed["at"], code=2))
    assert run("restore", key, "--at", deleted["at"]).stdout == f"Restored memory {key}: Tea is black.\n"
    assert "no ISO 8601" in told(run("restore", key, "--at", "", code=2)).replace("not an", "no")
    assert "Tea is green." in run("restore", key, "--at", changed["at"].lower()).stdout
