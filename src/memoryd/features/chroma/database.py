"""A database of ChromaDB: its collections and rows."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from memoryd.core.base.batches import batches
from memoryd.errors import StoreBusyError, StoreError

DEFAULT = "default_database"
SWAP = "memoryd-swap"  # a collection whose metadata say which collection replaces which
PATIENCE = 5.0  # seconds that a process takes at most to replace collections, unless it was killed
POLL = 0.02
LEFT = 86_400.0  # seconds after which a collection that never replaced another counts as abandoned
BEGUN = "begun"
PAGE = 50  # rows read or written at a time, since each may be long
LARGE = 4_000_000  # characters after which no more rows are added to a request
NUMBERS = 5_000  # ids in a request
SPACES: Mapping[str, Callable[[float], float]] = {
    "cosine": lambda distance: 1 - distance,
    "ip": lambda distance: 1 - distance,
    "l2": lambda distance: 1 - distance / 2,
}
"""The cosine of two unit vectors, computed from the distance that ChromaDB returns."""

Ask = Callable[..., Any]
Where = Mapping[str, Any]


class GoneError(StoreError):
    """The requested object does not exist, or no longer exists."""


class TakenError(StoreError):
    """The name is taken."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection as it was when it was listed."""

    id: str
    name: str
    metadata: Mapping[str, Any]
    space: str


@dataclass(frozen=True, slots=True)
class ChromaRow:
    """A row of ChromaDB. `uri` contains its origin; `score` is its cosine with the query."""

    id: str
    metadata: Mapping[str, Any]
    document: str
    vector: Sequence[float] = ()
    uri: str | None = None
    score: float = 0.0


