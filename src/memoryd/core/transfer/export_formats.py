"""The formats of exports besides memoryd's own, which slices provide."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

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

    numbers: Numbers
    size: int
    """The bytes of the files written."""
    removed: Sequence[Path]
    """The files of an earlier export that had no counterpart any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """How a workspace is written, from one snapshot. Each function raises MemorydError if that fails."""

    folder: Callable[[Engine, Workspace, Path, StepProgress], WrittenFolder]
    """Writes a folder; returns what was written and removed."""
    archive: Callable[[Engine, Workspace, Path, Progress], Numbers]
    """Writes the same as one file; returns what was written."""


def export_format(name: str) -> ExportFormat:
    """Return a format; raise InvalidInputError for an unknown one."""
    known = features.names("exports")
    if name not in known:
        raise InvalidInputError(f"Unknown format {name[:50]!r}. Use one of: {', '.join((OWN, *known))}.")
    found: ExportFormat = features.load("exports", name)
    return found
