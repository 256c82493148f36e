"""ChromaDB over its HTTP interface, version 2: servers, and one database with its collections and rows.

Its Python client is not used: it waits without a limit, raises bare exceptions, and reads the file `.env` in the
agent's working directory.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import httpx2

from memoryd.errors import StoreAwayError, StoreBusyError, StoreError
from memoryd.origin import address
from memoryd.proxies import trusted, uses_proxies
from memoryd.store.journal import State, Unmanaged

if TYPE_CHECKING:
    from memoryd.features.chroma.server import ChromaServer

CONNECT, ANSWER = 5.0, 60.0  # seconds
PAUSE = 0.05  # between attempts to connect
TENANT = "/api/v2/tenants/default_tenant/databases"
QUOTED = 300  # characters of ChromaDB's message that an error quotes
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

OTHER_MODEL = (
    "The journal's vectors are not from MEMORY_EMBEDDER's model. Nothing was stored by this call; set the embedder "
    "that made them, or embed everything again: export_database, then import_database with mode replace."
)

Ask = Callable[..., Any]
Where = Mapping[str, Any]


# a database -----------------------------------------------------------------------------------------------------------


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
        for some in _portions(rows):
            self._write(collection, "add", some)

    def put(self, collection: Collection, row: ChromaRow) -> None:
        """Write a row, replacing the one with its id; a field whose metadata value is None is removed."""
        self._write(collection, "upsert", [row])

    def _write(self, collection: Collection, verb: str, rows: Sequence[ChromaRow]) -> None:
        self._ask(
            "POST",
            f"{self._path}/collections/{collection.id}/{verb}",
            {
                "ids": [row.id for row in rows],
                "embeddings": [list(row.vector) for row in rows],
                "metadatas": [dict(row.metadata) for row in rows],
                "documents": [row.document for row in rows],
                "uris": [row.uri for row in rows],
            },
        )

    def ids(self, collection: Collection, where: Where | None = None) -> list[str]:
        """Return the ids of all rows, or of those whose metadata match `where`, in no particular order."""
        answer = self._ask("POST", f"{self._path}/collections/{collection.id}/get", {"where": where, "include": []})
        ids: list[str] = answer["ids"]
        return ids

    def rows(self, collection: Collection, ids: Sequence[str]) -> Iterator[ChromaRow]:
        """Yield the rows with these ids, in the given order; skip unknown ids."""
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            rows = {row.id: row for row in self._page(collection, page)}
            yield from (rows[key] for key in page if key in rows)

    def _page(self, collection: Collection, ids: Sequence[str]) -> list[ChromaRow]:
        include = ["metadatas", "documents", "uris"]
        body = {"ids": list(dict.fromkeys(ids)), "include": include}
        found = self._ask("POST", f"{self._path}/collections/{collection.id}/get", body)
        parts = (found[name] or [None] * len(found["ids"]) for name in include)
        return [
            ChromaRow(key, metadata or {}, document or "", uri=uri)
            for key, metadata, document, uri in zip(found["ids"], *parts, strict=True)
        ]

    def nearest(
        self, collection: Collection, vector: Sequence[float], number: int, where: Where | None
    ) -> list[ChromaRow]:
        """Return the rows nearest to a unit vector among those that match `where`, best first, each with its score."""
        body = {
            "query_embeddings": [list(vector)],
            "n_results": number,
            "where": where,
            "include": ["metadatas", "documents", "distances"],
        }
        found = self._ask("POST", f"{self._path}/collections/{collection.id}/query", body)
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
        for start in range(0, len(ids), NUMBERS):
            body = {"ids": list(ids[start : start + NUMBERS])}
            answer = self._ask("POST", f"{self._path}/collections/{collection.id}/delete", body)
            gone += int(answer.get("deleted", len(body["ids"])))
        return gone


def _portions(rows: Sequence[ChromaRow]) -> Iterator[list[ChromaRow]]:
    portion: list[ChromaRow] = []
    size = 0
    for row in rows:
        portion.append(row)
        size += len(row.document)
        if len(portion) == PAGE or size > LARGE:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _collection(fields: Mapping[str, Any]) -> Collection:
    configuration = fields.get("configuration_json") or {}
    index = configuration.get("hnsw") or configuration.get("spann") or {}
    space = index.get("space", "l2")
    return Collection(fields["id"], fields["name"], fields.get("metadata") or {}, space if space in SPACES else "l2")


# servers --------------------------------------------------------------------------------------------------------------


class ExternalChroma(Unmanaged):
    """A server at a URL, which memoryd neither starts nor stops."""

    patience = 0.0
    """Seconds within which it may come back if it does not answer."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self.place = address(self._url)

    def url(self) -> str:
        """Return the URL, with user and password if it has them."""
        return self._url

    def serves(self) -> bool:
        """Return True: only a request could tell."""
        return True


