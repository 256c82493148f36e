"""Odd edits of files by hand, in an exported folder and in the repository: each is refused alone or counts."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities
from memoryd.core.graph.entities import NewEntity
from tests.features.sync.kit import Clone, Machine, settle
from tests.features.sync.test_edited import Desk

pytestmark = pytest.mark.slow


def text(change: Callable[[str], str]) -> Callable[[Path], object]:
    """Return an edit of the text of a file."""
    return lambda path: path.write_bytes(change(path.read_bytes().decode()).encode())


def data(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def line(name: str, value: str) -> Callable[[Path], object]:
    """Return an edit that gives a property a value, or removes it."""

    def change(old: str) -> str:
        without = re.sub(rf"^{name}:.*\n(- .*\n)*", "", old, flags=re.MULTILINE)
        return without.replace("---\n", f"---\n{name}: {value}\n", 1) if value else without

    return text(change)


def to_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def clash(path: Path) -> None:
    """Have an entity's file state the id of a memory."""
    key = re.search(r"^id: (.*)$", path.read_text(), re.MULTILINE)
    assert key
    place = path.parents[4] / "default/entities" / path.name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"---\nid: {key[1]}\nname: X\n---\nA person.\n")


EDITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "id removed": (line("id", ""), ""),
    "id empty": (line("id", "''"), ""),
    "id a list": (line("id", "[a, b]"), "id"),
    "id too long": (line("id", "a" * 5_000), "id"),
    "copied": (lambda path: shutil.copy(path, path.with_name(f"Copy of {path.name}")), ""),
    "renamed": (lambda path: path.rename(path.with_name(f"Other {path.name}")), ""),
    "moved": (lambda path: path.rename(path.parents[2] / f"Moved {path.name}"), ""),
    "id of another kind": (clash, "another record"),
    "kind changed": (text(lambda old: old.replace("---\n", "---\nnext_ordinal: 3\n", 1)), "name"),
    "properties broken": (text(lambda old: old.replace("importance: ", "importance: [")), "YAML"),
    "properties a list": (text(lambda old: "---\n- a\n---\n" + old.partition("---\n")[2]), "properties"),
    "properties not ended": (text(lambda old: old.replace("\n---\n", "\n", 1)), ""),
    "Windows line ends": (text(lambda old: old.replace("\n", "\r\n")), ""),
    "byte order mark": (data(lambda old: b"\xef\xbb\xbf" + old), ""),
    "UTF-16": (data(lambda old: old.decode().encode("utf-16")), "UTF-8"),
    "Latin-1": (data(lambda old: old + b"caf\xe9\n"), "UTF-8"),
    "binary": (data(lambda _: bytes(range(256)) * 40), "UTF-8"),
    "a NUL": (data(lambda old: old + b"\0\n"), "U+0000"),
    "a NUL as an escape": (line("name", '"a\\0b"'), "U+0000"),
    "half a character as an escape": (line("name", '"\\uD83D"'), "YAML"),
    "emptied": (data(lambda _: b""), "empty"),
    "text emptied": (text(lambda old: re.sub("^The port .*", "", old, flags=re.MULTILINE)), "empty"),
    "tags as a text": (line("tags", "ops, mine"), ""),
    "an empty tag": (line("tags", "['']"), "tags"),
    "tags as a mapping": (line("tags", "{a: b}"), "tags"),
    "a German time": (line("created_at", "1.2.2026"), "time"),
    "a date": (line("created_at", "2026-02-01"), ""),
    "the first year": (line("created_at", "0001-01-01"), "before the year"),
    "an offset": (line("updated_at", "2027-02-01 10:00:00+05:00"), ""),
    "link": (to_link, "symbolic link"),
    "huge": (text(lambda old: old + "x" * 2_000_000), "at most"),
    "an unfinished merge": (text(lambda old: f"{old}<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"), "unfinished merge"),
    "importance a word": (line("importance", "high"), "importance"),
    "importance no number": (line("importance", ".nan"), "importance"),
    "deleted": (lambda path: path.unlink(), ""),
}
PORTS = [f"The port {number} of staging is {5433 + number}." for number in range(len(EDITS))]
"""The texts of the files, one for each edit."""


def do(files: Callable[[str], Path]) -> None:
    """Edit each file in its own way."""
    for number, (edit, _) in enumerate(EDITS.values()):
        edit(files(f"port {number} "))


def assert_refused(refused: Mapping[str, str], *read: str) -> None:
    """Check that the files that cannot be used are refused alone; those of edits in `read` can be used here."""
    reasons = {f"port {number} ": "" if edit in read else why for number, (edit, (_, why)) in enumerate(EDITS.items())}
    found = {name: [why for path, why in refused.items() if name in path] for name in reasons}
    assert sum(map(len, found.values())) == len(refused)
    for (edit, _), (name, why) in zip(EDITS.items(), reasons.items(), strict=True):
        assert [why in each for each in found[name]] == ([True] if why else []), (edit, found[name])


def assert_kept(texts: Sequence[str]) -> None:
    assert "Bob prefers coffee." in texts
    assert {text for text, (_, why) in zip(PORTS, EDITS.values(), strict=True) if why} <= set(texts)


def test_odd_edits_in_a_folder(engine: Engine, tmp_path: Path) -> None:
    desk = Desk(engine, tmp_path / "notes", *PORTS)
    do(desk.file)
    desk.edit("prefers", "tea", "coffee")
    assert_refused(desk.bring().refused, "link", "UTF-16")  # an import follows no link, and knows this encoding
    assert_kept(desk.texts())


def test_odd_edits_in_the_repository(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    for text in PORTS:
        one.memories.store(text, tags=["ops", "port"])
    one.memories.store("Bob prefers tea.")
    entities.create(one.graph, [NewEntity(name="Ann", type="person", observations=("Tall.",))])
    settle(one, two)
    clone.edit_all(do)
    clone.replace("tea", "coffee", "prefers")
    for machine in (one, two):
        assert_refused(machine.sync().refused)
        assert_kept(machine.texts())
    one.memories.store("Stored since.")
    settle(one, two)
