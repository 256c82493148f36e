"""What a slice may add to memoryd."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from memoryd.settings import Settings

Hook = Literal[
    "admissions", "chores", "client_app", "foreign_import", "gate", "journal", "routes", "session_hook", "state"
]
"""The hooks that name one object."""
HookTable = Literal["exports", "requests", "unlisted"]
"""The hooks that name several objects, each under a name of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The hooks of a slice: texts `module:name`, loaded when they are needed, so that an unused slice costs nothing.

    The statements in a slice's folder `sql` and the templates in its folder `templates` are loaded with all others.
    """

    needs: str = ""
    """The only other slice that it may import."""
    commands: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The commands by the panel of the help that lists them: a function each, or a Typer application."""
    routes: str = ""
    """A function of the `Calls` of a server over HTTP that returns routes."""
    open_paths: tuple[str, ...] = ()
    """The beginnings of the paths that check credentials themselves."""
    requests: Mapping[str, str] = field(default_factory=dict)
    """What is asked of a service, by the purpose of the connection: a class each, made from `Calls`: `Requests`."""
    gate: str = ""
    """A function of `Calls` that returns the `AccessGate` of a server over HTTP; only one slice may have it."""
    admissions: str = ""
    """A function of an engine that returns its `Admissions`; only one slice may have it."""
    client_app: str = ""
    """The `ClientApp` that clients show which show apps; only one slice may have it."""
    exports: Mapping[str, str] = field(default_factory=dict)
    """The formats of exports: an `ExportFormat` each."""
    chores: str = ""
    """A function of an engine that returns `Chore`s of the background of a server."""
    foreign_import: str = ""
    """The `ForeignImport` of `memoryd import`; only one slice may have it."""
    journal: str = ""
    """A function of an engine that returns its `JournalHome`, or None if the settings name no such home."""
    session_hook: str = ""
    """A function of `Settings`, called in a hook when a session of a coding agent starts or ends; it must not wait."""
    state: str = ""
    """A function of `Settings` that returns a `SliceState`, or None if the slice is not in use."""
    unlisted: Mapping[str, str] = field(default_factory=dict)
    """The tools that programs call by name, and no list shows to a model: a `Tool` each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedState:
    """How a memory is shared with other machines."""

    where: str
    """With what, and by which branch."""
    workspaces: tuple[str, ...]
    """The names of the shared workspaces; none means all."""
    at: str
    """The time of the last success; '' before the first."""
    error: str
    refused: Mapping[str, str]
    """The files that were not read, and why."""
    conflicts: Sequence[Mapping[str, str]]
    """The records whose text was changed on two machines, the last first: `workspace`, `id`, and in `until` the time of
    the version with the text that gave way."""


@dataclass(frozen=True, slots=True)
class SliceState:
    """The state of a slice, for `doctor`, the page and `/health`."""

    name: str
    summary: str
    problem: str = ""
    """What is wrong, without a full stop; '' if nothing is."""
    remedy: str = ""
    holds: str = ""
    """Where what was purged may still be, and how it is removed there; one sentence, or ''."""
    shared: SharedState | None = None
    """The same of a slice that shares memories, for the page."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import."""

    include: frozenset[str]
    dry_run: bool
    agreed: bool
    by_project: bool
    vectors: bool
    as_json: bool


@dataclass(frozen=True, slots=True)
class ForeignImport:
    """The import of the files of other programs."""

    formats: Sequence[str]
    """The names of the formats."""
    run: Callable[[Settings, Path, str | None, ImportOptions], None]
    """Shows or imports a source in a given or, with None, recognized format. Raises InvalidInputError."""
