"""A form with a file: the file is received into a private folder, and removed with the answer."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PureWindowsPath

from anyio import to_thread
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from memoryd.core.transfer.file_names import readable
from memoryd.errors import InvalidInputError, StoreError
from memoryd.text import storable

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
