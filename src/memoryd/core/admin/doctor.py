"""The diagnosis of an installation: settings, models, disk, database files, word index, vectors."""

import difflib
import os
import platform
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryd import __version__, features
from memoryd.core.admin.shared_folders import REMEDY, shared_folder
from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import own_home
from memoryd.core.records.spaces import ACROSS
from memoryd.environment import current
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import Workspace
from memoryd.models import weights
from memoryd.models.embedders import MULTILINGUAL
from memoryd.models.llm import described
from memoryd.models.loader import Loader
from memoryd.models.providers import Spec
from memoryd.settings import Settings, shown, variables
from memoryd.store import MANAGED
from memoryd.store.base import StoredFile
from memoryd.store.sqlite.connection import has_contents
from memoryd.store.sqlite.store import SqliteStore
from memoryd.text import counted

LOAD = 60.0  # seconds to wait for a model: a provider may have to download it
LISTED = 5  # maximum paths readable by others that a report lists
LITTLE_SPACE = 100 * 2**20  # bytes
ALIKE = 0.8  # minimum similarity of an unknown variable to a known one to count as a misspelling


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem and its remedy."""

    subject: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The facts of an installation by name, and its problems."""

    facts: dict[str, Any]
    findings: list[Finding]


class Doctor:
    """The diagnosis of an engine's installation, and the repair of what needs no backup."""

    def __init__(self, engine: Engine, report: StepProgress) -> None:
        self._engine = engine
        self._store = engine.store
        self._settings = engine.settings
        self._report = report
        self._workspaces: list[Workspace] = []
        """The active workspaces whose file exists; set by examine()."""
        self._archived: list[Workspace] = []
        """The archived workspaces whose file exists."""
        self._registered: set[str] = set()
        """The ids of all workspaces."""
        self._known = False
        """Whether the registry could be read."""
        self._refused = False
        """Whether the registry could not be read, which is a finding."""
        self._empty = False
        """Whether nothing was ever stored."""

    def examine(self) -> Diagnosis:
        """Examine everything. Nothing is changed, except that an older database is migrated to the current schema."""
        findings = [*slips(current()), *self._models(), *self._registry()]
        findings += _guarded(self._store.place, self._place())
        findings += self._exposed()
        findings += _guarded("journal", self._journal())
        findings += [
            Finding(one.name, one.problem, f"{one.remedy}.") for one in features.states(self._settings) if one.problem
        ]
        for place in self._places():
            findings += _guarded(place.name, self._check(place))
        for workspace in self._workspaces:
            findings += _guarded(_named(workspace), self._vectors(workspace))
        return Diagnosis(self._facts(), findings)

    def repair(self) -> None:
        """After examine(): rebuild the word index, drop damaged vectors, make missing ones. Raise MemorydError."""
        if self._settings.read_only:
            raise InvalidInputError("--repair changes the database, which --read-only (MEMORY_READ_ONLY) forbids.")
        for place in self._store.upkeep.files((None, *self._workspaces)):
            self._report(f"indexing the words of {Path(place.name).name}", 0.0)
            self._store.upkeep.reindex(place.inside)
        for workspace in self._workspaces:
            self._damaged(workspace, drop=True)
        self._embed()

    def _embed(self) -> None:
        """Make the missing vectors, then drop those of other models."""
        self._engine.embedding.complete(lambda done: self._report("embedding", done))
        for workspace in self._workspaces:
            self._engine.embedding.retire(workspace)

    # facts -----------------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        home = own_home(self._engine)
        return {
            "memoryd": __version__,
            "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
            "store": self._described(),
            **({"journal": f"{home.product} at {home.place} ({home.state()})"} if home else {}),
            **{one.name: one.summary for one in features.states(self._settings)},
            "durability": self._settings.durability,
            "secrets": self._settings.secrets,
            "models": str(weights.place(self._settings)),
            **self._engine.helpers.states(),
            "language model": described(self._settings),
            "settings": changed(self._settings),
            "files": {place.name: place.size for place in self._places()},
            "workspaces": [dict(self._counts(workspace)) for workspace in self._workspaces],
        }

    def _described(self) -> str:
        try:
            return self._store.upkeep.describe() + (f" (nothing is stored yet{self._beside()})" if self._empty else "")
        except StoreError:
            return f"{self._store.place} (unreachable)"

    def _beside(self) -> str:
        """Return where clients store with a setting that this terminal may lack."""
        managed = self._settings.data_dir / "postgres"
        if self._settings.database_url or not managed.is_dir():
            return ""
        return f", but in {managed}, which MEMORY_DATABASE_URL={MANAGED} reads"

    def _counts(self, workspace: Workspace) -> Iterator[tuple[str, Any]]:
        """Yield the counts of a workspace; if it cannot be read, only its name (another check reports it)."""
        yield "name", workspace.name
        try:
            kinds = self._store.read(workspace, lambda q: q.all("doctor.counts"))
            models = self._engine.embedding.sets(workspace)
        except StoreError:
            return
        yield "records", {row["kind"]: row["living"] for row in kinds if row["living"]}
        yield "deleted", sum(row["number"] - row["living"] for row in kinds)
        yield "embedded", models

    # models and disk -------------------------------------------------------------------------------------------------

    def _models(self) -> Iterator[Finding]:
        """Check the bundled files, if they are used, and load embedder and reranker."""
        helpers = self._engine.helpers
        self._report("loading the models", 0.0)
        helpers.start()
        specs = (self._settings.embedder, self._settings.reranker_spec)
        broken = self._broken(weights.WEIGHTS) if any(Spec.parse(spec).bundled for spec in specs) else []
        yield from broken
        if helpers.speaks:
            others = self._broken(weights.LANGUAGES, " --all")
            yield from others if len(others) < len(weights.LANGUAGES) else ()  # fetched at the first text that needs it
        yield from _load(self._settings.embedder, helpers.embedder, broken=bool(broken))
        yield from _load(self._settings.reranker_spec, helpers.reranker, broken=bool(broken))

    def _broken(self, of: Iterable[weights.Weight], every: str = "") -> list[Finding]:
        directory = weights.place(self._settings)
        states = {weight.path: weights.check(directory, weight) for weight in of}
        return [
            Finding(str(directory / path), f"the model file is {state}", f"Run `memoryd models pull{every}`.")
            for path, state in states.items()
            if state != "verified"
        ]

    def _place(self) -> Iterator[Finding]:
        """Check that no other machine uses the database, that it is writable, and that the disk has space."""
        path = self._store.placement.path(None)
        if path is None:
            if self._empty:
                self._store.upkeep.problems(None)
            return
        if shared := shared_folder(path):
            yield Finding(str(shared.path), f"the database is in {shared.problem}", REMEDY)
        folder = next(parent for parent in path.parents if os.access(parent, os.F_OK))
        if not folder.is_dir():
            yield Finding(str(folder), "it is a file, but must be a directory", "Choose another place.")
        elif not (self._refused or (os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK)))):
            yield Finding(str(path), "this user cannot write to it", "Give them write access to it and its directory.")
        needed = max(LITTLE_SPACE, sum(place.size for place in self._places()))
        if (free := shutil.disk_usage(folder).free) < needed:
            yield Finding(str(folder), f"the disk has {_mib(free)} left", f"Free space; a backup takes {_mib(needed)}.")

    def _exposed(self) -> Iterator[Finding]:
        """Report paths that other users can read although opening the store has tried to restrict them."""
        files = self._store.layout if isinstance(self._store, SqliteStore) else None
        for path in files.exposed()[-LISTED:] if files and not self._empty else ():
            yield Finding(
                str(path),
                "other users of this machine can read it, and memoryd cannot change that",
                "Let its owner restrict it (`chmod go-rwx`), or move it to a file system with permissions.",
            )

    # database files --------------------------------------------------------------------------------------------------

    def _registry(self) -> Iterator[Finding]:
        """Read the registry and check the files of its workspaces; create nothing."""
        try:
            self._empty = not self._store.placement.exists()
            every = self._engine.workspaces.all()
        except StoreError as error:
            self._refused = True
            yield _finding(self._store.place, str(error))
            return
        files = {w.id: self._store.placement.path(w) for w in every}
        lost = {key: file for key, file in files.items() if file is not None and not has_contents(file)}
        self._known, self._registered = not self._empty, {w.id for w in every}
        there = [w for w in every if w.id not in lost]
        self._workspaces = [w for w in there if w.status == "active"]
        self._archived = [w for w in there if w.status != "active"]
        for workspace in (w for w in every if w.id in lost):
            state = "empty" if lost[workspace.id].exists() else "missing"
            yield Finding(
                _named(workspace), f"its file {lost[workspace.id]} is {state}", "Restore it from a copy or a backup."
            )
        for file in self._store.placement.strays(every):
            yield Finding(
                str(file),
                "no registered workspace uses it; a process that dies while creating one leaves it behind",
                f"If no workspace is missing, delete it; otherwise restore {self._store.place} from a copy or backup.",
            )

    def _journal(self) -> Iterator[Finding]:
        """Check that a database of the journal's own answers if others run it."""
        if home := own_home(self._engine):
            home.check()
        yield from ()

    def _places(self) -> list[StoredFile]:
        """Return the files or databases that can be examined."""
        return self._store.upkeep.files((None, *self._workspaces, *self._archived)) if self._known else []

    def _check(self, place: StoredFile) -> Iterator[Finding]:
        """Check a database, and that its rows belong to known workspaces."""
        self._report(f"checking {Path(place.name).name}", 0.0)
        for problem in self._store.upkeep.problems(place.inside):
            yield _finding(place.name, problem.removeprefix(f"{place.name}: "))
        owners = self._store.read(place.inside, lambda q: q.all("doctor.owners"))
        if lost := sum(row["number"] for row in owners if row["workspace_id"] not in self._registered):
            yield Finding(
                place.name,
                f"{counted(lost, 'record belongs', 'records belong')} to a workspace that is not in the registry",
                f"Restore {self._store.place} from a copy or a backup.",
            )

    # vectors ---------------------------------------------------------------------------------------------------------

    def _vectors(self, workspace: Workspace) -> Iterator[Finding]:
        """Report vectors that are damaged, missing or of another model."""
        subject = _named(workspace)
        if bad := self._damaged(workspace):
            yield Finding(
                subject,
                f"{counted(bad, 'vector is', 'vectors are')} damaged",
                "Recreate them with `memoryd doctor --repair`.",
            )
        helpers, embedder = self._engine.helpers, self._engine.helpers.embedder.get()
        if embedder is None:
            return
        if missing := self._engine.embedding.unembedded(workspace):
            remedy = "A running server makes them in the background; `memoryd doctor --repair` makes them now."
            if helpers.speaks and not weights.present(weights.place(self._settings), weights.LANGUAGES):
                remedy += " For texts that are not English run `memoryd models pull --all` first."
            lacks = counted(missing, "record has", "records have")
            model = "" if helpers.speaks else f" of {embedder.name}"
            yield Finding(subject, f"{lacks} no vector{model} yet", remedy)
        known = {embedder.name, MULTILINGUAL, ACROSS} if helpers.speaks else {embedder.name}
        for model, number in self._engine.embedding.sets(workspace).items():
            if model not in known:
                yield Finding(
                    subject,
                    f"{counted(number, 'record still has', 'records still have')} vectors of {model}",
                    "Another client may use them. If none does, `memoryd doctor --repair` drops them.",
                )

    def _damaged(self, workspace: Workspace, *, drop: bool = False) -> int:
        """Return the number of vectors that a search cannot use; delete them with `drop`."""
        self._report(f"checking the vectors of {workspace.name}", 0.0)
        embedder = self._engine.helpers.embedder.get()
        known = (embedder.name, MULTILINGUAL, ACROSS) if embedder and self._engine.helpers.speaks else ()
        dims = dict.fromkeys(known or (embedder.name,), embedder.dim) if embedder else {}
        return self._store.upkeep.damaged(workspace, dims, drop=drop)


