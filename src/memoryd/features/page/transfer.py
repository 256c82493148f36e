"""A file that is imported, once it was read, compared and shown; and the workspace as a file to download."""

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PureWindowsPath
from urllib.parse import quote

from anyio import to_thread
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import Message

from memoryd.core.base.progress import ignore_progress
from memoryd.core.transfer import export, jsonl, reader, restore
from memoryd.core.transfer.export import NOUNS
from memoryd.core.transfer.export_formats import export_format
from memoryd.core.transfer.file_names import readable
from memoryd.core.transfer.restore import RestoredWorkspace, rehearse
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.table import FORMATS
from memoryd.features.imports.intake import Intake
from memoryd.features.page.answers import changed, toast
from memoryd.features.page.visit import View, Visit
from memoryd.server.html import render
from memoryd.text import storable


@dataclass(frozen=True, slots=True)
class Incoming:
    """What a file contains in one format."""

    title: str
    numbers: Mapping[str, int]
    """The records in it, by noun."""
    new: Callable[[], Counter[str]]
    """Counts those that an import adds."""
    load: Callable[[], list[RestoredWorkspace]]
    first: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The first texts, by noun."""
    remarks: Sequence[str] = ()
    """What is not imported, and why."""


def show_form(visit: Visit) -> Response:
    """Show the form that takes a file."""
    return visit.page("import.html", "memories", formats=FORMATS)


def take(visit: Visit) -> Response:
    """Show what a file contains and what of it is new; or import it, if exactly that was shown and agreed to."""
    if visit.file is None:
        raise InvalidInputError("Choose a file first. Nothing was imported.")
    with visit.file.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with _read(visit, visit.file) as every:
        if visit.text("agreed") != digest:
            found = [(one, one.new()) for one in every]
            return visit.fragment("incoming.html", file=visit.file.name, found=found, digest=digest, nouns=NOUNS)
        done = [outcome for one in every for outcome in one.load()]
    visit.masked.extend(Counter[str]({k: n for one in done for k, n in one.masked.items()}).elements())
    new = sum((one.new for one in done), Counter[str]())
    text = ", ".join(f"{number:,} {noun}" for noun, number in new.items() if number) or "nothing, all of it was there"
    remarks = [remark for one in done for remark in one.remarks[: restore.REMARKS]]
    html = render("imported.html", visit=visit, remarks=remarks, text=text)
    return HTMLResponse(html + toast(visit, f"Imported: {text}."), headers=changed([]))


@contextmanager
def _read(visit: Visit, path: Path) -> Iterator[list[Incoming]]:
    """Read a file in the chosen or the recognized format. Raise InvalidInputError that names the file alone."""
    form = visit.text("format") or None
    if form is not None and form not in FORMATS:
        raise InvalidInputError(f"Unknown format {form[:50]!r}. Nothing was imported.")
    is_own = form is None and jsonl.is_own(path)
    try:
        with ExitStack() as stack:
            yield _own(visit, stack, path) if is_own else _foreign(visit, stack, path, form)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace(f"{path.parent}/", "")) from None


def _own(visit: Visit, stack: ExitStack, path: Path) -> list[Incoming]:
    engine, name = visit.engine, visit.workspace.name
    source = stack.enter_context(jsonl.opened(path))
    parts = stack.enter_context(reader.unpacked(source, engine.secrets, lambda _share: None))
    ((part, target),) = restore.named(source, parts, name)

    def load() -> list[RestoredWorkspace]:
        with restore.telling() as done:
            restore.load_part(engine, path.name, part, target, "merge", ignore_progress, done)
        return done

    new = partial(rehearse, engine, path.name, part, target, lambda _share: None)
    return [Incoming("an export of memoryd", part.numbers, new, load)]


def _foreign(visit: Visit, stack: ExitStack, path: Path, form: str | None) -> list[Incoming]:
    engine = visit.engine
    _, found = stack.enter_context(intake.recognized(path, form))
    every, failures = intake.all_staged(stack, engine, found, ignore_progress, into=visit.workspace.name)
    beside = [str(failure) for failure in failures]
    return [_incoming(visit, read, beside if read is every[0] else []) for read in every]


def _incoming(visit: Visit, read: Intake, beside: Sequence[str]) -> Incoming:
    found = read.found
    remarks = [*beside, *found.faults.first, *found.hints.first]
    remarks += [f"Omitted: {intake.omitted(found)}"] if found.left_out else []
    return Incoming(
        f"{read.form.title} ({read.form.name})",
        read.numbers,
        partial(read.rehearse, visit.engine, ignore_progress),
        partial(read.load, visit.engine, ignore_progress),
        found.first,
        remarks,
    )


# the download --------------------------------------------------------------------------------------------------------


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


# a form with a file, which is received into a private folder and removed with the answer -----------------------------


FILE = 512 * 1024 * 1024  # bytes of a file
FIELDS = 10  # maximum other fields of its form


@asynccontextmanager
async def received(request: Request) -> AsyncIterator[tuple[dict[str, list[str]], Path | None]]:
    """Yield the fields of a form and the path of its file, None without one.

    The file has the name that it had elsewhere, as far as every system accepts that. Raise InvalidInputError if the
    form is malformed or larger than FILE, StoreError if there is no room for it.
    """
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await request.receive()
        size += len(message.get("body", b""))
        if size > FILE:
            raise InvalidInputError(_too_large())
        return message

    if int(request.headers.get("content-length") or 0) > FILE:
        raise InvalidInputError(_too_large())
    try:
        async with Request(request.scope, limited).form(max_files=1, max_fields=FIELDS) as form:
            fields = {name: [value for value in form.getlist(name) if isinstance(value, str)] for name in form}
            files = [value for value in form.values() if isinstance(value, UploadFile)]
            with tempfile.TemporaryDirectory(prefix="memoryd-import-") as folder:
                path = await to_thread.run_sync(_kept, files[0], Path(folder)) if files and files[0].filename else None
                yield fields, path
    except HTTPException as error:
        raise InvalidInputError(f"The form cannot be read: {error.detail}") from None
    except OSError as error:
        raise StoreError(f"The file cannot be received: {error.strerror}. Nothing was imported.") from error


def _too_large() -> str:
    return (
        f"The file is larger than {FILE // 2**20} MB. Nothing was imported; where memoryd runs, `memoryd import FILE` "
        "reads it."
    )


def _kept(file: UploadFile, folder: Path) -> Path:
    path = folder / readable(PureWindowsPath(storable(file.filename or "")).name)
    with path.open("xb") as kept:
        shutil.copyfileobj(file.file, kept)
    return path


VIEWS = (
    View("/import", show_form, right="import"),
    View("/import", take, "POST", "import", takes_file=True),
    View("/export", download),
)
