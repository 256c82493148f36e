"""Memories from before the first release: their schemas are not known any more, but their tables still are."""

from contextlib import closing, suppress
from pathlib import Path

from memoryd.store.sql import migrations
from memoryd.store.sqlite.file import SqliteFile, schema_version
from memoryd.store.sqlite.layout import REGISTRY, DataDirectory, Layout, SingleFile


def former(path: Path) -> Layout | None:
    """Return the layout of a data directory or a file of a former schema; None for anything else."""
    layout: Layout = SingleFile(path)
    with suppress(PermissionError):
        layout = DataDirectory(path) if (path / REGISTRY).is_file() else layout
    version = schema_version(layout.path(None))
    return layout if version is not None and version < min(migrations("sqlite")) else None


def copy(layout: Layout, target: Path) -> None:
    """Copy everything except tokens and people into a new file of the present schema. Raise StoreError."""
    with closing(SqliteFile(target, "OFF")) as whole:
        whole.open(create=True)
        for path in (*layout.others(), layout.path(None)):
            for _ in whole.copy_from(path):
                pass
        whole.write(None, lambda q: q.run("placement.follow"))
