"""ChromaDB over its HTTP interface, version 2: a server, and what its answers mean.

Its Python client is not used: it waits without a limit, raises bare exceptions, and reads the file `.env` in the
agent's working directory.
"""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import httpx2

from memoryd.errors import StoreAwayError, StoreError
from memoryd.features.chroma.database import ChromaDatabase, GoneError, TakenError
from memoryd.origin import address
from memoryd.proxies import reaching
from memoryd.store.journal import State, Unmanaged

if TYPE_CHECKING:
    from memoryd.features.chroma.server import ChromaServer

CONNECT, ANSWER = 5.0, 60.0  # seconds
PAUSE = 0.05  # between attempts to connect
TENANT = "/api/v2/tenants/default_tenant/databases"
QUOTED = 300  # characters of ChromaDB's message that an error quotes
OTHER_MODEL = (
    "The journal's vectors are not from MEMORY_EMBEDDER's model. Nothing was stored by this call; set the embedder "
    "that made them, or embed everything again: export_database, then import_database with mode replace."
)


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
        options = reaching(f"//{server.place if elsewhere else 'localhost'}")
        self._http = httpx2.Client(timeout=httpx2.Timeout(ANSWER, connect=CONNECT), **options)

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
