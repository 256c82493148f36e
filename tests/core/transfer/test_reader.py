"""A fault in a file is reported and leaves everything unchanged; any valid text comes back."""

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.core.engine import Engine
from memoryd.core.graph import entities
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import find
from memoryd.core.transfer import jsonl, restore
from memoryd.core.transfer.jsonl import ImportMode
from memoryd.errors import InvalidInputError, StoreError
from memoryd.store import rows
from memoryd.store.columns import EXPORTED
from tests.core.exports_kit import (
    WORKSPACE,
    Lines,
    about,
    detail,
    entity,
    event,
    everything,
    export,
    load,
    opened,
    record,
    relation,
    values,
    vector,
    written,
)
from tests.core.kit import memories
from tests.store.kit import NOW


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, bytes]]:
    """An engine that no bad file may change, and its export."""
    home = tmp_path_factory.mktemp("standing")
    with opened(home) as engine:
        everything(engine)
        yield engine, export(engine, home / "before")


GOOD = [record(), detail()]
WRONG: list[tuple[Lines, str]] = [
    ([record(body=7)], "Line 3 .* has a body that is not a text"),
    ([record(kind="thing")], "Line 3 .* has a kind that is not one of entity, interaction"),
    ([record(kind=["memory"])], "Line 3 .* has a kind that is not one of"),
    ([record(tags="[]")], "Line 3 .* has a tags that is not a list of texts"),
    ([record(created_at="yesterday")], "Line 3 .* has a created_at that is not a time"),
    ([record(created_at="2026-13-04T05:06:07.000Z")], "Line 3 .* has a created_at that .* is not an ISO 8601 time"),
    ([record(created_at=None)], "Line 3 .* has a created_at that is not a text"),
    ([record(scope="s1")], "Line 3 .* has a scope that "),
    ([record(color="red")], "Line 3 .* has 'color', which records do not have"),
    ([{"records": {"id": "1"}}], "Line 3 .* lacks kind"),
    ([{"records": []}], "Line 3 .* has records that are not an object"),
    ([{"rows": {}}], "Line 3 .* is neither a workspace nor a row of one"),
    ([{}], "Line 3 .* is neither a workspace nor a row of one"),
    ([record() | detail()], "Line 3 .* is neither a workspace nor a row of one"),
    ([record(body="\ud800")], r"Line 3 .* contains U\+D800"),
    ([record(name="\0")], r"Line 3 .* contains U\+0000"),
    ([record(), record()], "Line 4 .* has records out of order .by id., or for the second time"),
    ([record("2"), record("1")], "Line 4 .* has records out of order .by id"),
    ([record(" ")], "Line 3 .* has a id that has 1 characters"),
    ([*GOOD, record("2")], "Line 5 .* has records, which must come before memory_details"),
    ([record()], "has 1 records of the kind memory in the workspace 'default', but 0 memory_details"),
    ([detail()], "Line 3 .* refers to the memory '1', which the workspace does not have"),
    ([record(), detail(importance=2)], "Line 4 .* has a importance that is not a number from 0 to 1"),
    ([record(), detail(access_count=-1)], "Line 4 .* has a access_count that is not an integer"),
    ([record(), detail(access_count=True)], "Line 4 .* has a access_count that is not an integer"),
    ([record(), detail(access_count=1 << 31)], "Line 4 .* has a access_count that is not an integer"),
    ([record(), detail(superseded_by="x")], "Line 4 .* refers to the living memory 'x'"),
    ([record(deleted_at=NOW), detail()], "has deleted memories in the workspace 'default' that nothing has replaced"),
    (entity("1", deleted_at=NOW), "Line 3 .* has a deleted record that is not a memory"),
    ([record(kind="entity")], "Line 3 .* has an entity without a name"),
    ([record("1", name="k"), record("2", name="k"), detail("1"), detail("2")], "has 'the memory k' twice"),
    (
        [*entity("1"), *about("1"), relation("1", "1", "1"), relation("2", "1", "1")],
        "has 'the relation r 1 1' twice",
    ),
    ([*entity("1"), *about("1"), relation("1", "1", "2")], "Line 5 .* refers to the entity '2'"),
    (
        [*entity("1"), *about("1"), relation("1", "1", "1", deleted_at=NOW)],
        "Line 5 .* has a deleted relation",
    ),
    (
        [record(kind="observation"), {"observation_details": {"id": "1", "entity_id": "1", "ordinal": 0}}],
        "Line 4 .* refers to the entity '1'",
    ),
    (
        [record(kind="interaction"), {"interaction_details": {"id": "1", "thought_at": 9, "response_at": 2}}],
        "Line 4 .* response begins before its thought",
    ),
    ([*GOOD, {"perspectives": {"name": "own", "template": "no field"}}], "Line 5 .* cannot be used: .*must name"),
    ([*GOOD, vector(b"12")], "Line 5 .* has a vector of 2 bytes, which are not 2 float16 numbers"),
    ([*GOOD, vector(np.array([2, 0], np.float16).tobytes())], "Line 5 .* has a vector whose length is not 1"),
    (
        [*GOOD, vector(np.array([np.nan, 0], np.float16).tobytes())],
        "Line 5 .* has a vector whose length is not 1",
    ),
    ([*GOOD, {"embeddings": vector(b"")["embeddings"] | {"vector": "ü"}}], "Line 5 .* has a vector that is not base64"),
    (
        [*GOOD, {"embeddings": vector(b"1234")["embeddings"] | {"id": "9"}}],
        "Line 5 .* has a vector whose length",
    ),
    ([event("2026-03-04T05:06:07.001Z"), event(NOW)], "Line 4 .* has events out of order .by at"),
    ([WORKSPACE], "Line 3 .* has the workspace 'default' for the second time"),
    ([{"workspace": {"name": "x"}}], "Line 3 .* has a workspace that must have exactly name, description"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "reason", "mode"),
    [(*wrong, mode) for wrong, mode in zip(WRONG, cycle(["merge", "replace"]), strict=False)],
    ids=[reason for _, reason in WRONG],
)
def test_a_bad_line_is_named_and_leaves_everything_unchanged(
    standing: tuple[Engine, bytes], file: Path, lines: Lines, reason: str, mode: ImportMode
) -> None:
    engine, before = standing
    written(file, [WORKSPACE, *lines])
    with pytest.raises(InvalidInputError, match=reason):
        load(engine, file, mode)
    assert export(engine, file.with_name("after")) == before


