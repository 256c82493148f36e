"""The project of a directory: what a file `.memoryd` declares, else the git repository around the directory.

The keys of a project lead to its workspace even if its directory moves: the name in the file, or the first commit of
the repository, which `git` is asked for once.
"""

import os
import shlex
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from memoryd import environment
from memoryd.core.workspaces.registry import COMMIT, PERSONAL, Workspaces, check_name
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.settings import DEFAULT_WORKSPACE

DECLARED = ".memoryd"
"""The name of the file in which a project declares its workspace."""
LONGEST = 4_096  # maximum bytes of such a file, and of the files that link a work tree
GIT_SECONDS = 2.0  # time limit of `git`
BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "HEAD")
"""Where to look for the first commit, the least likely to be changed by a branch with its own history first."""


@dataclass(frozen=True, slots=True)
class WorkspaceChoice:
    """The choice of a workspace: by name, or by project."""

    name: str
    """For a project: the name that its workspace gets if it has to be created."""
    keys: tuple[str, ...] = ()
    """The keys that identify the project, the most reliable first; empty if the name alone counts."""
    found_by: str = ""
    """How it was found for a directory, as part of a sentence; '' if it was given by name."""

    def known(self, workspaces: Workspaces) -> Workspace | None:
        """Return the workspace, which may be archived, or None. Raise InvalidInputError as `ensure` does."""
        if not self.keys:
            found = workspaces.get(self.name)
        elif (found := workspaces.of_keys(self.keys)) is None:
            self._demand_free(workspaces)
        return replace(found, found_by=self.found_by) if found else None

    def ensure(self, workspaces: Workspaces) -> Workspace:
        """Return the workspace, created on first use.

        Raise InvalidInputError if it is archived, or if a file declares one that was created for something else.
        """
        if not self.keys:
            return replace(workspaces.ensure(self.name), found_by=self.found_by)
        if self._is_declared and workspaces.of_keys(self.keys) is None:
            self._demand_free(workspaces)
        return replace(workspaces.ensure_of_keys(self.keys, self.name), found_by=self.found_by)

    def named(self, workspaces: Workspaces) -> str:
        """Return the name of the workspace, or the name that it would get. Raise InvalidInputError as `known` does."""
        if found := self.known(workspaces):
            return found.name
        return workspaces.free(self.name) if self.keys else self.name

    @property
    def is_typed(self) -> bool:
        """Whether somebody has typed the name, in a setting or a file, and may have made a mistake."""
        return self.name not in (DEFAULT_WORKSPACE, PERSONAL) and (not self.found_by or self._is_declared)

    @property
    def _is_declared(self) -> bool:
        return self.keys == declared_keys(self.name)

    def _demand_free(self, workspaces: Workspaces) -> None:
        """Raise InvalidInputError if a file names another's workspace: whoever wrote the file could read it.

        The default one belongs to everything outside of projects, even before it exists.
        """
        if self._is_declared and (self.name == DEFAULT_WORKSPACE or workspaces.get(self.name)):
            raise InvalidInputError(
                f"The workspace {self.name!r} is {self.found_by}, but was created for something else. If that file is "
                f"yours, run `memoryd workspace use {shlex.quote(self.name)}` there; otherwise change the name in it."
            )


@dataclass(frozen=True, slots=True)
class _Repository:
    top: Path
    """Its main work tree, or the bare repository."""
    common: Path
    """The directory that all its work trees share: `.git`, or the bare repository."""


class _NotKnownError(Exception):
    """The first commit is not known; the message says why."""


def detect(directory: Path) -> WorkspaceChoice:
    """Return the workspace of a directory's project, or the default one if it is in no project.

    Raise InvalidInputError if a file does not declare it correctly.
    """
    here = Path(os.path.realpath(directory))
    if not os.path.isdir(here):  # noqa: PTH112 - Path.is_dir raises if access is denied
        return _none(f"there is no directory {_line(directory)}")
    repository = _repository(here)
    upwards = [here, *here.parents, *([repository.top] if repository else ())]
    if (file := _declaration(upwards)) is not None:
        name = _declared(file)
        return WorkspaceChoice(name, declared_keys(name), f"declared by {_line(file)}")
    if repository is None:
        return _none(f"{_line(here)} is in no git repository")
    if repository.top in (Path(os.path.realpath(Path.home())), Path(here.anchor)):
        return _none(f"{_line(here)} is in no git repository other than {_line(repository.top)}")
    return _of_repository(repository)


def _none(why: str) -> WorkspaceChoice:
    return WorkspaceChoice(DEFAULT_WORKSPACE, (), f"the default, as {why}")


def declared_keys(name: str) -> tuple[str, ...]:
    """Return the keys of a project whose file declares this name."""
    return (f"file:{name}",)


def _of_repository(repository: _Repository) -> WorkspaceChoice:
    place, found = f"path:{os.path.normcase(repository.common)}", f"that of the git repository {_line(repository.top)}"
    name = _name(repository.top)
    try:
        first = _first_commit(repository.common, _stamp(repository.common))
    except _NotKnownError as why:
        return WorkspaceChoice(name, (place,), f"{found}, known by its path as {why}")
    return WorkspaceChoice(name, (f"{COMMIT}{first}", place), found)


