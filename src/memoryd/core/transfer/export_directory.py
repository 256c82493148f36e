"""The directory of a workspace's journal exports: which files may be imported, and who is shown paths."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryd.errors import InvalidInputError, StoreError


class ExportDirectory:
    """The exports of one workspace, which no other workspace can import."""

    def __init__(self, data_dir: Path, workspace_id: str, *, discreet: bool) -> None:
        """`discreet`: the caller learns nothing of the machine's directories."""
        self._exports = data_dir / "exports"
        self._own = self._exports / workspace_id
        self._discreet = discreet

    def new(self, now: str) -> Path:
        """Return the path of an export that is made at a time."""
        return self._own / f"memory-backup-{now.translate(str.maketrans('', '', '-:.'))}.jsonl"

    def find(self, file: str) -> Path:
        """Return the path of a file, by name that of the workspace first.

        Raise InvalidInputError unless it is one of the workspace or was copied here.
        """
        exports, own = self._exports.resolve(), self._own.resolve()
        try:
            paths = [(directory / Path(file)).resolve() for directory in (own, exports)]
            path = next(filter(Path.is_file, paths), None)
        except (OSError, ValueError, RuntimeError) as error:
            raise InvalidInputError(
                f"{file[:200]!r} is no path ({type(error).__name__}). Give the name of a file."
            ) from None
        directory = "the server's directory of exports" if self._discreet else str(self._exports)
        if (path or paths[-1]).parent not in (exports, own):
            raise InvalidInputError(
                f"{file[:200]!r} is outside of the directory of exports. Copy the file into {directory}, and give its "
                "name."
            )
        if path is None:
            raise InvalidInputError(f"There is no file {file[:200]!r} in {directory}. Check its name.")
        return path

    def shown(self, path: Path) -> str:
        """Return a path as the caller may see it."""
        return path.relative_to(self._exports).as_posix() if self._discreet else str(path)

    @contextmanager
    def discreetly(self) -> Iterator[None]:
        """Take the directory out of the errors that are raised inside, if the caller must not see it."""
        try:
            yield
        except (InvalidInputError, StoreError) as error:
            if not self._discreet:
                raise
            text = str(error)
            for directory in (self._exports, self._exports.resolve()):
                text = text.replace(str(directory), "the directory of exports")
            raise type(error)(text) from error
