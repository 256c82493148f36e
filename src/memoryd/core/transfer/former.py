"""Take over memories in SQLite from before the first release, which no store opens any more."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import export
from memoryd.settings import Settings
from memoryd.store.sqlite.former import copy, former


@contextmanager
def present(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary copy in the present schema if a former memory is there, else the same path."""
    if (layout := former(path)) is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="memoryd-former-") as private:
        file = Path(private) / "memory.db"
        copy(layout, file)
        yield file


@contextmanager
def exported(path: Path, settings: Settings, report: StepProgress) -> Iterator[Path]:
    """Yield the path of an export of all workspaces if a former memory is there, else the same path."""
    with present(path) as file:
        if file == path:
            yield path
            return
        here = settings.model_copy(update={"database_url": None, "db_path": file})
        lines = file.with_name(f"{path.name}.jsonl")
        with Engine(here, fetch=False) as engine:
            export(engine, lines, engine.workspaces.all(), report)
        yield lines
