"""The workspace as a file to download: whole, or an error; never a part."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from memoryd.core.base.progress import ignore_progress
from memoryd.core.transfer import export, markdown_zip
from memoryd.core.transfer.file_names import readable
from memoryd.errors import InvalidInputError
from memoryd.server.ui.visit import View, Visit

TYPES = {"jsonl": "application/x-ndjson", "zip": "application/zip"}
"""The media type of each form, which is the suffix of its file too."""
BLOCK = 256 * 1024  # bytes that are in memory at a time


def download(visit: Visit) -> Response:
    """Answer with the workspace as `memoryd export` writes it, or as Markdown in a ZIP file.

    It is written to a private file first, from one snapshot: what cannot be exported is an error, not a torn file.
    """
    form = visit.text("format", "jsonl")
    if form not in TYPES:
        raise InvalidInputError(f"There is no format {form[:50]!r}. There are: {', '.join(TYPES)}.")
    with ExitStack() as held:
        private = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="memoryd-export-")))
        path = private / f"{readable(visit.workspace.name)}.{form}"
        if form == "zip":
            markdown_zip.export(visit.engine, visit.workspace, path, ignore_progress)
        else:
            export.export(visit.engine, path, [visit.workspace], ignore_progress)
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name)}",
            "Content-Length": str(path.stat().st_size),
        }
        return StreamingResponse(_blocks(path, held.pop_all()), media_type=TYPES[form], headers=headers)


def _blocks(path: Path, held: ExitStack) -> Iterator[bytes]:
    """Yield a file in parts; it is removed when this ends or is let go."""
    with held, path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


VIEWS = (View("/export", download),)
