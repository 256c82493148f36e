"""Sync: write what changed to a commit, fetch, merge and apply what others changed, push.

Each step can be cut off and repeated. The store notes, with the commit of the last merge, the last event that is in it;
what a repository or a backup lacks is written again from there.
"""

import json
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from memoryd.connect import locks
from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.core.transfer.file_names import readable
from memoryd.core.workspaces.registry import ACTIVE
from memoryd.errors import InvalidInputError, StoreBusyError, StoreError
from memoryd.features.sync import applying, documents, items, reading
from memoryd.features.sync.applying import QuietChange
from memoryd.features.sync.documents import ROOT, VERSION, Group, is_document, mark, mark_of
from memoryd.features.sync.git import Git, QuickerError
from memoryd.features.sync.merging import Merged, merge
from memoryd.model import Workspace
from memoryd.store.base import Queries

TRIES = 20  # pushes that others overtook, and changes that others made meanwhile
REPLACES = "Memoryd-Replaces"
"""The trailer of a commit without history: the commit that it stands for."""
MAIN = "main"
"""The branch that all machines read."""
KNOWN = "refs/memoryd/known"
"""The last commit of the remote that was merged."""
WAIT = 60.0  # seconds to wait for another sync of this memory
PAUSE = 0.2  # seconds between attempts


class Conflict(TypedDict):
    """A record whose text was changed on two machines: it has the later one, and the other one as a version."""

    workspace: str
    id: str
    until: str
    """The time with which the history lists the version."""


@dataclass(slots=True)
class SyncReport:
    """What a sync did."""

    sent: int = 0
    """The files that were written for others."""
    received: int = 0
    """The records and relations that changed here."""
    remarks: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """The files that are not read until they are corrected, and why."""
    conflicts: list[Conflict] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Setup:
    """What `sync init` has noted."""

    url: str
    branch: str
    """The branch to push to: MAIN, or one that others review first."""
    workspaces: tuple[str, ...]
    """The names of the workspaces; none means all."""


class Sync:
    """The sync of a memory with its repository."""

    def __init__(self, engine: Engine, report: StepProgress = lambda _what, _done: None) -> None:
        self._engine, self._report = engine, report
        self.git = Git(place(engine.settings.data_dir))
        self.setup = setup(self.git)

    def run(self, *, drop_history: bool = False) -> SyncReport:
        """Bring both sides together. Raise OfflineError if the repository is not reached, or another MemorydError."""
        self._engine.store.placement.create(None)
        with _alone(place(self._engine.settings.data_dir).with_name("sync.lock")):
            outcome = SyncReport()
            for _ in range(TRIES):
                try:
                    head = self._once(outcome)
                except QuickerError:
                    continue
                if drop_history:
                    self._drop_history(head)
                return outcome
        raise StoreError("Others pushed again and again. Nothing was lost; repeat `memoryd sync`.")

    def _once(self, outcome: SyncReport) -> str:
        branch, git = self.setup.branch, self.git
        self._report("fetching", 0.0)
        head = git.fetch(MAIN)
        own = head if branch == MAIN else git.fetch(branch)
        _demand_version(git, head)
        commit = head
        outcome.refused.clear()
        for workspace, folder in self._workspaces(head):
            commit = WorkspaceSync(self._engine, git, workspace, folder, outcome).run(commit)
        if commit and commit != own and not (commit == head and branch != MAIN):
            self._report("pushing", 0.9)
            git.push(commit, branch, own, force=branch != MAIN)
        if commit:
            git.run("update-ref", KNOWN, head or commit)
        if head and replaced(git, head) and git.commit(f"{KNOWN}-pruned") != head:
            self._prune(head)
        return commit

    def _workspaces(self, head: str) -> list[tuple[Workspace, str]]:
        """Return the workspaces to sync with their folders; those that only the repository has are made."""
        wanted, registry = self.setup.workspaces, self._engine.workspaces
        here = {one.name: one for one in registry.all("active")} if self._engine.store.placement.exists() else {}
        names = dict.fromkeys([*here, *_named(self.git, head)])
        found = []
        for name in sorted(names):
            if not wanted or name in wanted:
                known = here.get(name) or registry.get(name)
                workspace = known or registry.ensure(name)
                if workspace.status == ACTIVE:
                    found.append((workspace, folder_of(name)))
        return found

    def _drop_history(self, head: str) -> None:
        """Give the repository one commit with the present files in place of all; forget the others here too."""
        if not head or self.setup.branch != MAIN:
            raise InvalidInputError("The history belongs to the main branch; drop it on a machine that pushes to that.")
        root = self.git.commit_tree(head, f"Drop the history\n\n{REPLACES}: {head}")
        self.git.push(root, MAIN, head, force=True)
        self.git.run("update-ref", KNOWN, root)
        for workspace, _ in self._workspaces(root):
            self._engine.write(workspace, lambda queries: _note(queries, root, _state(queries)[1]))
        self._prune(root)

    def _prune(self, root: str) -> None:
        """Remove what no branch has any more from the repository here."""
        for ref in ("refs/memoryd/last", "refs/memoryd/writing"):
            self.git.run("update-ref", "-d", ref)
        self.git.run("update-ref", f"{KNOWN}-pruned", root)
        self.git.run("gc", "--quiet", "--prune=now")


