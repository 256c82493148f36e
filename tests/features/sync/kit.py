"""Machines that share a repository: homes in folders, and what a machine remembers."""

import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from memoryd.core.base.clock import Clock, moment, timestamp
from memoryd.core.engine import Engine
from memoryd.core.graph import entities, observations, relations, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.maintenance import history, purging
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from memoryd.errors import MemorydError
from memoryd.features.sync import items
from memoryd.features.sync.documents import Item
from memoryd.features.sync.git import Git
from memoryd.features.sync.sync import Sync, SyncReport, place
from memoryd.store import rows
from memoryd.store.base import Queries, Row
from tests.core.exports_kit import opened


def repository(path: Path) -> Path:
    """Make an empty repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    return path


def git(place: Path, *arguments: str) -> str:
    """Run git in a repository as a person would; return what it prints."""
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", str(place)]
    return subprocess.run(["git", *who, *arguments], check=True, capture_output=True, text=True).stdout


KEPT = "stays as it is"
"""What a memory says that no act changes or forgets."""


class ShiftedClock(Clock):
    """A clock that is some hours ahead."""

    def __init__(self, hours: int) -> None:
        super().__init__()
        self._ahead = timedelta(hours=hours)

    def now(self) -> str:
        """Return the time that the clock shows."""
        return timestamp(moment(super().now()) + self._ahead)


def living(scope: Scope) -> list[Item]:
    """Return all that lives in a workspace."""
    every = scope.read(lambda q: items.read(q, items.all_groups(q)))
    return [one for each in every.values() for one in each if not one.get("deleted_at")]


class Machine:
    """A home with its own clock."""

    def __init__(self, home: Path, url: Path | str, branch: str = "") -> None:
        self.engine: Engine = opened(home)
        git = Git(place(self.engine.settings.data_dir))
        git.init(str(url))
        git.configure("memoryd.branch", [branch] if branch else [])
        self.scope = Scope(self.engine, self.engine.workspaces.ensure("default"))
        self.memories, self.vault, self.journal = Memories(self.scope), Vault(self.scope), Journal(self.scope)
        self.graph = Graph(self.scope)

    def sync(self, **how: Any) -> SyncReport:
        return Sync(self.engine).run(**how)

    def files(self) -> dict[str, bytes]:
        """Return all files as this machine would write them."""
        return self.scope.read(lambda q: {path: data for _, path, data in items.documents(q, items.all_groups(q))})

    def texts(self) -> list[str]:
        """Return the texts of the living memories."""
        return sorted(one["body"] for one in living(self.scope) if one["kind"] == "memory")

    def versions(self, key: str) -> list[Row]:
        """Return the versions of a record."""
        return self.scope.read(lambda q: rows.of(q, "versions", [key]))

    def wordings(self) -> set[tuple[str, str]]:
        """Return the ids and texts of all records and their versions."""

        def work(queries: Queries) -> set[tuple[str, str]]:
            pages = [page for table in ("records", "versions") for page in rows.pages(queries, table)]
            return {(row["id"], row["body"]) for page in pages for row in page}

        return self.scope.read(work)

    def record(self, key: str) -> Mapping[str, Any]:
        """Return a record as it is stored."""
        return self.scope.read(lambda q: rows.of(q, "records", [key])[0])

    def forget(self, *ids: str) -> None:
        self.memories.forget(Criteria(ids=ids), confirm=True)


def settle(*machines: Machine) -> list[SyncReport]:
    """Sync machines one after the other, and check that all are equal then; return what the syncs did."""
    done = [machine.sync() for machine in machines]
    assert all(machine.files() == machines[0].files() for machine in machines)
    return done


class Clone:
    """A person's clone of the repository, who edits files and pushes."""

    def __init__(self, folder: Path, url: Path) -> None:
        self._folder, self._url = folder, url

    def pull(self) -> None:
        """Fetch what is in main."""
        if not self._folder.exists():
            subprocess.run(["git", "clone", "--quiet", "-b", "main", self._url, self._folder], check=True)
        git(self._folder, "pull", "--quiet")

    def text(self) -> str:
        """Return the text of all files."""
        return "".join(path.read_text(encoding="utf-8") for path in self._files())

    def write(self, path: str, text: str) -> None:
        """Write a file and push it."""
        self.write_all({path: text})

    def write_all(self, texts: Mapping[str, str]) -> None:
        """Write files and push them together."""
        with self._pushed():
            for path, text in texts.items():
                (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
                (self._folder / path).write_text(text, encoding="utf-8")

    def replace(self, old: str, new: str, name: str = "") -> None:
        """Replace a text in the files whose name contains another one, and push them."""
        with self._pushed():
            for path in self._files(name):
                path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    def delete(self, *names: str) -> None:
        """Delete the files whose path contains one of some texts, and push that."""
        with self._pushed():
            for path in self._files():
                if any(name in path.as_posix() for name in names):
                    path.unlink()

    def edit(self, name: str, change: Callable[[Path], object]) -> None:
        """Change the file whose name contains a text, and push that."""
        self.edit_all(lambda files: change(files(name)))

    def edit_all(self, change: Callable[[Callable[[str], Path]], object]) -> None:
        """Have files changed, which are found by a text in their names, and push that."""

        def found(name: str) -> Path:
            (path,) = self._files(name)
            return path

        with self._pushed():
            change(found)

    def move(self, name: str, path: str) -> None:
        """Move the file whose name contains a text, and push that."""

        def change(found: Path) -> None:
            (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
            found.rename(self._folder / path)

        self.edit(name, change)

    def with_windows_line_ends(self) -> None:
        """Write all files with CRLF, which git does not convert, and push that."""
        with self._pushed():
            git(self._folder, "config", "core.autocrlf", "false")
            for path in self._files():
                data = path.read_bytes()
                if b"\r" not in data:
                    path.write_bytes(data.replace(b"\n", b"\r\n"))

    def merge(self, branch: str) -> None:
        """Merge a branch into main, and push that."""
        self.pull()
        git(self._folder, "fetch", "--quiet", "origin", branch)
        git(self._folder, "merge", "--quiet", "--no-ff", "-m", "Reviewed", f"origin/{branch}")
        git(self._folder, "push", "--quiet", "origin", "main")

    def _files(self, name: str = "") -> list[Path]:
        paths = [path for path in self._folder.rglob("*") if path.is_file() and ".git" not in path.parts]
        return [path for path in paths if name in path.name]

    @contextmanager
    def _pushed(self) -> Iterator[None]:
        """Have the present files, and push what is done to them."""
        self.pull()
        yield
        git(self._folder, "add", "--all")
        git(self._folder, "commit", "--quiet", "--allow-empty", "-m", "By hand")
        git(self._folder, "push", "--quiet", "origin", "main")


def act(machine: Machine, dice: random.Random, step: int) -> None:
    """Do something at random, as an agent would."""
    scope, graph = machine.scope, machine.graph
    every = living(scope)
    others = [one["id"] for one in every if one["kind"] == "memory" and KEPT not in one["body"]]
    nodes = [one["name"] for one in every if one["kind"] == "entity"]
    name, other = (f"node {dice.randrange(6)}" for _ in range(2))
    fact = f"fact {step} is {dice.randrange(10_000)}"

    def edit() -> None:
        correction.correct(scope, Correction(id=dice.choice(others), content=fact))

    def retag() -> None:
        correction.correct(scope, Correction(id=dice.choice(others), tags=(f"t{dice.randrange(4)}", "all")))

    acts: list[Callable[[], object]] = [
        lambda: machine.memories.store(fact, tags=[f"t{dice.randrange(4)}"], importance=dice.random()),
        lambda: machine.vault.commit("vault", f"key {dice.randrange(4)}", fact),
        lambda: entities.create(graph, [NewEntity(name=name, type="thing", observations=(fact,), summary=fact)]),
        lambda: machine.journal.add(fact, "", "yes", f"session {dice.randrange(3)}"),
        lambda: machine.journal.summarize(f"session {dice.randrange(3)}"),
        lambda: machine.vault.prune("vault", key=f"key {dice.randrange(4)}"),
    ]
    if others:
        acts += [edit, retag, lambda: machine.forget(dice.choice(others))]
        acts += [lambda: purging.purge(scope, [dice.choice(others)])]
        acts += [lambda: machine.memories.store(fact, supersedes=(dice.choice(others),))]
    if nodes:
        acts += [
            lambda: observations.add(graph, [(dice.choice(nodes), [fact])]),
            lambda: relations.create(graph, [Edge(dice.choice(nodes), dice.choice(nodes), "knows")]),
            lambda: entities.set_summary(graph, dice.choice(nodes), fact),
            lambda: renaming.rename(graph, dice.choice(nodes), other),
            lambda: renaming.merge(graph, dice.choice(nodes), dice.choice(nodes)),
            lambda: entities.delete(graph, [dice.choice(nodes)]),
        ]
    with suppress(MemorydError):
        dice.choice(acts)()
    if dice.random() < 0.1 and (last := [one for one in history.entries(graph, 5) if KEPT not in one.text]):
        with suppress(MemorydError):
            history.restore(graph, [dice.choice(last).id])