def _name(top: Path) -> str:
    """Return the name of a repository, which may be bare, such as `shop.git` or `shop/.bare`."""
    own = top.name.removesuffix(".git")
    plain = _line(top.parent.name if not own or own.startswith(".") else own)[:100]
    return plain.strip() or "project"


def _line(path: Path | str) -> str:
    """Return a path as one line without unprintable characters."""
    return "".join(character if character.isprintable() else "?" for character in str(path))


# the file ------------------------------------------------------------------------------------------------------------


def _declaration(directories: Iterable[Path]) -> Path | None:
    """Return the first file that declares a project and cannot have been put there by another user of the machine."""
    for directory in directories:
        file = directory / DECLARED
        try:
            status = file.stat()
        except OSError:
            continue
        if _is_file(file) and _is_trusted(status.st_uid):
            return file
    return None


def _is_trusted(owner: int) -> bool:
    user = os.geteuid() if hasattr(os, "geteuid") else owner
    return owner in (user, 0) or user == 0


def _declared(file: Path) -> str:
    """Return the name of the workspace that a file declares; raise InvalidInputError."""
    try:
        with file.open("rb") as opened:
            data = opened.read(LONGEST + 1)
        content = tomllib.loads(data.decode("utf-8-sig"))
        name: Any = content.pop("workspace")
        check_name(name if isinstance(name, str) and not content and len(data) <= LONGEST else "")
    except (OSError, ValueError, LookupError, RecursionError, InvalidInputError) as error:
        raise InvalidInputError(
            f'{_line(file)} declares no workspace ({error}). Write one line in it: workspace = "NAME".'
        ) from None
    return str(name)


def declare(directory: Path, name: str) -> Path:
    """Write the file in which a directory declares its workspace; return its path. Raise OSError."""
    check_name(name)
    file = directory / DECLARED
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    file.write_text(f'workspace = "{quoted}"\n', encoding="utf-8")
    return file


# the repository ------------------------------------------------------------------------------------------------------


def _repository(here: Path) -> _Repository | None:
    """Return the innermost repository that contains a directory, or None."""
    for top in (here, *here.parents):
        mark = top / ".git"
        if _is_file(mark / "HEAD"):
            return _Repository(top, mark)
        if _is_file(mark) and (found := _linked(top, mark)):
            return found
    return None


def _linked(top: Path, mark: Path) -> _Repository | None:
    """Return the repository that a file `.git` points to: that of a linked work tree, or of a submodule."""
    words = _read(mark).split(b"gitdir:", 1)
    if len(words) < 2:
        return None
    own = Path(os.path.realpath(top / os.fsdecode(words[1].strip())))
    if not _is_file(own / "HEAD"):
        return None
    shared = _read(own / "commondir").strip()
    if not shared:
        return _Repository(top, own)
    common = Path(os.path.realpath(own / os.fsdecode(shared)))
    return _Repository(common.parent if common.name == ".git" else common, common)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises if access is denied


def _read(path: Path) -> bytes:
    """Return the beginning of a small file, or b"" if it is not a regular file (a pipe, say) or cannot be read."""
    try:
        if _is_file(path):
            with path.open("rb") as file:
                return file.read(LONGEST).replace(b"\0", b"")  # no path contains NUL
    except OSError:
        pass
    return b""


# the first commit ----------------------------------------------------------------------------------------------------


def _stamp(common: Path) -> tuple[int, int]:
    """Return a value that changes if another repository is put in the same place."""
    try:
        status = (common / "config").stat()
    except OSError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


@lru_cache(maxsize=256)
def _first_commit(common: Path, _stamp: tuple[int, int]) -> str:
    """Return the first commit of a repository, along first parents; raise _NotKnownError."""
    if _is_file(common / "shallow"):
        raise _NotKnownError("its clone is shallow")
    found = _roots(common, *BRANCHES)
    if len(found) > 1:  # some branch has a history of its own
        found = next(filter(None, (_roots(common, branch) for branch in BRANCHES)), [])
    if not found:
        raise _NotKnownError("git finds no commit in it")
    return found[0]


def _roots(common: Path, *references: str) -> list[str]:
    """Return the first commits of references, of which some may be missing; raise _NotKnownError.

    No program of the repository is run.
    """
    alone: dict[str, Any] = {
        **{name: value for name, value in environment.current().items() if not name.startswith("GIT_")},
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    command = ["git", "-C", str(common), "rev-list", "--first-parent", "--max-parents=0", "--ignore-missing"]
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            [*command, *references, "--"],
            env=alone,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        missing = isinstance(error, FileNotFoundError)
        raise _NotKnownError("git is not installed to read it" if missing else "git does not answer") from None
    if done.returncode:
        raise _NotKnownError("git does not find its first commit")
    return done.stdout.decode().split()