class ChromaDatabase:
    """A database; the first write creates it."""

    def __init__(self, ask: Ask, path: str, name: str) -> None:
        self._ask = ask
        self._path = path
        self._name = name

    # collections -----------------------------------------------------------------------------------------------------

    def collection(self, name: str) -> Collection | None:
        """Return the collection with this name, or None."""
        return self._settled().get(name)

    def made(self, name: str, metadata: Mapping[str, Any]) -> Collection:
        """Return the collection with this name; create it for unit vectors if it does not exist."""
        return self._settled().get(name) or self._make(name, metadata)

    def _make(self, name: str, metadata: Mapping[str, Any]) -> Collection:
        body = {
            "name": name,
            "metadata": dict(metadata) or None,
            "configuration": {"hnsw": {"space": "cosine"}},
            "get_or_create": True,
        }
        if self._name != DEFAULT:
            with suppress(TakenError):
                self._ask("POST", self._path.rpartition("/")[0], {"name": self._name})
        return _collection(self._ask("POST", f"{self._path}/collections", body))

    def _settled(self) -> dict[str, Collection]:
        """Return all collections by name, after a running replacement is finished."""
        deadline = time.monotonic() + PATIENCE
        while SWAP in (collections := self._listed()):
            if time.monotonic() > deadline:  # the process that replaced them was killed
                self._swap(collections[SWAP].metadata)
                deadline += PATIENCE
            else:
                time.sleep(POLL)
        return collections

    def _listed(self) -> dict[str, Collection]:
        try:
            return {found.name: found for found in map(_collection, self._ask("GET", f"{self._path}/collections"))}
        except GoneError:
            return {}

    @contextmanager
    def replacing(self, names: Sequence[str], metadata: Mapping[str, Any]) -> Iterator[dict[str, Collection]]:
        """Yield new, empty collections by name, which replace those with these names at the end, all at once.

        If the block raises, nothing changes. The next process completes or removes what a killed one leaves behind.
        """
        mark = uuid.uuid4().hex[:8]
        self._forget_left()
        olds = {name: self.made(name, metadata) for name in names}
        begun = {**metadata, BEGUN: time.time()}
        news = {name: self._make(f"{name}.new-{mark}", begun) for name in names}
        with ExitStack() as undo:
            for new in news.values():
                undo.callback(self._drop, new.name)
            yield news
            plan = {name: f"{olds[name].id} {news[name].id}" for name in names}
            self._announce(plan)
            undo.pop_all()
        self._swap(plan)

    def _announce(self, plan: Mapping[str, str]) -> None:
        """Record the plan: from here on any process may complete it."""
        try:
            self._ask("POST", f"{self._path}/collections", {"name": SWAP, "metadata": plan})
        except TakenError:
            announced = self._listed().get(SWAP)
            if not announced or announced.metadata != plan:  # the answer to our own request may have been lost
                raise StoreBusyError(
                    "Another import is replacing the journal. Nothing was changed; try again."
                ) from None

    def _swap(self, plan: Mapping[str, str]) -> None:
        """Carry out a plan. Several processes may do so at once: each step is idempotent."""
        pairs = {name: ids.split(" ") for name, ids in plan.items()}
        for name, (old, new) in pairs.items():
            with suppress(GoneError):
                self._rename(old, f"{name}.old-{old}")
            self._rename(new, name)
        for name, (old, _) in pairs.items():
            self._drop(f"{name}.old-{old}")
        self._drop(SWAP)

    def _forget_left(self) -> None:
        for found in self._settled().values():
            begun = found.metadata.get(BEGUN)
            if ".new-" in found.name and isinstance(begun, float) and begun < time.time() - LEFT:
                self._drop(found.name)

    def _rename(self, collection: str, name: str) -> None:
        self._ask("PUT", f"{self._path}/collections/{collection}", {"new_name": name})

    def _drop(self, name: str) -> None:
        with suppress(GoneError):
            self._ask("DELETE", f"{self._path}/collections/{name}")

    # rows ------------------------------------------------------------------------------------------------------------

    def count(self, collection: Collection) -> int:
        """Return the number of rows."""
        return int(self._ask("GET", f"{self._path}/collections/{collection.id}/count"))

    def add(self, collection: Collection, rows: Sequence[ChromaRow]) -> None:
        """Write rows. ChromaDB silently skips a row whose id already exists."""
        for some in batches(rows, LARGE, lambda row: LARGE // PAGE + len(row.document)):
            self._write(collection, "add", some)

    def put(self, collection: Collection, row: ChromaRow) -> None:
        """Write a row, replacing the one with its id; a field whose metadata value is None is removed."""
        self._write(collection, "upsert", [row])

    def _write(self, collection: Collection, verb: str, rows: Sequence[ChromaRow]) -> None:
        self._post(
            collection,
            verb,
            ids=[row.id for row in rows],
            embeddings=[list(row.vector) for row in rows],
            metadatas=[dict(row.metadata) for row in rows],
            documents=[row.document for row in rows],
            uris=[row.uri for row in rows],
        )

    def _post(self, collection: Collection, verb: str, **body: Any) -> Any:
        return self._ask("POST", f"{self._path}/collections/{collection.id}/{verb}", body)

    def ids(self, collection: Collection, where: Where | None = None) -> list[str]:
        """Return the ids of all rows, or of those whose metadata match `where`, in no particular order."""
        ids: list[str] = self._post(collection, "get", where=where, include=[])["ids"]
        return ids

    def rows(self, collection: Collection, ids: Sequence[str]) -> Iterator[ChromaRow]:
        """Yield the rows with these ids, in the given order; skip unknown ids."""
        for page in batches(ids, PAGE):
            rows = {row.id: row for row in self._page(collection, page)}
            yield from (rows[key] for key in page if key in rows)

    def _page(self, collection: Collection, ids: Sequence[str]) -> list[ChromaRow]:
        include = ["metadatas", "documents", "uris"]
        found = self._post(collection, "get", ids=list(dict.fromkeys(ids)), include=include)
        parts = (found[name] or [None] * len(found["ids"]) for name in include)
        return [
            ChromaRow(key, metadata or {}, document or "", uri=uri)
            for key, metadata, document, uri in zip(found["ids"], *parts, strict=True)
        ]

    def nearest(
        self, collection: Collection, vector: Sequence[float], number: int, where: Where | None
    ) -> list[ChromaRow]:
        """Return the rows nearest to a unit vector among those that match `where`, best first, each with its score."""
        include, vectors = ["metadatas", "documents", "distances"], [list(vector)]
        found = self._post(
            collection, "query", query_embeddings=vectors, n_results=number, where=where, include=include
        )
        if not (ids := found["ids"][0]):
            return []
        parts = zip(ids, found["metadatas"][0], found["documents"][0], found["distances"][0], strict=True)
        score = SPACES[collection.space]
        return [
            ChromaRow(key, metadata or {}, document or "", score=min(max(score(distance), 0.0), 1.0))
            for key, metadata, document, distance in parts
        ]

    def delete(self, collection: Collection, ids: Sequence[str]) -> int:
        """Delete rows; return how many."""
        gone = 0
        for some in batches(ids, NUMBERS):
            gone += int(self._post(collection, "delete", ids=some).get("deleted", len(some)))
        return gone


def _collection(fields: Mapping[str, Any]) -> Collection:
    configuration = fields.get("configuration_json") or {}
    index = configuration.get("hnsw") or configuration.get("spann") or {}
    space = index.get("space", "l2")
    return Collection(fields["id"], fields["name"], fields.get("metadata") or {}, space if space in SPACES else "l2")
