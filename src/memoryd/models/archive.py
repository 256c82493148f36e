"""The bundled models as one archive, for machines without a network: an uncompressed zip of their files."""

import zipfile
import zlib
from pathlib import Path

from memoryd import disk
from memoryd.errors import InvalidInputError
from memoryd.models.weights import LANGUAGES, MULTILINGUAL, WEIGHTS, Weight, files, present, put, sha256
from memoryd.models.workplace import workplace

MOST = sum(weight.size for weight in (*WEIGHTS, *LANGUAGES)) + 65_536
"""Maximum size of an archive in bytes: its files are not compressed, and the rest of the zip is smaller than 64 KiB."""

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)
"""The errors of zipfile for a damaged, encrypted or unsupported archive."""


def export_archive(directory: Path, target: Path) -> None:
    """Write the models of `directory` to `target`, atomically; an existing file is replaced.

    The multilingual model is among them if it is there.

    Raise ModelError if a model is missing or corrupt, OSError if the file cannot be written.
    """
    every = (*WEIGHTS, *(LANGUAGES if present(directory, LANGUAGES) else ()))
    for model in dict.fromkeys(weight.model for weight in every):
        files(directory, model)
    with disk.appearing(target) as written, zipfile.ZipFile(written, "w") as archive:
        for weight in every:
            archive.write(directory / weight.path, weight.path)


def import_archive(file: Path, directory: Path) -> None:
    """Put the models of an archive into `directory`, all files or none, each verified by its digest.

    Only the expected members are read, up to their expected size. Raise InvalidInputError for any other file,
    ModelError if `directory` cannot be written, OSError if `file` cannot be read.
    """
    if file.exists() and not file.is_file():  # reading a pipe or a device may never end
        raise InvalidInputError(f"{file} is not a file. {_NEXT}")
    if file.stat().st_size > MOST:
        raise InvalidInputError(f"{file} is not an archive of the models: it is too large. {_NEXT}")
    with file.open("rb") as opened, workplace(directory) as temporary:
        try:
            with zipfile.ZipFile(opened) as archive:
                more = LANGUAGES if f"{MULTILINGUAL}/" in " ".join(archive.namelist()) else ()
                unpacked = [(weight, _unpack(archive, weight, file, temporary)) for weight in (*WEIGHTS, *more)]
        except _BROKEN as error:
            raise InvalidInputError(f"{file} is not an archive of the models, or damaged: {error}. {_NEXT}") from error
        for weight, whole in unpacked:
            put(whole, directory, weight)


def _unpack(archive: zipfile.ZipFile, weight: Weight, file: Path, temporary: Path) -> Path:
    """Unpack one file of an archive, verify it and return its path. Raise InvalidInputError or one of _BROKEN."""
    try:
        info = archive.getinfo(weight.path)
    except KeyError:
        raise InvalidInputError(f"{file} is not an archive of the models: {weight.path} is missing. {_NEXT}") from None
    unpacked = temporary / f"{weight.model}-{weight.file}"
    if info.compress_type == zipfile.ZIP_STORED and info.file_size == weight.size:
        with archive.open(info) as member, unpacked.open("wb") as out:
            while part := member.read(1 << 20):
                out.write(part)
        if sha256(unpacked) == weight.sha256:
            return unpacked
    raise InvalidInputError(f"{weight.path} in {file} is not the expected file, or is damaged. {_NEXT}")


_NEXT = (
    "Nothing was changed. Create one with `memoryd models export FILE` on a machine where `memoryd models list` says "
    "`verified`."
)
