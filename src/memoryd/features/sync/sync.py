"""Sync: write what changed to a commit, fetch, merge and apply what others changed, push.

Each step can be cut off and repeated. The store notes, with the commit of the last merge, the last event that is in it;
what a repository or a backup lacks is written again from there.
"""

import json
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from memoryd import environment
from memoryd.connect import locks
from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.core.workspaces.registry import ACTIVE, PERSONAL
from memoryd.errors import InvalidInputError, StoreBusyError, StoreError
from memoryd.features.sync import applying, folder, items
from memoryd.features.sync.applying import QuietChange
from memoryd.features.sync.conflicts import Conflicts
from memoryd.features.sync.documents import (
    ROOT,
    ROOT_FILE,
    Item,
    by_mark,
    demand_version,
    grave,
    group_of,
    is_document,
    mark,
    mark_of,
    trusted,
)
from memoryd.features.sync.git import Git, QuickerError
from memoryd.features.sync.merging import Items, Merged, merge
from memoryd.features.sync.reading import Sides
from memoryd.model import Workspace
from memoryd.settings import DEFAULT_WORKSPACE, Settings
from memoryd.store.base import Queries
from memoryd.text import counted

TRIES = 20  # pushes that others overtook, and changes that others made meanwhile
REPLACES = "Memoryd-Replaces"
"""The trailer of a commit without history: the last commits that it stands for, the newest first."""
MAIN = "main"
"""The branch that all machines read."""
LISTED = 300  # commits of a dropped history that are listed, for machines that have not seen its end
PRUNED = "refs/memoryd/pruned"
"""The commit without history for which the former one was removed here."""
SAMPLES = ("memories/0.md", "vault/0.md", "replaced/0.md", "entities/0.md", "sessions/0.jsonl", "conflicts/0.jsonl")
"""Paths of each kind of file in the folder of a workspace."""
REFUSED = "memoryd.refused"
"""The setting that has the refused files: paths and reasons."""
WAIT = 60.0  # seconds to wait for another sync of this memory
PAUSE = 0.2  # seconds between attempts


class Conflict(TypedDict):
    """A record that was written on two machines: it has the later text, and the other one as a version."""

    workspace: str
    id: str
    until: str
    """The time with which the history lists the version."""


APPLIED = "Applied before that: {} of others; repeating the sync goes on from there"


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


@dataclass(frozen=True, slots=True)
class SyncPart:
    """A workspace to sync."""

    workspace: Workspace
    folder: str
    keys: Sequence[str]
    """The keys of its projects, on this machine and on others."""
    keys_are_there: bool
    """Whether the repository has all of them."""