BROKEN: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty", lambda _: b"", "is not an export of memoryd"),
    ("blank", lambda _: b"\n\n", "is not an export of memoryd"),
    ("binary", lambda _: b"\x7fELF\0\0\n", "is not UTF-8 text"),
    ("a database", lambda _: b"SQLite format 3\0", "is a database"),
    ("torn", lambda whole: whole[:-200], "is not JSON .* it may be truncated.*; export or copy it again"),
    ("without its end", lambda whole: b"\n".join(whole.splitlines()[:-1]) + b"\n", "its end is missing"),
    ("a line lost", lambda whole: b"\n".join(whole.splitlines()[:-2] + whole.splitlines()[-1:]), "does not match"),
    ("a text changed", lambda whole: whole.replace(b"yeast", b"water"), "does not match .*; export or copy it again"),
    ("a line more", lambda whole: whole + b"{}\n", "follows the end"),
    ("newer", lambda whole: whole.replace(b'"version":2', b'"version":3', 1), "has version 3; .* update memoryd"),
    ("not UTF-8", lambda whole: whole.replace(b"yeast", b"\xff", 1), "is not UTF-8"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "reason", "mode"),
    [(*broken[1:], mode) for broken, mode in zip(BROKEN, cycle(["merge", "replace"]), strict=False)],
    ids=[one[0] for one in BROKEN],
)
def test_an_incomplete_file_is_refused(
    standing: tuple[Engine, bytes], file: Path, spoil: Callable[[bytes], bytes], reason: str, mode: ImportMode
) -> None:
    engine, before = standing
    file.write_bytes(spoil(before))
    with pytest.raises(InvalidInputError, match=reason):
        load(engine, file, mode)
    assert export(engine, file.with_name("after")) == before


def test_a_name_that_no_workspace_may_have_is_refused_before_anything_is_written(engine: Engine, file: Path) -> None:
    bad = {"workspace": WORKSPACE["workspace"] | {"name": "a\nb"}}
    written(file, [WORKSPACE, *GOOD, bad])
    with pytest.raises(InvalidInputError, match="is not a valid workspace name"):
        load(engine, file)
    assert engine.workspaces.all() == []


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_file_that_grows_while_it_is_read_is_reported(
    engine: Engine, other: Engine, file: Path, mode: ImportMode
) -> None:
    place = engine.workspaces.ensure("default")
    events = [{"at": NOW, "operation": "o", "subject": None}] * (2 * jsonl.TICK)
    engine.store.write(place, lambda q: rows.put(q, "events", events))
    export(engine, file)
    memories(other).store("mine")

    def grow(what: str, _done: float) -> None:
        assert what == "checking"
        with file.open("ab") as more:
            more.write(b"\n")

    with jsonl.opened(file) as source, pytest.raises(InvalidInputError, match="changed while it was read"):
        restore.load(other, source, None, mode, grow)
    assert memories(other).stats()["total"] == 1


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_file_that_was_read_may_change(engine: Engine, other: Engine, file: Path, mode: ImportMode) -> None:
    everything(engine)
    before = export(engine, file)

    def spoil(what: str, _done: float) -> None:
        if what == "importing default":
            file.write_bytes(b"")

    with jsonl.opened(file) as source:
        restore.load(other, source, None, mode, spoil)
    assert export(other, file.with_name("after")) == before


