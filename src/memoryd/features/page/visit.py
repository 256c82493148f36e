"""A request to the page: its fields, its workspace, and what its sender may do there."""

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from memoryd.core.access.tokens import Grant
from memoryd.core.engine import Engine
from memoryd.core.maintenance.actions import Act
from memoryd.core.memories import listing
from memoryd.core.memories.listing import ListedRecord
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.server.html import ROOT, render
from memoryd.text import storable

VIEWS = (
    ("memories", "", "Memories"),
    ("recall", "/recall", "Recall"),
    ("graph", "/graph", "Graph"),
    ("vault", "/vault", "Vault"),
    ("sessions", "/sessions", "Sessions"),
    ("timeline", "/timeline", "Timeline"),
    ("history", "/history", "History"),
    ("upkeep", "/upkeep", "Upkeep"),
    ("audit", "/audit", "Audit"),
    ("state", "/state", "State"),
)
"""The views of a workspace: name, path below the workspace, and title."""

CLIENT = "memoryd ui"
LARGEST = 1 << 53  # number; floats represent every integer up to it

Right = Literal["see", "correct", "forget", "import", "administer", "admit"]
"""The right that a view needs: to see, change, delete or import memories, to see the whole server, to grant access."""


def address_of(name: str) -> str:
    """Return the path of a workspace. Slashes in its name are encoded twice: servers decode paths, then split them."""
    return f"{ROOT}/w/{quote(name.replace('%', '%25').replace('/', '%2F'), safe='')}"


T = TypeVar("T")

KEPT = 64  # results


class Kept:
    """Results by request, each valid until the next event of its database."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._results: OrderedDict[tuple[str, ...], tuple[int, Any]] = OrderedDict()
        self._judged: dict[tuple[str, str], dict[str, Act]] = {}

    def judged(self, scope: Scope) -> dict[str, Act]:
        """Return the language model's proposals by key: an answer that was paid for is kept until it is used."""
        return self._judged.setdefault((scope.engine.store.place, scope.workspace.id), {})

    def get(self, scope: Scope, what: str, make: Callable[[], T]) -> T:
        """Return the kept result, or make and keep it."""
        latest, key = listing.latest(scope), (scope.engine.store.place, scope.workspace.id, what)
        with self._lock:
            known = self._results.get(key)
        if known and known[0] == latest:
            result: T = known[1]
            return result
        made = make()
        with self._lock:
            self._results[key] = latest, made
            self._results.move_to_end(key)
            while len(self._results) > KEPT:
                self._results.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class View:
    """A route of the page, below the path of its workspace, and its handler."""

    path: str
    handler: "Callable[[Visit], Response]"
    method: str = "GET"
    right: Right = "see"
    takes_file: bool = False
    """Whether its form brings a file, which may be large."""


@dataclass(frozen=True, slots=True)
class Visit:
    """An admitted request."""

    request: Request
    engine: Engine
    grant: Grant
    place: Workspace | None
    """None outside of workspaces."""
    kept: Kept
    form: Mapping[str, list[str]] = field(default_factory=dict)
    masked: list[str] = field(default_factory=list)
    """The kinds of the secrets that were masked until now, while the request was answered."""
    file: Path | None = None
    """The file that the form brings, for as long as the request is answered."""

    @property
    def workspace(self) -> Workspace:
        """The workspace of a view that has one."""
        assert self.place is not None, "the route names none"
        return self.place

    @property
    def scope(self) -> Scope:
        """The scope of the request in core."""
        return Scope(self.engine, self.workspace)

    @property
    def base(self) -> str:
        """The path of the workspace."""
        return address_of(self.workspace.name)

    @property
    def writes(self) -> bool:
        """Whether the sender may correct, tag and restore."""
        return self.may("memory_store")

    @property
    def forgets(self) -> bool:
        """Whether the sender may forget."""
        return self.may("memory_forget")

    @property
    def imports(self) -> bool:
        """Whether the sender may import: records of every kind, so no tool may be excluded."""
        return self.writes and not self.grant.tools

    def may(self, tool: str) -> bool:
        """Return whether the sender may use a tool that writes."""
        return not self.engine.settings.read_only and self.grant.allows(tool, "write")

    @property
    def administers(self) -> bool:
        """Whether the sender may see data of the whole server."""
        return not self.grant.workspace and not self.grant.tools and self.grant.level == "admin"

    @property
    def admits(self) -> bool:
        """Whether the sender may create tokens, and revoke tokens and logins."""
        return self.administers and not self.engine.settings.read_only

    def text(self, name: str, default: str = "") -> str:
        """Return a field of the form, else of the URL."""
        given = self.form.get(name) or self.request.query_params.getlist(name)
        return storable(given[-1]) if given else default

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all non-blank values of a field."""
        given = self.form.get(name) or self.request.query_params.getlist(name)
        return tuple(dict.fromkeys(value.strip() for value in given if value.strip()))

    def one_of(self, name: str, known: Collection[str], default: str = "") -> str:
        """Return a field that has one of the known values. Raise InvalidInputError."""
        given = self.text(name, default)
        if given not in known:
            raise InvalidInputError(f"Unknown {name} {given[:50]!r}. Use one of: {', '.join(known)}.")
        return given

    @property
    def id(self) -> str:
        """The id of the record in the path."""
        return str(self.request.path_params["id"])

    @property
    def listed(self) -> ListedRecord:
        """The record in the path. Raise NotFoundError."""
        return listing.one(self.scope, self.id)

    @property
    def offset(self) -> int:
        """The first entry of a page."""
        return int(max(self.number("offset", 0), 0))

    def number(self, name: str, default: float) -> float:
        """Return a field as a number. Raise InvalidInputError."""
        text = self.text(name)
        try:
            found = float(text) if text else default
        except ValueError:
            found = math.nan
        if text and not abs(found) <= LARGEST:
            raise InvalidInputError(f"{name} must be a number (it is {text[:50]!r}).")
        return found

    @property
    def part(self) -> bool:
        """Whether htmx requests a part of a page."""
        return "hx-request" in self.request.headers and "hx-history-restore-request" not in self.request.headers

    def address(self, path: str = "", **query: Any) -> str:
        """Return a URL in the workspace; omit empty values."""
        given = [(name, value) for name, value in query.items() if value not in ("", None, (), False)]
        return f"{self.base}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")

    def page(self, template: str, view: str, status: int = 200, **values: Any) -> Response:
        """Return a view: the whole page, or for htmx its main part."""
        shared = {"visit": self, "view": view, "views": VIEWS, "part": self.part}
        return HTMLResponse(render(template, **shared, **values), status)

    def fragment(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a part of a page."""
        return HTMLResponse(render(template, visit=self, **values), status)
