"""Random histories of machines that share a repository, with all that may happen to them; all must end equal.

Machines write, correct, forget, purge and sync; their clocks are hours apart; syncs are cut off at any step, disks are
full; homes are cloned, databases and the repository restored from backups, the branch is set back, its history dropped.
"""

import json
import random
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memoryd.core.maintenance import purging
from memoryd.errors import MemorydError
from memoryd.features.sync.git import Git
from memoryd.features.sync.sync import Sync
from tests.features.sync.kit import KEPT, Machine, ShiftedClock, act, git, repository

STEPS = 50
CALLS = 20  # of git, one of which cuts a sync off


class CutError(Exception):
    """A sync ends here, as if its process were killed."""


class CutGit(Git):
    """A git whose process ends before or after one of its calls, and with it the sync."""

    def __init__(self, place: Path, call: int) -> None:
        super().__init__(place)
        self._left = call

    def _done(self, *arguments: str, given: bytes = b"", may_fail: bool = False) -> tuple[bytes, str, int]:
        self._left -= 1
        if self._left == 0:
            raise CutError
        done = super()._done(*arguments, given=given, may_fail=may_fail)
        if self._left == 1 and arguments[0] in ("push", "update-ref", "fast-import"):
            raise CutError
        return done


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file grow beyond a size meanwhile, also those that git writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class History:
    """Machines with a repository, and what must be or must not be there in the end."""

    def __init__(self, seed: int, folder: Path, *, harm: bool) -> None:
        self.dice, self._folder, self._step = random.Random(seed), folder, 0
        self.url = repository(folder / "shared.git")
        self.machines = list[Machine]()
        self._homes, self._backups = list[Path](), list[tuple[int, Path]]()
        self._present, self._gone, self._erased = set[str](), set[str](), set[str]()
        """The texts that must be there, those that must not, and those that must be in no file."""
        self._shared = set[str]()
        """The doomed texts that were in the repository: only what was there can be forgotten there."""
        self._pending = list[list[Callable[[], object]]]()
        """What counts once a machine has synced."""
        self._ids: dict[str, str] = {}
        for number in range(self.dice.randint(2, 5)):
            self._homes.append(folder / f"m{number}")
            self.machines.append(self._opened(number))
            self._pending.append([])
        acts: list[tuple[Callable[[int], None], float]] = [(self._act, 50), (self._keep, 5), (self._doom, 8)]
        acts += [(self._forget, 6), (self._purge, 3), (self.sync, 12)]
        if harm:
            acts += [(self._cut, 10), (self._on_full_disk, 5), (self._clone, 1), (self._back_up, 3)]
            acts += [(self._restore, 2), (self._restore_repository, 1), (self._set_back, 1), (self._drop, 1)]
        self._acts, self._weights = [one for one, _ in acts], [weight for _, weight in acts]

    def run(self, steps: int = STEPS) -> None:
        """Live; then check that all machines are equal, and that nothing is lost or returned. Raise AssertionError."""
        try:
            for self._step in range(steps):
                self.dice.choices(self._acts, self._weights)[0](self.dice.randrange(len(self.machines)))
            for number in [*range(len(self.machines))] * 2:
                self.sync(number)
            self._check()
        finally:
            for machine in self.machines:
                machine.engine.close()

    def _check(self) -> None:
        first, *others = [machine.files() for machine in self.machines]
        for number, other in enumerate(others, 1):
            differ = {path for path in first.keys() | other.keys() if first.get(path) != other.get(path)}
            sides = [[first.get(path), other.get(path)] for path in sorted(differ)[:2]]
            assert not differ, f"machine {number} differs from 0 in {sorted(differ)[:3]}: {sides}"
        texts = set(self.machines[0].texts())
        assert self._present <= texts, f"lost: {sorted(self._present - texts)}"
        assert not self._gone & texts, f"returned: {sorted(self._gone & texts)}"
        whole = b"\n".join(first.values()).decode() + self._tree()
        left = [text for text in self._erased if text in whole]
        assert not left, f"still in a tree: {left}"
        given_way = self._given_way()
        for number, machine in enumerate(self.machines):
            lacking = given_way - machine.wordings()
            assert not lacking, f"machine {number} has no version of {sorted(lacking)[:3]}"
        for done in [machine.sync() for machine in self.machines]:
            assert not done.sent, f"sent again: {done.sent}"
            assert not done.refused, f"refused: {done.refused}"

    def _tree(self, *folders: str) -> str:
        command = ["git", "--git-dir", str(self.url), "grep", "-h", "-e", "", "main", "--", *folders]
        return subprocess.run(command, capture_output=True, check=False).stdout.decode(errors="replace")

    def _given_way(self) -> set[tuple[str, str]]:
        """Return the ids and texts of what gave way to another machine's."""
        lines = [json.loads(line) for line in self._tree("default/conflicts").splitlines()]
        return {(one["id"], one.get("body", "")) for one in lines}

    def _opened(self, number: int) -> Machine:
        machine = Machine(self._homes[number], self.url)
        machine.engine.clock = ShiftedClock(5 * number)
        return machine

    # what machines do ------------------------------------------------------------------------------------------------

    def _act(self, number: int) -> None:
        act(self.machines[number], self.dice, self._step)

    def sync(self, number: int) -> None:
        """Sync a machine; what it has done counts from now on."""
        self.machines[number].sync()
        self._shared |= set(self.machines[number].texts()) & self._ids.keys()
        for counts in self._pending[number]:
            counts()
        self._pending[number].clear()

    def _keep(self, number: int) -> None:
        text = f"Fact {self._step} {KEPT}."
        self.machines[number].vault.commit("vault", f"kept {self._step}", text)
        self._pending[number].append(lambda: self._present.add(text))

    def _doom(self, number: int) -> None:
        text = f"Fact {self._step} {KEPT} until it is gone."
        self._ids[text] = self.machines[number].memories.store(text).id

    def _doomed(self, number: int) -> str:
        there = sorted(set(self.machines[number].texts()) & self._ids.keys())
        return self.dice.choice(there) if there else ""

    def _forget(self, number: int) -> None:
        if text := self._doomed(number):
            self.machines[number].forget(self._ids[text])
            self._count(number, self._gone, text)

    def _purge(self, number: int) -> None:
        if text := self._doomed(number):
            purging.purge(self.machines[number].scope, [self._ids[text]])
            self._count(number, self._erased, text)

    def _count(self, number: int, where: set[str], text: str) -> None:
        if text in self._shared:
            self._pending[number].append(lambda: where.add(text))

    # what happens to them --------------------------------------------------------------------------------------------

    def _cut(self, number: int) -> None:
        machine = self.machines[number]
        sync = Sync(machine.engine)
        sync.git = CutGit(sync.git.place, self.dice.randint(1, CALLS))
        with suppress(CutError):
            sync.run(drop_history=self.dice.random() < 0.1)

    def _on_full_disk(self, number: int) -> None:
        with full_disk(self.dice.choice((0, 100, 1_000, 10_000, 100_000))), suppress(MemorydError):
            if self.dice.random() < 0.3:
                self._act(number)
            self.machines[number].sync()

    def _clone(self, number: int) -> None:
        if len(self.machines) < 5:
            self._homes.append(self._copied(number, f"m{len(self._homes)}"))
            self._pending.append(list(self._pending[number]))
            self.machines.append(self._opened(len(self.machines)))

    def _back_up(self, number: int) -> None:
        self._backups.append((number, self._copied(number, f"b{self._step}")))

    def _copied(self, number: int, name: str) -> Path:
        """Copy the home of a machine, which is closed meanwhile."""
        self.machines[number].engine.close()
        copy = shutil.copytree(self._homes[number], self._folder / name)
        self.machines[number] = self._opened(number)
        return copy

    def _restore(self, _number: int) -> None:
        if not self._backups:
            return
        number, backup = self.dice.choice(self._backups)
        home = self._homes[number]
        self.machines[number].engine.close()
        whole = self.dice.random() < 0.5
        for each in (home / "data").iterdir():
            if whole or each.name != "sync":
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        aside = None if whole else shutil.ignore_patterns("sync")
        shutil.copytree(backup, home, ignore=aside, dirs_exist_ok=True)
        self.machines[number] = self._opened(number)
        self._pending[number].clear()
        for _ in range(self.dice.randrange(3)):
            self._act(number)
        self.sync(number)

    def _restore_repository(self, _number: int) -> None:
        backup = shutil.copytree(self.url, self._folder / f"r{self._step}")
        for _ in range(self.dice.randrange(10)):
            number = self.dice.randrange(len(self.machines))
            self.dice.choice((self._act, self._forget, self._keep, self.sync))(number)
        shutil.rmtree(self.url)
        backup.rename(self.url)
        self._all_sync()

    def _set_back(self, _number: int) -> None:
        if listed := git(self.url, "rev-list", "--branches=main").split():
            git(self.url, "update-ref", "refs/heads/main", self.dice.choice(listed[:10]))
            self._all_sync()

    def _all_sync(self) -> None:
        for number in self.dice.sample(range(len(self.machines)), len(self.machines)):
            self.sync(number)

    def _drop(self, number: int) -> None:
        self.machines[number].sync(drop_history=True)