class Sync:
    """The sync of a memory with its repository."""

    def __init__(self, engine: Engine, report: StepProgress = lambda _what, _done: None) -> None:
        self._engine, self._report = engine, report
        self.git = Git(place(engine.settings.data_dir))
        self.setup = setup(self.git)

    def run(self, *, drop_history: bool = False) -> SyncReport:
        """Bring both sides together. Raise OfflineError if the repository is not reached, or another MemorydError."""
        self._engine.store.placement.create(None)
        with _alone(place(self._engine.settings.data_dir).with_name("sync.lock")), closing(self.git):
            outcome = SyncReport()
            self.git.unlock()
            for _ in range(TRIES):
                try:
                    head = self._once(outcome)
                except QuickerError:
                    continue
                except StoreError as error:
                    if not outcome.received:
                        raise
                    raise error.after(APPLIED.format(counted(outcome.received, "change", "changes"))) from error
                if drop_history:
                    self._drop_history(head)
                outcome.remarks = list(dict.fromkeys(outcome.remarks))  # each attempt may make the same ones
                return outcome
        raise StoreError("Others pushed again and again. Nothing was lost; repeat `memoryd sync`.")

    def _once(self, outcome: SyncReport) -> str:
        branch, git = self.setup.branch, self.git
        self._report("fetching", 0.0)
        head = git.fetch(MAIN)
        own = head if branch == MAIN else git.fetch(branch)
        if data := git.read(head, [ROOT_FILE]).get(ROOT_FILE):
            demand_version(data, "The repository")
        known = dict(line.split("\t", 1) for line in git.settings(REFUSED))
        outcome.refused = known
        commit = head
        for part in self._parts(head, outcome.remarks):
            commit = WorkspaceSync(self._engine, git, part, outcome).run(commit)
            if outcome.refused != known:
                known = outcome.refused
                git.configure(REFUSED, [f"{path}\t{why}" for path, why in known.items()])
        if commit and commit != own and not (commit == head and branch != MAIN):
            self._report("pushing", 0.9)
            git.push(commit, branch, own, force=branch != MAIN)
            git.run("gc", "--auto", "--quiet")
        root, dropped = replaced(git, head)
        if dropped and git.commit(PRUNED) != root:
            self._prune(root)
        return commit

    def _parts(self, head: str, remarks: list[str]) -> list[SyncPart]:
        """Return the workspaces to sync; those that only the repository has are made.

        They get the keys of projects that it names if all workspaces are synced. Else others could have what this
        machine keeps to itself put into a workspace that they share.
        """
        wanted, registry = self.setup.workspaces, self._engine.workspaces
        there, found = _named(self.git, head, remarks), list[SyncPart]()
        names = {*there, *(one.name for one in registry.all("active"))}
        _demand_plain(self.git, head, names)
        for name in sorted(names, key=lambda name: (name != PERSONAL, name)):  # first: new projects include it
            if not wanted or name in wanted:
                elsewhere = [] if name in (PERSONAL, DEFAULT_WORKSPACE) else there.get(name, [])
                workspace = registry.learn(name, () if wanted else elsewhere)
                if workspace.status == ACTIVE:
                    own = () if name in (PERSONAL, DEFAULT_WORKSPACE) else registry.keys(workspace)
                    keys = folder.shared_keys([*elsewhere, *own])
                    found.append(SyncPart(workspace, folder.folder_of(name), keys, keys_are_there=keys == elsewhere))
        return found

    def _drop_history(self, head: str) -> None:
        """Give the repository the present files alone in place of its history; forget the others here too.

        Before them comes a commit that also has empty files by the hashes of what was deleted, so that no backup brings
        it back.
        """
        if not head or self.setup.branch != MAIN:
            raise InvalidInputError("The history belongs to the main branch; drop it on a machine that pushes to that.")
        _, dropped = replaced(self.git, head)
        listed = [*self.git.run("rev-list", f"--max-count={LISTED}", head).decode().split(), *dropped][:LISTED]
        gone = {path for part in self._parts(head, []) for path in self._deleted(head, f"{part.folder}/")}
        root = self.git.write(dict.fromkeys(gone, b""), head, (), f"Drop the history\n\n{REPLACES}: {' '.join(listed)}")
        top = self.git.commit_tree(head, "The present files", "-p", root)
        self.git.push(top, MAIN, head, force=True)
        for part in self._parts(top, []):
            self._engine.write(part.workspace, lambda queries: _note(queries, top, _state(queries)[1]))
        self._prune(root)

    def _deleted(self, head: str, folder: str) -> set[str]:
        """Return a path without words for each file of a workspace that was deleted."""
        there = by_mark(self.git.paths(head, folder), folder)
        gone = {mark_of(path.removeprefix(folder)) for path in self.git.deleted("", head, folder)} - there.keys()
        return {folder + grave(one) for one in gone - {""}}

    def _prune(self, root: str) -> None:
        """Remove what no branch has any more from the repository here."""
        for ref in ("refs/memoryd/last", "refs/memoryd/writing"):
            self.git.run("update-ref", "-d", ref)
        self.git.run("update-ref", PRUNED, root)
        self.git.run("gc", "--quiet", "--prune=now")


