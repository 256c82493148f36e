"""Files that cannot be read as they are: in other encodings, of other users. What is skipped is named."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.items import Fault, SourceEntity, SourceMemory, Yielded
from memoryd.features.imports.formats.source import opened
from memoryd.features.imports.formats.table import FORMATS
from tests.features.imports.formats_kit import bring, sample

UNPRIVILEGED = 65534
TEXT = "Grüße aus Köln, 東京 und 🎉."


@contextmanager
def lowered() -> Iterator[None]:
    """Drop the rights of root, who can read every file."""
    user = os.geteuid()
    os.seteuid(user or UNPRIVILEGED)
    try:
        yield
    finally:
        os.seteuid(user)


def read_of(path: Path) -> list[Yielded]:
    with opened(path) as source:
        ((form, part),) = intake.recognize(source, FORMATS.values()).kinds
        return list(form.read(part, frozenset()))


def texts(items: list[Yielded]) -> list[str]:
    return [one.text for one in items if isinstance(one, SourceMemory)]


def faults(items: list[Yielded]) -> list[str]:
    return [one.reason for one in items if isinstance(one, Fault)]


LINES = "".join(json.dumps({"content": f"{TEXT} {number}"}, ensure_ascii=False) + "\n" for number in range(3))
ARRAY = json.dumps([{"content": f"{TEXT} {number}"} for number in range(3)], ensure_ascii=False)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-sig"])
@pytest.mark.parametrize(
    ("name", "content"), [("a.txt", TEXT), ("a.md", f"# Reise\n\n{TEXT}"), ("a.jsonl", LINES), ("a.json", ARRAY)]
)
def test_unicode_is_read_as_it_was_written(name: str, content: str, encoding: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(b"\xfe\xff" + content.encode("utf-16-be") if "be" in encoding else content.encode(encoding))
    items = read_of(file)
    assert texts(items)
    assert all(TEXT in text for text in texts(items))
    assert not faults(items)


@pytest.mark.parametrize(("name", "content"), [("a.txt", "Grüße"), ("a.md", "# Grüße\n\nÄpfel"), ("a.mdc", "Öl")])
def test_a_note_of_another_encoding_is_named_and_left_out(
    name: str, content: str, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(InvalidInputError, match=f"{name} is not UTF-8: .* Save it as UTF-8"):
        bring(engine, tmp_path / name)


def test_the_notes_next_to_it_are_imported(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "old.md").write_bytes("Grüße".encode("cp1252"))
    (tmp_path / "new.md").write_text(TEXT, encoding="utf-8")
    read, _ = bring(engine, tmp_path)
    assert dict(read.numbers) == {"memories": 1}
    assert read.found.faults.number == 1


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", LINES), ("a.json", ARRAY)])
def test_only_the_wrong_object_of_a_json_file_is_skipped(name: str, content: str, tmp_path: Path) -> None:
    spoiled = content.encode().replace("ü".encode(), b"\xfc", 2).replace(b"\xfc", "ü".encode(), 1)
    (tmp_path / name).write_bytes(spoiled)
    items = read_of(tmp_path / name)
    assert len(texts(items)) == 2
    (fault,) = faults(items)
    assert "2: is n" in fault
    assert "UTF-8" in fault


@pytest.mark.parametrize(
    ("given", "kept"), [("Lives in Berlin.", ("Lives in Berlin.",)), (["a", 5, "b"], ("a", "b")), (5, ()), (None, ())]
)
def test_an_observation_that_is_not_a_list_is_a_single_one(given: Any, kept: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"entity": "Ann", "observations": given}))
    (ann,) = read_of(tmp_path / "a.jsonl")
    assert isinstance(ann, SourceEntity)
    assert ann.observations == kept


def test_a_folder_that_may_not_be_read_is_named(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vault/locked").mkdir(parents=True)
    Path("vault/a.md").write_text(TEXT, encoding="utf-8")
    Path("vault/locked/b.md").write_text(TEXT, encoding="utf-8")
    for path, mode in ((tmp_path, 0o755), (Path("vault"), 0o755), (Path("vault/locked"), 0)):
        path.chmod(mode)
    with lowered(), opened(Path("vault")) as source:  # relative: what is above may not be passed through
        pass
    Path("vault/locked").chmod(0o700)
    (form,) = (form for form in FORMATS.values() if form.name == "markdown")
    with intake.staged(engine, source, form, frozenset(), lambda *_: None, by_project=False) as read:
        assert read.found.faults.first == ["a folder cannot be read: vault/locked: Permission denied"]
        assert dict(read.numbers) == {"memories": 1}


FIELDS = {"chatgpt": "content_type", "codex": "role", "gemini": "type"}
"""A field of each whose text says what a message is."""


def mistyped(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: [] if key == name else mistyped(of, name) for key, of in value.items()}
    return [mistyped(one, name) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("form", FIELDS)
def test_a_list_in_place_of_a_word_breaks_nothing(form: str, tmp_path: Path) -> None:
    path = sample(form, tmp_path)
    for file in [path] if path.is_file() else [one for one in path.rglob("*.json*") if one.is_file()]:
        text = file.read_text(encoding="utf-8")
        values = [json.loads(line) for line in text.splitlines()] if file.suffix == ".jsonl" else [json.loads(text)]
        file.write_text("\n".join(json.dumps(mistyped(value, FIELDS[form])) for value in values), encoding="utf-8")
    with opened(path) as source:
        list(FORMATS[form].read(source, frozenset()))