class Chroma:
    """A server and its databases; see `store.journal.Database`. The first use connects."""

    product = "ChromaDB"

    def __init__(self, server: "ExternalChroma | ChromaServer") -> None:
        self._server = server
        self.place = server.place
        self._lock = threading.Lock()
        self._known: str | None = None
        elsewhere = urlsplit(f"//{server.place}").hostname is not None  # memoryd's own server has a path
        proxies = elsewhere and uses_proxies(f"//{server.place}")
        limit = httpx2.Timeout(ANSWER, connect=CONNECT)
        self._http = httpx2.Client(timeout=limit, verify=trusted(), trust_env=proxies)

    def state(self) -> State:
        """Return the server's state, without a request."""
        return self._server.state()

    def start(self) -> bool:
        """Start memoryd's own server; return whether it was not running."""
        with self._lock:
            started = self._server.start()
            self._known = None
            return started

    def stop(self) -> bool:
        """Stop memoryd's own server; return whether it was running."""
        with self._lock:
            ran = self._server.stop()
            self._known = None
            return ran

    def close(self) -> None:
        """Stop using it."""
        self._http.close()
        self._server.close()

    def database(self, name: str) -> ChromaDatabase:
        """Return a database of the server; the first write creates it."""
        return ChromaDatabase(self.ask, f"{TENANT}/{quote(name, safe='')}", name)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the answer.

        After a lost connection the request is repeated, so it must be idempotent. Raise GoneError, TakenError,
        StoreAwayError if the server cannot be reached, and StoreError for everything else that it refuses.
        """
        deadline = time.monotonic() + self._server.patience
        again = sent = False
        while True:
            try:
                answer = self._http.request(method, self._url() + path, json=body)
                return self._understood(answer)
            except httpx2.ReadTimeout as error:
                raise StoreAwayError(
                    f"ChromaDB at {self.place} did not answer in {ANSWER:.0f} s. It is unknown whether this call "
                    "stored anything; check before you try again."
                ) from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                self._known = None
                sent |= not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.InvalidURL)
                if again and time.monotonic() >= deadline:
                    stored = "It is unknown whether this call stored anything" if sent else "This call stored nothing"
                    raise StoreAwayError(
                        f"Could not connect to ChromaDB at {self.place} ({error}). {stored}; {self._next_step()}"
                    ) from error
                again = True
                time.sleep(PAUSE)

    def _url(self) -> str:
        known = self._known
        if known is None or not self._server.serves():  # another program may have its port by now
            with self._lock:
                known = self._known = self._server.url()
        return known

    def _next_step(self) -> str:
        if self._server.state() == "external":
            return "start that server, or check MEMORY_CHROMA_URL."
        return f"try again, and see {Path(self.place) / 'log'} if this persists."

    def _understood(self, answer: httpx2.Response) -> Any:
        try:
            body = answer.json() if answer.content else {}
        except ValueError:
            body = None
        if answer.is_success and body is not None:
            return body
        message = str(body.get("message", "")) if isinstance(body, dict) else ""
        match answer.status_code:
            case httpx2.codes.NOT_FOUND if message:
                raise GoneError(message)
            case httpx2.codes.CONFLICT:
                raise TakenError(message)
            case httpx2.codes.UNAUTHORIZED | httpx2.codes.FORBIDDEN:
                raise StoreAwayError(
                    f"ChromaDB at {self.place} requires authentication. Nothing was stored by this call; put user and "
                    "password into MEMORY_CHROMA_URL."
                )
            case 413:
                raise StoreError(
                    f"ChromaDB at {self.place} rejects so large a request. Nothing was stored by this call; send less, "
                    "or raise its max_payload_size_bytes."
                )
        if "dimension" in message:
            raise StoreError(f"{message[:QUOTED].rstrip('.')}. {OTHER_MODEL}")
        if not message:
            raise StoreError(
                f"{self.place} does not answer like a ChromaDB of version 1 (status {answer.status_code}). Nothing was "
                "stored by this call; check MEMORY_CHROMA_URL."
            )
        raise StoreError(
            f"ChromaDB at {self.place} refused ({answer.status_code}: {message[:QUOTED]}). Nothing was stored by this "
            "call; see its log for details."
        )
