"""`memoryd sync` as people run it, what doctor, the page and a purge say of it, and what hooks and a kill do."""

import json
import random
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from memoryd.core.engine import Engine
from memoryd.features.agents.requests import HookRequests
from memoryd.server.calls import Calls
from memoryd.settings import Settings
from tests.clients import environment
from tests.commands import process, run
from tests.features.sync.kit import Machine, act, git, settle
from tests.forks import Fork


def test_two_homes_share_a_memory(tmp_path: Path, shared: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    run(one, "store", "The staging port is 5433.")
    for home in (one, two):
        run(home, "sync", "init", shared)
    assert "Sent" in run(one, "sync").stdout
    assert "applied 1 change" in run(two, "sync").stdout
    assert "5433" in run(two, "recall", "staging port").stdout


def test_doctor_names_the_repository_and_a_sync_that_failed(tmp_path: Path, shared: Path) -> None:
    home = tmp_path / "one"
    run(home, "store", "A fact.")
    assert "no repository" in " ".join(run(home, "sync", code=2).stderr.split())
    run(home, "sync", "init", shared)
    run(home, "sync")
    facts = json.loads(run(home, "doctor", "--json").stdout)["facts"]
    assert str(shared) in facts["sync"]
    shared.rename(tmp_path / "away.git")
    run(home, "sync", code=1)
    findings = json.loads(run(home, "doctor", "--json", code=1).stdout)["findings"]
    assert ["waits" in one["problem"] for one in findings if one["subject"] == "sync"] == [True]


def test_a_purge_names_the_repository_that_still_holds_what_was_erased(tmp_path: Path, shared: Path) -> None:
    home = tmp_path / "one"
    stored = json.loads(run(home, "store", "The vault code is 4711 since the first of March.", "--json").stdout)
    run(home, "sync", "init", shared)
    run(home, "sync")
    assert "--drop-history" in run(home, "purge", stored["id"], "--yes").stderr
    run(home, "sync", "--drop-history")
    assert "4711" not in git(shared, "log", "-p", "main")


@pytest.mark.process
@pytest.mark.parametrize("by", ["process", "service"])
def test_a_session_syncs_in_the_background(tmp_path: Path, shared: Path, by: str) -> None:
    home, given = tmp_path / "one", '{"session_id": "s", "source": "startup"}'
    run(home, "store", "Stored before the session.")
    run(home, "sync", "init", shared)
    if by == "process":
        process(home, "hook", "session-start", stdin=given)
    else:
        with Engine(Settings.read(environment(home)), fetch=False) as engine:
            hook = HookRequests(Calls(engine.client(engine.settings, "", Path("/"))))
            request = {"event": "session-start", "client": "claude-code", "budget": 300, "home": "/", "input": given}
            assert "failed" not in anyio.run(hook.answer, request)
    for _ in range(600):
        if git(shared, "branch", "--list", "main"):
            return
        time.sleep(0.1)
    raise AssertionError("nothing was pushed")


@pytest.mark.process
def test_a_sync_that_is_killed_loses_nothing(tmp_path: Path, shared: Path) -> None:
    dice = random.Random(7)
    homes = [tmp_path / "one", tmp_path / "two"]
    for round_ in range(2):
        for home in homes:
            machine = Machine(home, shared)
            for step in range(6):
                act(machine, dice, 100 * round_ + step)
            machine.engine.close()
        for home in homes:
            done = Fork[bytes]([sys.executable, "-m", "memoryd", "sync"], env=environment(home))
            time.sleep(dice.uniform(0.2, 0.8))
            done.send_signal(signal.SIGKILL)
            done.wait()
    machines = [Machine(home, shared) for home in homes]
    settle(*machines, *machines)
    for machine in machines:
        machine.engine.close()
