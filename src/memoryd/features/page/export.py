"""The workspace as a file to download: complete, or an error."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from memoryd.core.base.progress import ignore_progress
from memoryd.core.transfer import export
from memoryd.core.transfer.export_formats import export_format
from memoryd.core.transfer.file_names import readable
from memoryd.features.page.visit import View, Visit

TYPES = {"jsonl": "application/x-ndjson", "zip": "application/zip"}
"""The media type of each format; the format is also the suffix of its file."""
BLOCK = 256 * 1024  # bytes in memory at a time


def download(visit: Visit) -> Response:
    """Answer with the workspace as `memoryd export` writes it, or as Markdown in a ZIP file.

    It is first written to a private file, from one snapshot: a failed export is an error, not a torn file.
    """
    form = visit.one_of("format", TYPES, "jsonl")
    with ExitStack() as held:
        private = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="memoryd-export-")))
        path = private / f"{readable(visit.workspace.name)}.{form}"
        if form == "zip":
            export_format("markdown").archive(visit.engine, visit.workspace, path, ignore_progress)
        else:
            export.export(visit.engine, path, [visit.workspace], ignore_progress)
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name)}",
            "Content-Length": str(path.stat().st_size),
        }
        return StreamingResponse(_blocks(path, held.pop_all()), media_type=TYPES[form], headers=headers)


def _blocks(path: Path, held: ExitStack) -> Iterator[bytes]:
    """Yield a file in blocks; it is removed when the iterator ends or is closed."""
    with held, path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


VIEWS = (View("/export", download),)
