"""What is in force, and whether all is well: settings, models, disk, database files, words, vectors."""

import difflib
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memoryd import __version__
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import Workspace
from memoryd.models import weights
from memoryd.models.llm import asked
from memoryd.models.loader import Loader
from memoryd.models.providers import Spec
from memoryd.settings import Settings, shown, subprocess_environment, variables
from memoryd.store.base import StoredFile
from memoryd.store.sqlite.store import SqliteStore

LOAD = 60.0  # seconds that a model may take: a provider may have to fetch it
TOLD = 5  # paths that others may read
LITTLE_SPACE = 100 * 2**20  # bytes
ALIKE = 0.8  # how like a known variable an unknown one must be to be taken for a slip

Report = Callable[[str, float], None]
"""Told what is being done and how far that is, 0 to 1; 0 where nobody knows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, and what to do about it."""

    subject: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is in force, by name, and what is wrong."""

    facts: dict[str, Any]
    findings: list[Finding]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class Doctor:
    """Examines what one engine's settings lead to, and repairs what can be repaired without a backup."""

    def __init__(self, engine: Engine, report: Report) -> None:
        self._engine = engine
        self._store = engine.store
        self._settings = engine.settings
        self._report = report
        self._workspaces: list[Workspace] = []
        """The active ones whose file is there; filled by examine()."""
        self._archived: list[Workspace] = []
        """The others whose file is there."""
        self._registered: set[str] = set()
        """The ids of all, archived ones too."""
        self._known = False
        """Whether the registry could be read."""
        self._empty = False
        """Whether nothing was ever stored."""

    def examine(self) -> Diagnosis:
        """Look at everything. Changes nothing, but brings an older database to the present schema."""
        findings = [*slips(subprocess_environment()), *self._models(), *self._registry(), *self._place()]
        findings += self._exposed()
        findings += _guarded("journal", self._journal())
        for place in self._places():
            findings += _guarded(place.name, self._check(place))
        for workspace in self._workspaces:
            findings += _guarded(_named(workspace), self._vectors(workspace))
        return Diagnosis(self._facts(), findings)

    def repair(self) -> None:
        """After examine(): index the words anew, drop damaged vectors, embed what lacks one. Raises MemorydError."""
        if self._settings.read_only:
            raise InvalidInputError("--repair changes the database, which --read-only (MEMORY_READ_ONLY) forbids.")
        for place in self._store.upkeep.files((None, *self._workspaces)):
            self._report(f"indexing the words of {Path(place.name).name}", 0.0)
            self._store.upkeep.reindex(place.inside)
        for workspace in self._workspaces:
            self._damaged(workspace, drop=True)
        self._embed()

    def _embed(self) -> None:
        """Make the vectors that are missing, and let go of other models' then."""
        self._engine.embedding.complete(lambda done: self._report("embedding", done))
        for workspace in self._workspaces:
            self._engine.embedding.retire(workspace)

    # what is in force ------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        chroma = self._engine.chroma
        return {
            "memoryd": __version__,
            "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
            "store": self._described(),
            **({"journal": f"{chroma.product} at {chroma.place} ({chroma.state()})"} if chroma else {}),
            "durability": self._settings.durability,
            "secrets": self._settings.secrets,
            "models": str(weights.place(self._settings)),
            **self._engine.helpers.states(),
            "language model": asked(self._settings),
            "settings": changed(self._settings),
            "files": {place.name: place.size for place in self._places()},
            "workspaces": [dict(self._counts(workspace)) for workspace in self._workspaces],
        }

    def _described(self) -> str:
        try:
            return self._store.upkeep.describe() + (" (nothing is stored yet)" if self._empty else "")
        except StoreError:
            return f"{self._store.place} (out of reach)"

    def _counts(self, workspace: Workspace) -> Iterator[tuple[str, Any]]:
        """How much a workspace holds; of one that cannot be read its name, and a finding elsewhere."""
        yield "name", workspace.name
        try:
            kinds = self._store.read(workspace, lambda q: q.all("doctor.counts"))
            models = self._engine.embedding.sets(workspace)
        except StoreError:
            return
        yield "records", {row["kind"]: row["living"] for row in kinds}
        yield "deleted", sum(row["number"] - row["living"] for row in kinds)
        yield "embedded", models

    # models and disk -------------------------------------------------------------------------------------------------

    def _models(self) -> Iterator[Finding]:
        """The bundled files, where they are in use, and both helpers by loading them."""
        helpers = self._engine.helpers
        self._report("loading the models", 0.0)
        helpers.start()
        specs = (self._settings.embedder, self._settings.reranker_spec)
        broken = self._weights() if any(Spec.parse(spec).bundled for spec in specs) else []
        yield from broken
        yield from _load(self._settings.embedder, helpers.embedder, told=bool(broken))
        yield from _load(self._settings.reranker_spec, helpers.reranker, told=bool(broken))

    def _weights(self) -> list[Finding]:
        directory = weights.place(self._settings)
        states = {weight.path: weights.check(directory, weight) for weight in weights.WEIGHTS}
        return [
            Finding(str(directory / path), f"the model file is {state}", "Run `memoryd models pull`.")
            for path, state in states.items() if state != "verified"
        ]  # fmt: skip

    def _place(self) -> Iterator[Finding]:
        """Whether the database may be written, and has room."""
        path = self._store.placement.path(None)
        if path is None:
            return
        folder = next(parent for parent in path.parents if parent.exists())
        if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            yield Finding(str(path), "this user cannot write it", "Give the user write access to it and its directory.")
        needed = max(LITTLE_SPACE, sum(place.size for place in self._places()))
        if (free := shutil.disk_usage(folder).free) < needed:
            yield Finding(str(folder), f"the disk has {_mib(free)} left", f"Free some; a backup takes {_mib(needed)}.")

    def _exposed(self) -> Iterator[Finding]:
        """What other users of the machine may read, and this one may not close: it was tried by opening the store."""
        files = self._store.layout if isinstance(self._store, SqliteStore) else None
        for path in files.exposed()[-TOLD:] if files else ():
            yield Finding(
                str(path), "other users of this machine may read it, and memoryd cannot change that",
                "Let its owner close it (`chmod go-rwx`), or move it to a file system with rights.",
            )  # fmt: skip

    # database files --------------------------------------------------------------------------------------------------

    def _registry(self) -> Iterator[Finding]:
        """Which workspaces there are; nothing is made where nothing was ever stored."""
        try:
            self._empty = not self._store.placement.exists()
            every = self._engine.workspaces.all()
        except StoreError as error:
            yield _finding(self._store.place, str(error))
            return
        files = {w.id: self._store.placement.path(w) for w in every}
        lost = {key: file for key, file in files.items() if file is not None and not file.exists()}
        self._known, self._registered = not self._empty, {w.id for w in every}
        there = [w for w in every if w.id not in lost]
        self._workspaces = [w for w in there if w.status == "active"]
        self._archived = [w for w in there if w.status != "active"]
        for workspace in (w for w in every if w.id in lost):
            yield Finding(
                _named(workspace), f"its file {lost[workspace.id]} is missing", "Put it back from a copy or a backup."
            )
        for file in self._store.placement.strays(every):
            yield Finding(
                str(file), "the registry knows no workspace in it; a process that dies creating one leaves such a file",
                f"If no workspace is missed, delete it; else put {self._store.place} back from a copy or backup.",
            )  # fmt: skip

    def _journal(self) -> Iterator[Finding]:
        """What keeps from a ChromaDB of somebody else's. One of ours is not started, nor ended, by looking."""
        chroma = self._engine.chroma
        if chroma and chroma.state() == "external":
            chroma.ask("GET", "/api/v2/heartbeat")
        yield from ()

    def _places(self) -> list[StoredFile]:
        """Each file or database that can be looked into."""
        return self._store.upkeep.files((None, *self._workspaces, *self._archived)) if self._known else []

    def _check(self, place: StoredFile) -> Iterator[Finding]:
        """What the store says of one place, and whether its rows have an owner."""
        self._report(f"checking {Path(place.name).name}", 0.0)
        for problem in self._store.upkeep.problems(place.inside):
            yield _finding(place.name, problem.removeprefix(f"{place.name}: "))
        owners = self._store.read(place.inside, lambda q: q.all("doctor.owners"))
        if lost := sum(row["number"] for row in owners if row["workspace_id"] not in self._registered):
            yield Finding(
                place.name, f"{lost} records belong to a workspace that the registry does not know",
                f"Put {self._store.place} back from a copy or a backup.",
            )  # fmt: skip

    # vectors ---------------------------------------------------------------------------------------------------------

    def _vectors(self, workspace: Workspace) -> Iterator[Finding]:
        """Vectors that are damaged, missing, or of another model."""
        subject = _named(workspace)
        if bad := self._damaged(workspace):
            yield Finding(subject, f"{bad} vectors are damaged", "Make them anew with `memoryd doctor --repair`.")
        embedder = self._engine.helpers.embedder.get()
        if embedder is None:
            return
        if missing := self._engine.embedding.unembedded(workspace):
            yield Finding(
                subject, f"{missing} records have no vector of {embedder.name} yet",
                "A running server makes them in the background; `memoryd doctor --repair` makes them now.",
            )  # fmt: skip
        for model, number in self._engine.embedding.sets(workspace).items():
            if model != embedder.name:
                yield Finding(
                    subject, f"{number} records still have vectors of {model}",
                    "Another client may use them. If none does, `memoryd doctor --repair` drops them.",
                )  # fmt: skip

    def _damaged(self, workspace: Workspace, *, drop: bool = False) -> int:
        """How many vectors no search could use."""
        self._report(f"checking the vectors of {workspace.name}", 0.0)
        embedder = self._engine.helpers.embedder.get()
        return self._store.upkeep.damaged(workspace, {embedder.name: embedder.dim} if embedder else {}, drop=drop)