class WorkspaceSync:
    """The sync of one workspace with its folder of the repository."""

    def __init__(self, engine: Engine, git: Git, workspace: Workspace, folder: str, outcome: SyncReport) -> None:
        self._engine, self._git = engine, git
        self._scope = Scope(engine, workspace)
        self._folder, self._outcome = f"{folder}/", outcome
        self._name = workspace.name

    def run(self, head: str) -> str:
        """Merge with the commit `head`, '' for none; return the commit that has both."""
        for _ in range(TRIES):
            base, seq = self._scope.read(_state)
            base = base if base and self._git.commit(base) else ""
            ours, now = self._written(base, seq if base else None)
            shared = self._git.base(ours, head) if ours and head else ""
            apart = not shared and bool(head)
            if apart and replaced(self._git, head) and (known := self._git.commit(KNOWN)) and ours:
                shared = self._git.base(ours, known)
            if not head or shared == head:
                merged = ours
            elif (done := self._merged(shared, ours, head, now, joined=not apart)) is not None:
                merged, now = done
            else:
                continue
            if (merged, now) != (base, seq):
                self._engine.write(self._scope.workspace, lambda q, to=(merged, now): _note(q, *to))  # type: ignore[misc]
            return merged
        raise StoreError(f"The workspace {self._name!r} is changed too often to be merged. Repeat `memoryd sync`.")

    # ours ------------------------------------------------------------------------------------------------------------

    def _written(self, base: str, seq: int | None) -> tuple[str, int]:
        """Return a commit with what changed here since an event, on top of `base`; and the last event in it."""

        def work(queries: Queries) -> tuple[dict[str, bytes | None], int]:
            latest = _latest(queries)
            if seq is not None and latest == seq:
                return {}, latest
            groups, gone = items.all_groups(queries), set[str]()
            if seq is not None:
                subjects = [row["subject"] for row in queries.all("sync.subjects", after=seq)]
                groups, gone = items.groups_of(queries, subjects)
            return self._files(queries, base, groups, gone), latest

        files, latest = self._scope.read(work)
        if not base:
            files |= {name: text.encode() for name, text in ROOT.items()} | {
                f"{self._folder}workspace.json": (json.dumps({"name": self._name}, ensure_ascii=False) + "\n").encode()
            }
        return self._commit(files, base, [base]), latest

    def _files(self, queries: Queries, start: str, groups: set[Group], gone: Iterable[str]) -> dict[str, bytes | None]:
        """Return the files of some groups as they are now, and the superfluous ones of a commit as None."""
        there = self._marked(start)
        marks = {mark(group) for group in groups}
        for key in gone:
            marks.add(mark(("memory", key)))
            if mark(("memory", key)) not in there:  # a turn or an observation
                holders = self._git.holding(start, key, self._folder)
                groups |= {group for path in holders if (group := self._group_in(start, path))}
        marks |= {mark(group) for group in groups}
        files: dict[str, bytes | None] = {path: None for one in marks for path in there.get(one, ())}
        for _, path, data in items.documents(queries, groups):
            files[self._folder + path] = data
        return files

    def _group_in(self, commit: str, path: str) -> Group | None:
        found = reading.trusted(path.removeprefix(self._folder), self._git.read(commit, [path]).get(path))
        return documents.group_of(found[0]) if found else None

    def _marked(self, commit: str) -> dict[str, list[str]]:
        """Return the paths of a commit's documents by the hashes in their names."""
        found: dict[str, list[str]] = {}
        for path in self._git.paths(commit, self._folder):
            if digest := mark_of(path.removeprefix(self._folder)):
                found.setdefault(digest, []).append(path)
        return found

    def _commit(self, files: Mapping[str, bytes | None], start: str, parents: Iterable[str]) -> str:
        """Return a commit with some files changed; `start` itself if they are as there."""
        there = self._git.read(start, files)
        changed = {path: data for path, data in files.items() if there.get(path) != data}
        kept = [parent for parent in dict.fromkeys(parents) if parent]
        if not changed and kept in ([start], []):
            return start
        self._outcome.sent += len(changed)
        message = f"{len(changed)} files of {self._name} from {platform.node() or 'a machine'}"
        return self._git.write(changed, start, kept, message)

    # theirs ----------------------------------------------------------------------------------------------------------

    def _merged(self, base: str, ours: str, head: str, seq: int, *, joined: bool) -> tuple[str, int] | None:
        """Apply what others changed; return the commit with both and its last event, None if ours has changed."""
        git, folder = self._git, self._folder
        theirs = git.changed(base, head, folder)
        wanted = {p for p in theirs | git.changed(base, ours, folder) if is_document(p.removeprefix(folder))}
        sides = reading.Sides(git, folder, base, ours, head, self._engine, self._scope)
        sides.read(wanted, theirs)
        result = self._applied(sides, seq) if theirs else Merged()
        if result is None:
            return None
        self._outcome.refused |= sides.refused

        def work(queries: Queries) -> tuple[dict[str, bytes | None], int]:
            subjects = [row["subject"] for row in queries.all("sync.subjects", after=seq)]
            groups, gone = items.groups_of(queries, subjects)
            found = self._files(queries, head, (groups | sides.groups) - sides.left, gone)
            return {path: None for path in sides.others if path not in sides.refused} | found, _latest(queries)

        files, now = self._scope.read(work)
        files = {path: data for path, data in files.items() if path not in sides.refused or data is not None}
        is_behind = joined and git.base(ours, head) == ours
        return self._commit(files, head, [head] if is_behind or not joined else [head, ours]), now

    def _applied(self, sides: "reading.Sides", seq: int) -> Merged | None:
        """Apply the changes of others in one transaction; return None if something to be merged has changed since."""
        lacking = set[str]()

        def work(queries: Queries) -> Merged | None:
            subjects = [row["subject"] for row in queries.all("sync.subjects", after=seq)]
            if not items.groups_of(queries, subjects)[0] <= sides.groups:
                return None
            ours = {one["id"]: one for each in items.read(queries, sides.groups - sides.left).values() for one in each}
            dead = (
                ()
                if sides.base
                else [row["id"] for row in queries.all("sync.forgotten", ids=json.dumps(sorted(sides.theirs)))]
            )
            merged = merge(sides.before, ours, sides.theirs, dead)
            change = QuietChange(queries, self._engine.clock.now(), "")
            count = applying.apply(change, ours, merged)
            change.finish()
            lacking.update(change.lacking)
            self._outcome.received += count
            return merged

        with written_by(sides.author, "memoryd sync"):
            merged = self._scope.write(work)
        if merged:
            self._outcome.remarks += [f"{self._name}: {text}" for text in merged.remarks]
            self._outcome.conflicts += [
                Conflict(workspace=self._name, id=key, until=merged.items[key]["updated_at"])
                for key, lost in merged.lost.items()
                if key in merged.items and merged.items[key]["body"] != lost["body"]
            ]
            self._outcome.remarks += [
                f"{self._name}: {key} was changed on one machine and forgotten on another one: it stays forgotten"
                for key in merged.forgotten
            ]
            self._scope.embed_later(lacking)
        return merged


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let no other process sync this memory during the block; raise StoreBusyError if one does."""
    deadline = time.monotonic() + WAIT
    while not (file := locks.taken(str(path))):
        if time.monotonic() > deadline:
            raise StoreBusyError("Another sync of this memory is running. Repeat it when that has ended.")
        time.sleep(PAUSE)
    with file:
        yield


# state ---------------------------------------------------------------------------------------------------------------


def place(data_dir: Path) -> Path:
    """Return where the repository of a data directory is."""
    return data_dir / "sync" / "repository.git"


def setup(git: Git) -> Setup:
    """Return what `sync init` has noted. Raise InvalidInputError if it never ran."""
    if not git.exists:
        raise InvalidInputError("There is no repository yet. Name one: `memoryd sync init URL` (or a folder).")
    url, branch = git.setting("remote.origin.url"), git.setting("memoryd.branch") or MAIN
    return Setup(url, branch, tuple(git.settings("memoryd.workspace")))


def replaced(git: Git, head: str) -> bool:
    """Return whether the history of a commit was dropped."""
    roots = git.run("log", "--max-parents=0", "--format=%B", head).decode()
    return f"{REPLACES}:" in roots


def folder_of(name: str) -> str:
    """Return the folder of a workspace: its name, if every system accepts that and no other one has it."""
    plain = readable(name)
    return (
        name
        if plain == name == name.casefold() and len(name) <= documents.TITLE
        else f"{plain[:30]} {mark(('', name))}"
    )


def _named(git: Git, head: str) -> list[str]:
    """Return the names of the workspaces that a repository has."""
    if not head:
        return []
    folders = git.run("ls-tree", "-d", "-z", "--name-only", head).decode().split("\0")
    abouts = git.read(head, [f"{folder}/workspace.json" for folder in folders if folder])
    found: list[Any] = []
    for path, data in abouts.items():
        try:
            found.append(json.loads(data).get("name"))
        except (ValueError, AttributeError, RecursionError):
            raise StoreError(f"{path} in the repository is damaged. Restore it from the history.") from None
    return [name for name in found if isinstance(name, str) and name.strip()]


def _demand_version(git: Git, head: str) -> None:
    data = git.read(head, ["memoryd.json"]).get("memoryd.json") if head else b""
    if not data:
        return
    try:
        version = json.loads(data)["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if version != VERSION:
        raise InvalidInputError(
            f"The repository has version {version!r} of the format; this memoryd reads version {VERSION}. Nothing was "
            "changed; update memoryd."
        )


def _state(queries: Queries) -> tuple[str, int]:
    row = queries.one("sync.state")
    return (row["base"], row["seq"]) if row else ("", -1)


def _note(queries: Queries, base: str, seq: int) -> None:
    queries.run("sync.note", base=base, seq=seq)


def _latest(queries: Queries) -> int:
    row = queries.one("sync.latest")
    return int(row["seq"]) if row else 0
