"""Write a workspace as one ZIP file of Markdown: the files of the folder that `export --format markdown` writes."""

import zipfile
from pathlib import Path

from memoryd import disk
from memoryd.core.base.progress import Progress
from memoryd.core.engine import Engine
from memoryd.core.transfer.export import Numbers
from memoryd.errors import StoreError
from memoryd.features.notes import markdown_export
from memoryd.model import Workspace
from memoryd.store.base import Queries


def export(engine: Engine, workspace: Workspace, path: Path, report: Progress) -> Numbers:
    """Write a workspace to a file, from one snapshot; return what was written. Raise StoreError.

    Equal contents give equal archives: each file in it has the earliest date of the ZIP format.
    """

    def work(queries: Queries) -> Numbers:
        numbers = Numbers()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
            for name, text in markdown_export.files(queries, workspace, numbers, report):
                target.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
        return numbers

    try:
        return engine.store.read(workspace, work)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {disk.cause(error)}") from error