# parts that need no engine -------------------------------------------------------------------------------------------


def _load(spec: str, loader: Loader[Any], *, told: bool) -> Iterator[Finding]:
    """Wait for a helper; `told` says that broken files of the bundled models are known already."""
    loader.get(LOAD)
    if loader.state != "ready" and not (told and Spec.parse(spec).bundled):
        yield _finding(f"model {spec}", loader.reason or f"it is not loaded after {LOAD:.0f} s. Try again later.")


def slips(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that look like one of ours and are none."""
    known = {name for field in Settings.model_fields for name in variables(field)}
    for name in sorted(name for name in environ if name.startswith("MEMORY_") and name not in known):
        if meant := difflib.get_close_matches(name, known, 1, ALIKE):
            yield Finding(name, "memoryd knows no such variable, so it has no effect", f"Did you mean {meant[0]}?")


def changed(settings: Settings) -> dict[str, str]:
    """The settings that are not the default, by their variable; what is secret is only said to be set."""
    return {
        variables(name)[0]: shown(name, getattr(settings, name))
        for name, field in Settings.model_fields.items()
        if getattr(settings, name) != field.get_default(call_default_factory=True)
    }


def _guarded(subject: str, check: Iterable[Finding]) -> list[Finding]:
    """What a check finds, and what kept it from looking further."""
    found: list[Finding] = []
    try:
        found.extend(check)
    except StoreError as error:
        found.append(_finding(subject, str(error)))
    return found


def _finding(subject: str, text: str) -> Finding:
    """From an error's text: its last sentence is the next step, and the subject need not be named twice."""
    problem, _, remedy = text.removeprefix(f"{subject} ").rstrip(".").rpartition(". ")
    if not problem:
        problem, remedy = remedy, "Run `memoryd doctor` again; if this stays, restore a backup"
    return Finding(subject, problem, f"{remedy}.")


def _named(workspace: Workspace) -> str:
    return f"workspace {workspace.name}"


def _mib(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"
