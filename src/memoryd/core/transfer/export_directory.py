"""The directory of a workspace's journal exports: which files may be imported, and whether paths are shown."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryd.core.workspaces.registry import EXPORTS
from memoryd.errors import InvalidInputError, StoreError


class ExportDirectory:
    """The exports of one workspace, which no other workspace can import."""

    def __init__(self, data_dir: Path, workspace_id: str, *, discreet: bool) -> None:
        """With `discreet`, hide the machine's directories from the caller."""
        self._exports = data_dir / EXPORTS
        self._own = self._exports / workspace_id
        self._discreet = discreet

    def new(self, now: str) -> Path:
        """Return the path for an export made at a time."""
        return self._own / f"memory-backup-{now.translate(str.maketrans('', '', '-:.'))}.jsonl"

    def find(self, file: str) -> Path:
        """Return the path of a file; a name refers to a file of the workspace first.

        Raise InvalidInputError unless the file belongs to the workspace or was copied into the directory.
        """
        exports, own = self._exports.resolve(), self._own.resolve()
        try:
            paths = [(directory / Path(file)).resolve() for directory in (own, exports)]
            path = next(filter(Path.is_file, paths), None)
        except (OSError, ValueError, RuntimeError) as error:
            raise InvalidInputError(
                f"{file[:200]!r} is not a valid path ({type(error).__name__}). Give the name of a file."
            ) from None
        directory = "the server's directory of exports" if self._discreet else str(self._exports)
        if (path or paths[-1]).parent not in (exports, own):
            raise InvalidInputError(
                f"{file[:200]!r} is outside the directory of exports. Copy it into {directory}, and give its name."
            )
        if path is None:
            raise InvalidInputError(f"There is no file {file[:200]!r} in {directory}. Check its name.")
        return path

    def shown(self, path: Path) -> str:
        """Return a path in the form that the caller may see."""
        return path.relative_to(self._exports).as_posix() if self._discreet else str(path)

    @contextmanager
    def discreetly(self) -> Iterator[None]:
        """Remove the directory from errors raised inside, if the caller must not see it."""
        try:
            yield
        except (InvalidInputError, StoreError) as error:
            if not self._discreet:
                raise
            text = str(error)
            for directory in (self._exports, self._exports.resolve()):
                text = text.replace(str(directory), "the directory of exports")
            error.args = (text,)
            raise
