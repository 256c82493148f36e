"""Helpers for tests of a store: workspaces, records in one line, known vectors, other processes.

Those processes import this too, dozens of times in a run, so it imports nothing slow, such as the SDK's client.
"""

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import apsw
import numpy as np
from numpy.typing import NDArray

import memoryd
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.model import GENERAL, Filter, Kind, Record, VectorSet, Workspace
from memoryd.query_syntax import WordQuery, parse_query
from memoryd.store.base import Queries, Scored, Store, Vector
from memoryd.store.sqlite.layout import Layout
from memoryd.store.sqlite.store import SqliteStore
from tests.forks import Fork

SOURCE = Path(memoryd.__file__).parents[1]
NOW = "2026-03-04T05:06:07.000Z"
LATER = "2026-03-04T05:06:08.000Z"
MODEL = "test:model"
SET = VectorSet(GENERAL, MODEL)
EVERY = Filter()


def workspace(name: str = "one", db_path: str = "") -> Workspace:
    """Return a workspace with a new id; the store does not look it up in a registry."""
    return Workspace(id=str(uuid.uuid4()), name=name, db_path=db_path)


def made(
    layout: Layout, durability: Literal["full", "normal"] = "full", places: Iterable[Workspace] = ()
) -> SqliteStore:
    """Return a store whose files exist: the registry's and those of some workspaces."""
    store = SqliteStore(layout, durability)
    for place in (None, *places):
        store.placement.create(place)
    return store


def add(
    queries: Queries, body: str, vectors: Vector | Sequence[Vector] | None = None, *, now: str = NOW, **fields: Any
) -> str:
    """Write a record inside a transaction; return its id."""
    record = Record(id=fields.pop("id", "") or records.new_id(), body=body, **({"kind": Kind.MEMORY} | fields))
    embedded = None if vectors is None else Embedded(MODEL, np.atleast_2d(np.asarray(vectors, np.float32)))
    records.add(queries, record, embedded, now)
    if record.kind is Kind.MEMORY:
        queries.run("memories.add", id=record.id, fingerprint="", importance=0.5, consolidated=0)
    return record.id


def put(store: Store, place: Workspace, body: str, vectors: Any = None, **fields: Any) -> str:
    """Write a record in a separate transaction; return its id."""
    return store.write(place, lambda q: add(q, body, vectors, **fields))


def related(store: Store, place: Workspace) -> None:
    """Write three entities; the first is related to the second, and has a vector like the third."""

    def work(queries: Queries) -> None:
        ann, acme, _ = (add(queries, "", axis(0), kind=Kind.ENTITY, name=name) for name in ("Ann", "Acme", "Bob"))
        queries.run("relations.add", id=records.new_id(), source=ann, target=acme, type="works_at", now=NOW)

    store.write(place, work)


def change(store: Store, place: Workspace, record_id: str, body: str, tags: Sequence[str] = ()) -> None:
    """Change the text of a record."""
    store.write(place, lambda q: records.change(q, record_id, body, tags, None, LATER))


def forget(store: Store, place: Workspace, *ids: str) -> int:
    """Soft-delete records."""
    return store.write(place, lambda q: records.delete(q, ids, LATER))


def purge(store: Store, place: Workspace) -> int:
    """Purge deleted records."""
    return store.write(place, lambda q: q.changed("records.purge", before="9999"))


def bodies(store: Store, place: Workspace, ids: Sequence[str], session: str = "") -> list[str]:
    """Return the texts of living records, ordered by id."""
    found = store.read(place, lambda q: records.fetch(q, ids, session))
    return [found[record_id].body for record_id in ids if record_id in found]


def by_words(store: Store, place: Workspace, query: WordQuery, allowed: Filter, limit: int) -> Scored:
    """Return what the index finds by words, in a separate transaction."""
    return store.read(place, lambda q: store.index.words(q, query, allowed, limit))


def nearest(store: Store, place: Workspace, among: VectorSet, vector: Vector, allowed: Filter, limit: int) -> Scored:
    """Return what the index finds by vectors of one set, in a separate transaction."""
    (found,) = store.read(place, lambda q: store.index.nearest(q, [among], vector, allowed, limit))
    return found


def cosines(store: Store, place: Workspace, among: VectorSet, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
    """Return the cosines in one set, in a separate transaction."""
    (found,) = store.read(place, lambda q: store.index.cosines(q, [among], vector, ids))
    return found


def vectors_of(store: Store, place: Workspace, among: VectorSet, ids: Sequence[str]) -> dict[str, Vector]:
    """Return the vectors of records, in a separate transaction."""
    return store.read(place, lambda q: store.index.vectors(q, among, ids))


def words(store: Store, place: Workspace, query: str, allowed: Filter = EVERY, limit: int = 50) -> list[str]:
    """Return the texts that a query finds by words, best first."""
    parsed = parse_query(query)
    assert parsed
    return bodies(store, place, [key for key, _ in by_words(store, place, parsed, allowed, limit)], allowed.session)


def near(store: Store, place: Workspace, vector: Vector, allowed: Filter = EVERY, limit: int = 10) -> list[str]:
    """Return the texts with the nearest vectors, best first."""
    found = nearest(store, place, SET, vector, allowed, limit)
    return bodies(store, place, [key for key, _ in found], allowed.session)


def unit(rows: NDArray[Any]) -> Vector:
    """Return the rows with unit length, rounded to float16."""
    rows = np.atleast_2d(rows)
    stored: Vector = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
    return stored


def axis(number: int, dim: int = 8) -> Vector:
    """Return a unit vector along one axis."""
    vector = np.zeros(dim, np.float32)
    vector[number] = 1
    return vector


def together(work: Callable[[int], object], count: int) -> list[BaseException]:
    """Run `work` in some threads that begin at the same moment; return what they raised."""
    start, raised = threading.Barrier(count), list[BaseException]()

    def run(number: int) -> None:
        start.wait(30)
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return raised


def value(file: Path, statement: str) -> object:
    """Return one value, read through a separate connection."""
    with closing(apsw.Connection(str(file))) as connection:
        return connection.execute(statement).get


def schema(file: Path) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(file))) as connection:
        return connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


def python(code: str, *arguments: object) -> Fork[str]:
    """Start another process."""
    return Fork[str](
        [sys.executable, "-c", code, *map(str, arguments)],
        text=True,
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{SOURCE}:{SOURCE.parent}", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def output(process: subprocess.Popen[str], sent: str = "") -> str:
    """Return what a process printed; it must succeed."""
    out, errors = process.communicate(sent, timeout=60)
    assert process.returncode == 0, errors
    return out