def test_a_failed_replacement_leaves_no_workspace_behind(engine: Engine, file: Path) -> None:
    memories(engine).store("mine")
    export(engine, file)

    def fail(what: str, done: float) -> None:
        if what == "importing new" and done > 0.5:
            raise StoreError("the disk is full")

    with jsonl.opened(file) as source, pytest.raises(StoreError, match="the disk is full"):
        restore.load(engine, source, "new", "replace", fail)
    assert [workspace.name for workspace in engine.workspaces.all()] == ["default"]


def test_an_id_that_means_something_else_here_is_refused(engine: Engine, file: Path) -> None:
    graph = Graph(Scope(engine, engine.workspaces.ensure("default")))
    (made,) = entities.create(graph, [NewEntity(name="Ann", type="x")])["result"]
    written(file, [WORKSPACE, record(made["id"]), detail(made["id"])])
    with pytest.raises(InvalidInputError, match="is a entity in the workspace, but a memory in"):
        load(engine, file)


# any text ------------------------------------------------------------------------------------------------------------


def is_no_secret(text: str) -> bool:
    """Return whether a text comes back unchanged: `000A^a` alone looks like a password, and is masked."""
    return not any(find(text))


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20).filter(is_no_secret)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).filter(
    lambda name: bool(name.strip()) and is_no_secret(name)
)
TIMES = st.integers(0, 999).map(lambda milliseconds: f"2026-03-04T05:06:07.{milliseconds:03}Z")
MEMORIES = st.lists(
    st.tuples(NAMES, TEXTS, st.lists(TEXTS, max_size=2), TIMES, st.floats(0, 1)),
    max_size=4,
    unique_by=lambda one: one[0],
)
PEOPLE = st.lists(st.tuples(NAMES, TEXTS, st.lists(TEXTS, max_size=3)), max_size=3, unique_by=lambda one: one[0])
HAPPENED = st.lists(st.tuples(TIMES, TEXTS, st.none() | TEXTS), max_size=4)


@pytest.mark.slow
@given(MEMORIES, PEOPLE, HAPPENED, st.sampled_from(["merge", "replace"]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back(
    standing: tuple[Engine, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    texts: Any,
    people: Any,
    events: Any,
    mode: ImportMode,
) -> None:
    engine, place = standing[0], tmp_path_factory.mktemp("any")
    lines = dict[tuple[Any, ...], dict[str, Any]]()
    for name, body, tags, at, importance in texts:
        key = f"m {name}"
        lines["records", key] = record(key, name=name, body=body, tags=tags, updated_at=at)
        lines["memory_details", key] = detail(key, importance=importance)
    for name, kind, contents in people:
        key = f"e {name}"
        lines["records", key] = record(key, kind="entity", name=name, type=kind)
        row = {"id": key, "summary_updated_at": None, "next_ordinal": 3}
        lines["entity_details", key] = {"entity_details": row}
        lines["relations", key] = relation(key, key, key)
        for ordinal, content in enumerate(contents):
            of_it = f"o {name} {ordinal}"
            lines["records", of_it] = record(of_it, kind="observation", name=name, body=content)
            place_of_it = {"id": of_it, "entity_id": key, "ordinal": ordinal}
            lines["observation_details", of_it] = {"observation_details": place_of_it}
    order = list(EXPORTED)
    lines_of_it = [lines[key] for key in sorted(lines, key=lambda key: (order.index(key[0]), key[1]))]
    happened = [
        {"events": {"at": at, "operation": what, "subject": to}} for at, what, to in sorted(events, key=lambda e: e[0])
    ]
    name = f"any {place.name}"
    head = {"workspace": WORKSPACE["workspace"] | {"name": name}}
    written(place / "file", [head, *lines_of_it, *happened])
    load(engine, place / "file", mode)
    assert values(export(engine, place / "again", name)) == [head, *lines_of_it, *happened]
    if mode == "merge":
        assert not load(engine, place / "file")[0].new.total()
    engine.workspaces.delete(name)
