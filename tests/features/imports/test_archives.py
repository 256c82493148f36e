"""Zip archives: bombs are refused before anything is unpacked, honest ones are read however well they compress."""

import copy
import json
import os
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.source import SUSPECT, opened
from memoryd.features.imports.formats.table import FORMATS
from tests.features.imports.formats_kit import bring, sample

MB = 1 << 20


def zipped(path: Path, sizes: Sequence[float], noise: float = 0, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write notes of some sizes in MB, beside a picture that cannot be compressed."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for number, size in enumerate(sizes):
            archive.writestr(f"notes/{number}.md", b"word word word\n" * int(size * MB / 15))
        archive.writestr("picture.png", os.urandom(int(noise * MB)))
    return path


@pytest.mark.parametrize(
    ("sizes", "noise"),
    [
        ([20], 0),
        ([15] * 6, 0),  # none is suspicious alone
        ([0.05] * 1_000, 0),
        ([15] * 6, 0.2),
    ],
    ids=["one", "several", "many", "beside a picture"],
)
@pytest.mark.slow
def test_a_zip_bomb_is_refused_before_it_is_read(sizes: list[float], noise: float, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="zip bomb"), opened(zipped(tmp_path / "notes.zip", sizes, noise)):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_python_unpacks_at_once_is_refused_whatever_size_it_claims(method: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(zipped(tmp_path / "notes.zip", [1], 0, method), "a") as archive:
        archive.infolist()[0].file_size = 100
        archive.writestr("note.md", "Makes the list of members be written.")
    with pytest.raises(InvalidInputError, match="rare method"), opened(tmp_path / "notes.zip"):
        pass


def test_a_zip_bomb_whose_members_overlap_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(zipped(tmp_path / "notes.zip", [10]), "a") as archive:
        for number in range(6):  # each claims the same bytes, and that they were compressed as honest ones are
            again = copy.copy(archive.infolist()[0])
            again.filename, again.compress_size = f"again/{number}.md", again.file_size // 10
            archive.filelist.append(again)
        archive.writestr("note.md", "Makes the list of members be written.")
    with pytest.raises(InvalidInputError, match="zip bomb"), opened(tmp_path / "notes.zip"):
        pass


def test_an_archive_within_an_archive_stays_closed(engine: Engine, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as outer:
        outer.write(zipped(tmp_path / "inner.zip", [20]), "inner.zip")
        outer.writestr("note.md", "A note.")
    read, _ = bring(engine, tmp_path / "outer.zip", "markdown")
    assert dict(read.numbers) == {"memories": 1}


@pytest.mark.slow
def test_a_big_export_is_no_zip_bomb(tmp_path: Path) -> None:
    chat = json.loads((sample("chatgpt", tmp_path) / "conversations.json").read_text(encoding="utf-8"))[0]
    some = random.Random(1)
    titles = (" ".join(f"The same words again {some.getrandbits(20):x}" for _ in range(100)) for _ in range(8_000))
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([chat | {"title": title} for title in titles]))
        (member,) = archive.infolist()
    assert member.file_size > SUSPECT
    assert member.file_size > 8 * member.compress_size
    with opened(path) as source:
        assert FORMATS["chatgpt"].files(source)
        assert next(iter(FORMATS["chatgpt"].read(source, frozenset())))