# parts that need no engine -------------------------------------------------------------------------------------------


def _load(spec: str, loader: Loader[Any], *, broken: bool) -> Iterator[Finding]:
    """Wait for a model; with `broken`, the failure of a bundled one is already reported."""
    loader.get(LOAD)
    if loader.state != "ready" and not (broken and Spec.parse(spec).bundled):
        yield _finding(f"model {spec}", loader.reason or f"it is not loaded after {LOAD:.0f} s. Try again later.")


def slips(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield unknown variables that look like misspelled ones of memoryd."""
    known = {name for field in Settings.model_fields for name in variables(field)}
    for name in sorted(environ.keys() - known):
        exact = name.replace("MEMORYD_", "MEMORY_", 1)
        close = difflib.get_close_matches(name, known, 1, ALIKE) if name.startswith("MEMORY_") else []
        if meant := [exact] if exact in known else close:
            yield Finding(name, "memoryd has no such variable, so it has no effect", f"Did you mean {meant[0]}?")


def changed(settings: Settings) -> dict[str, str]:
    """Return the settings that differ from their defaults, by variable; secrets are shown as `(set)`."""
    return {
        variables(name)[0]: shown(name, getattr(settings, name))
        for name, field in Settings.model_fields.items()
        if getattr(settings, name) != field.get_default(call_default_factory=True)
    }


def _guarded(subject: str, check: Iterable[Finding]) -> list[Finding]:
    """Run a check and return its findings; a StoreError becomes the last of them."""
    found: list[Finding] = []
    try:
        found.extend(check)
    except StoreError as error:
        found.append(_finding(subject, str(error)))
    return found


def _finding(subject: str, text: str) -> Finding:
    """Turn an error text into a finding: its last sentence is the remedy; a leading subject is dropped."""
    problem, _, remedy = text.removeprefix(f"{subject} ").rstrip(".").rpartition(". ")
    if not problem:
        problem, remedy = remedy, "Correct that, then run `memoryd doctor` again"
    remedy = remedy.replace("Run `memoryd doctor`, or restore", "Restore")  # which is running
    return Finding(subject, problem, remedy if remedy.endswith(";") else f"{remedy}.")  # SQL to copy


def _named(workspace: Workspace) -> str:
    return f"workspace {workspace.name}"


def _mib(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"
