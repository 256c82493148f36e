"""The types of settings that are parsed from a variable's text: lists of words, and paths; a user's data directory."""

import re
import sys
from pathlib import Path
from typing import Annotated

import platformdirs
from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError

from memoryd import environment
from memoryd.errors import InvalidInputError

TOOLSETS = ("recall", "vault", "projects", "graph", "journal")
"""The names of all toolsets. A wrong one is an error of the settings, before a service or a client starts with it."""

NO_HOME = "This user has no home directory, or HOME is no absolute path."

NO_FILE = r":memory:|[A-Za-z][A-Za-z0-9+.-]+:"
"""A database in memory, or a URL as in SQLite and SQLAlchemy; C: is a drive."""


def _words(value: object) -> object:
    """Split `a, b c` into `("a", "b", "c")`."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


def _toolsets(names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in names if name not in (*TOOLSETS, "all")]
    if unknown or not names:
        raise ValueError(f"Unknown toolset {', '.join(unknown) or '(none)'}. There are: {', '.join(TOOLSETS)}, all.")
    return names


def _path(value: object) -> object:
    if isinstance(value, str) and re.match(NO_FILE, value):
        raise ValueError("it names no file on a disk. Give a path; for a file with such a name begin it with `./`.")
    try:
        return Path(value).expanduser().absolute() if isinstance(value, str) and value else value or None
    except RuntimeError as error:
        raise ValueError(f"{error} Give the full path of the directory.") from None


def as_path(given: str) -> Path:
    """Return the absolute path of a given place. Raise InvalidInputError."""
    try:
        return _AS_PATH.validate_python(given)
    except ValidationError as error:
        raise InvalidInputError(f"{given!r}: {error.errors()[0]['ctx']['error']}") from None


def user_data() -> Path:
    """Return the directory of this user's data. Raise InvalidInputError without a home."""
    if sys.platform == "win32":
        return platformdirs.user_data_path("memoryd", appauthor=False)
    if found := environment.user_data(environment.current()):
        return Path(found)
    raise InvalidInputError(f"{NO_HOME} Set HOME, or MEMORY_DATA_DIR and MEMORY_MODEL_DIR.")


def demand_home() -> None:
    """Raise InvalidInputError for a user without a home; platformdirs would use the account's, or fail."""
    if sys.platform != "win32" and not environment.home(environment.current()):
        raise InvalidInputError(f"{NO_HOME} Set HOME.")


WordList = Annotated[tuple[str, ...], BeforeValidator(_words)]
ToolsetNames = Annotated[WordList, AfterValidator(_toolsets)]
GivenPath = Annotated[Path, BeforeValidator(_path)]
FilePath = Annotated[Path | None, BeforeValidator(_path)]

_AS_PATH = TypeAdapter(GivenPath)
