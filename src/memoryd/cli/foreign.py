"""What `memoryd import` asks of the slice that reads the files of other programs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryd.settings import Settings


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