class WorkspaceSync:
    """The sync of one workspace with its folder of the repository."""

    def __init__(self, engine: Engine, git: Git, part: SyncPart, outcome: SyncReport) -> None:
        self._engine, self._git = engine, git
        self._scope = Scope(engine, part.workspace)
        self._part, self._folder, self._outcome = part, f"{part.folder}/", outcome
        self._name = part.workspace.name
        self._conflicts = Conflicts(git, self._folder, engine.secrets, engine.clock.now())

    def run(self, head: str) -> str:
        """Merge with the commit `head`, '' for none; return the commit that has both."""
        for _ in range(TRIES):
            base, seq = self._scope.read(_state)
            base = base if base and self._git.commit(base) else ""
            ours, now = self._written(base, seq if base else None)
            shared = self._git.base(ours, head) if ours and head else ""
            apart = not shared and bool(head)
            if apart and ours and (known := self._git.newest(replaced(self._git, head)[1])):
                shared = self._git.base(ours, known)
            is_ours = not head or shared == head
            merged = ours if is_ours else self._merged(shared, ours, head, seq, now, joined=not apart)
            if merged == ours and (merged, now) != (base, seq):
                self._engine.write(self._scope.workspace, lambda q, to=(merged, now): _note(q, *to))  # type: ignore[misc]
            if merged or not head:
                return merged
        raise StoreError(f"The workspace {self._name!r} is changed too often to be merged. Repeat `memoryd sync`.")

    # ours ------------------------------------------------------------------------------------------------------------

    def _written(self, base: str, seq: int | None) -> tuple[str, int]:
        """Return a commit with what changed here since an event, on top of `base`; and the last event in it."""

        def work(queries: Queries) -> tuple[dict[str, bytes | None], int]:
            latest = _latest(queries)
            return {} if latest == seq else self._files(queries, base, seq), latest

        files, latest = self._scope.read(work)
        if not base or not self._part.keys_are_there:
            files |= self._signs()
        commit, sent = self._commit(files, base, [base])
        outcome, overwritten = self._outcome, sent & self._outcome.refused.keys()
        outcome.sent += len(sent)
        outcome.refused = {path: why for path, why in outcome.refused.items() if path not in overwritten}
        outcome.remarks += [
            f"{path} could not be read, and was overwritten, as its record has changed: its history has the edit"
            for path in sorted(overwritten)
        ]
        return commit, latest

    def _signs(self) -> dict[str, bytes]:
        """Return the files that say what the repository and this folder are."""
        return {**ROOT, self._folder + folder.ABOUT: folder.about(self._name, self._part.keys)}

    def _files(
        self, queries: Queries, start: str, seq: int | None, sides: Sides | None = None, new: Sequence[Item] = ()
    ) -> dict[str, bytes | None]:
        """Return the files of what changed since an event, as they are now, and a commit's superfluous ones as None.

        With the sides of a merge these include what is merged. The conflicts are that commit's, ours, and `new` ones.
        """
        groups, gone = items.all_groups(queries), set[str]()
        if seq is not None:
            groups, gone = items.groups_of(queries, _subjects(queries, seq))
        if sides:
            groups = (groups | sides.groups) - sides.left
        there = by_mark(self._git.paths(start, self._folder), self._folder)
        marks = {mark(("memory", key)) for key in gone}
        for key in gone:
            if mark(("memory", key)) not in there:  # a turn or an observation
                for path, data in self._git.read(start, self._git.holding(start, key, self._folder)).items():
                    groups |= {group_of(one) for one in trusted(path.removeprefix(self._folder), data)[:1]}
        marks |= {mark(group) for group in groups}
        files: dict[str, bytes | None] = {path: None for one in marks for path in there.get(one, ())}
        found = dict[str, bytes | None].fromkeys(marks)
        for group, path, data in items.documents(queries, groups):
            files[self._folder + path] = found[mark(group)] = data
        return files | self._conflicts.files((start, sides.ours if sides else ""), found, new)

    def _commit(self, files: Mapping[str, bytes | None], start: str, parents: Iterable[str]) -> tuple[str, set[str]]:
        """Return a commit with some files changed, and their paths; `start` itself if they are as there."""
        there = self._git.read(start, files)
        changed = {path: data for path, data in files.items() if there.get(path) != data}
        kept = [parent for parent in dict.fromkeys(parents) if parent]
        if not changed and kept in ([start], []):
            return start, set()
        message = f"{len(changed)} files of {self._name} from {platform.node() or 'a machine'}"
        return self._git.write(changed, start, kept, message), set(changed)

    # theirs ----------------------------------------------------------------------------------------------------------

    def _merged(self, base: str, ours: str, head: str, last: int, seq: int, *, joined: bool) -> str:
        """Apply what others changed and note that, in one transaction; return the commit with both, '' to repeat."""
        git, below = self._git, self._folder
        refused = {path for path in self._outcome.refused if path.startswith(below)}
        theirs = git.changed(base, head, below) | refused
        wanted = {p for p in theirs | git.changed(base, ours, below) if is_document(p.removeprefix(below))}
        sides = Sides(git, below, base, ours, head, self._engine, self._scope)
        sides.read(wanted, theirs, refused)
        others = self._conflicts.received(ours, head, theirs)
        parents = [head] if not joined or git.base(ours, head) == ours else [head, ours]

        def work(queries: Queries) -> tuple[str, Merged, SyncReport, set[str]]:
            found, result, more = SyncReport(), Merged(), list[Item]()
            change = QuietChange(queries, self._engine.clock.now(), "")
            if sides.is_changed:
                changed, _ = items.groups_of(queries, _subjects(queries, seq))  # here, since it was written
                if not changed <= sides.groups:
                    return "", result, found, change.lacking
                ours_now = self._ours(queries, sides)
                result = merge(sides.before, ours_now, sides.theirs, self._dead(queries, sides, last))
                more = self._conflicts.moved((head, ours), result.united())
                found.received = applying.apply(change, ours_now, result, [*others, *more])
                change.finish()
            files = self._both(queries, sides, head, seq, [*more, *result.conflicts()])
            commit, sent = self._commit(files, head, parents)
            found.sent = len(sent)
            _note(queries, commit, _latest(queries))
            return commit, result, found, change.lacking

        with written_by(sides.author, "memoryd sync"):
            commit, result, found, lacking = self._scope.write(work)
        if commit:
            known = {path: why for path, why in self._outcome.refused.items() if path not in theirs}
            self._outcome.refused = known | sides.refused
            self._tell(found, result, sides.remarks)
            self._scope.embed_later(lacking)
        return commit

    def _ours(self, queries: Queries, sides: Sides) -> Items:
        """Return what is merged as it is here, with the holders of names that others have given."""
        groups = (sides.groups | items.holders(queries, sides.theirs.values())) - sides.left
        return {one["id"]: one for each in items.read(queries, groups).values() for one in each}

    def _dead(self, queries: Queries, sides: Sides, last: int) -> list[str]:
        """Return what was forgotten here and no common state tells of; with such a state, after the event `last`.

        The other side may know what never was sent from here: a machine that was cloned from this one has sent it.
        """
        asked = sides.theirs.keys() & set(_subjects(queries, last)) if sides.base else sides.theirs.keys()
        return [row["id"] for row in queries.all("sync.forgotten", ids=json.dumps(sorted(asked)))]

    def _both(
        self, queries: Queries, sides: Sides, head: str, seq: int, new: Sequence[Item]
    ) -> dict[str, bytes | None]:
        """Return the files that the merge changes on top of theirs; those that were refused stay."""
        found = {**dict.fromkeys(sides.others), **self._signs(), **self._files(queries, head, seq, sides, new)}
        return {path: data for path, data in found.items() if path not in sides.refused or data is not None}

    def _tell(self, found: SyncReport, result: Merged, remarks: Iterable[str]) -> None:
        outcome = self._outcome
        outcome.sent += found.sent
        outcome.received += found.received
        outcome.remarks += [*remarks, *(f"{self._name}: {text}" for text in result.remarks)]
        outcome.remarks += [
            f"{self._name}: {key} was changed on one machine and forgotten on another one: it stays forgotten"
            for key in result.forgotten
        ]
        until = {one["id"]: one["until"] for one in result.conflicts()}
        outcome.conflicts += [Conflict(workspace=self._name, id=key, until=at) for key, at in until.items()]


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


