"""The formats of exports besides memoryd's own, which slices provide."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from memoryd import features
from memoryd.core.base.progress import Progress, StepProgress
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import Numbers
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace

OWN = "jsonl"
"""memoryd's own format, which has everything."""


@dataclass(frozen=True, slots=True)
class WrittenFolder:
    """What an export did to a folder."""

    numbers: dict[str, Numbers]
    """What was written of each workspace, by its name."""
    size: int
    """The bytes of the files written."""
    removed: Sequence[Path]
    """The files of an earlier export that had no counterpart any more."""


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A record that an edited folder changes."""

    what: str
    """`added`, `changed` or `removed`."""
    noun: str
    id: str
    title: str
    diff: Sequence[str]
    """The lines that differ, with `-` before the present ones and `+` before the new ones."""


@dataclass(slots=True)
class FolderChanges:
    """What an edited folder changes in a workspace."""

    workspace: str
    changes: list[FolderChange] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """The files that cannot be used, and why."""
    forgotten: int = 0
    """The records of the folder that were forgotten here, and stay so."""
    unknown: set[str] = field(default_factory=set)
    """The names of properties that are not kept."""
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """How a workspace is written, from one snapshot. Each function raises MemorydError if that fails."""

    folder: Callable[[Engine, Sequence[Workspace], Path, StepProgress], WrittenFolder]
    """Writes a folder with some workspaces; returns what was written and removed."""
    archive: Callable[[Engine, Workspace, Path, Progress], Numbers]
    """Writes the same as one file; returns what was written."""
    is_own: Callable[[Path], bool]
    """Whether a file or folder was written so, or is a part of it."""
    compare: "Compare"


class Compare(Protocol):
    """Reads back what was written, and edited since."""

    def __call__(self, engine: Engine, path: Path, name: str, *, forget: bool, apply: bool) -> list[FolderChanges]:
        """Return what differs in each workspace, or in that with a name; make it so if `apply`.

        Forget what was deleted from the folder if `forget`. Raise InvalidInputError.
        """
        ...


def export_format(name: str) -> ExportFormat:
    """Return a format; raise InvalidInputError for an unknown one."""
    known = features.names("exports")
    if name not in known:
        raise InvalidInputError(f"Unknown format {name[:50]!r}. Use one of: {', '.join((OWN, *known))}.")
    found: ExportFormat = features.load("exports", name)
    return found