def sync_later(settings: Settings) -> None:
    """Start `memoryd sync` in the background if it is set up, for a hook; its result is in the state."""
    if settings.read_only or not Git(place(settings.data_dir)).exists:
        return
    command, none = [sys.executable, "-m", "memoryd", "sync"], subprocess.DEVNULL
    environ = environment.at(settings.data_dir, settings.db_path)
    started = subprocess.Popen(  # noqa: S603 - fixed arguments
        command, stdin=none, stdout=none, stderr=none, start_new_session=True, env=environ
    )
    threading.Thread(target=started.wait, daemon=True).start()  # a service would keep it as a zombie


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


def replaced(git: Git, head: str) -> tuple[str, list[str]]:
    """Return the first commit of a history, and the commits of a dropped one that it stands for, the newest first."""
    text = git.run("log", "-1", "--max-parents=0", "--format=%H%n%B", head).decode(errors="replace") if head else ""
    listed = [line.split()[1:] for line in text.split("\n") if line.startswith(f"{REPLACES}: ")]
    return text.partition("\n")[0], [one for each in listed for one in each]


def _named(git: Git, head: str, remarks: list[str]) -> dict[str, list[str]]:
    """Return the keys of projects of each workspace that a repository has; add what names none to the remarks."""
    found = dict[str, list[str]]()
    for path, data in git.read(head, [f"{place}/{folder.ABOUT}" for place in git.folders(head)]).items():
        try:
            name, keys = folder.workspace_in(data, path)
            found[name] = keys
        except InvalidInputError as error:
            remarks.append(str(error).rstrip("."))
    return found


def _demand_plain(git: Git, head: str, names: Iterable[str]) -> None:
    """Raise InvalidInputError if a filter encrypts files of workspaces where they are checked out: here none is."""
    paths = [f"{folder.folder_of(name)}/{path}" for name in names for path in SAMPLES]
    if found := git.filtered(head, paths):
        raise InvalidInputError(
            f"The repository passes files of the memory through the filter {found!r}, as git-crypt does: that works in "
            "a person's clone alone, and memoryd would push them as they are. Nothing was pushed. See "
            "docs/two-machines.md for what encrypts; `-filter` in .gitattributes exempts a folder."
        )


def _state(queries: Queries) -> tuple[str, int]:
    row = queries.one("sync.state")
    return (row["base"], row["seq"]) if row else ("", -1)


def _note(queries: Queries, base: str, seq: int) -> None:
    queries.run("sync.note", base=base, seq=seq)


def _subjects(queries: Queries, seq: int) -> list[str]:
    return [row["subject"] for row in queries.all("sync.subjects", after=seq)]


def _latest(queries: Queries) -> int:
    row = queries.one("sync.latest")
    return int(row["seq"]) if row else 0
