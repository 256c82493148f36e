"""Seed a's resources: the vault and the session by URI, listed, read and completed."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote

from mcp.types import Resource, ResourceTemplate

from memoryd.core.memories.vault import Vault
from memoryd.core.security.prompt_injection import suspicious
from memoryd.errors import InvalidParamsError, NotFoundError
from memoryd.model import Record
from memoryd.text import unstorable
from memoryd.toolsets.registry import COMPLETED, Call

VAULT, SESSION = "memory://vault", "memory://session"
PAGE, LARGEST_PAGE = 100, 1_000
JSON = "application/json"
LISTED = 100  # resources per page of the list
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


TEMPLATES = (
    ResourceTemplate(
        uri_template=f"{VAULT}{{?offset,limit}}",
        name="vault",
        title="The vault",
        description=f"Vault memories in the order of their keys, {PAGE} from `offset` on unless `limit` (1 to "
        f"{LARGEST_PAGE}) says otherwise.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        uri_template=f"{VAULT}/{{key}}",
        name="vault-memory",
        title="A vault memory",
        description="One vault memory by key.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        uri_template=f"{SESSION}/{{session_id}}",
        name="session",
        title="This session",
        description="All memories of the session: your own.",
        mime_type=JSON,
    ),
)
_OF_VAULT, _OF_MEMORY, _OF_SESSION = (template.uri_template for template in TEMPLATES)


@dataclass(frozen=True, slots=True)
class ResourceName:
    """A resource that a URI names: a page of the vault, one of its memories, or a session."""

    kind: Literal["vault", "memory", "session"]
    name: str = ""
    offset: int = 0
    limit: int = PAGE

    @property
    def uri(self) -> str:
        """The canonical URI, without a page."""
        if self.kind == "vault":
            return VAULT
        return f"{VAULT if self.kind == 'memory' else SESSION}/{_quoted(self.name)}"


def parse(uri: str) -> ResourceName:
    """Return what a URI names; raise InvalidParamsError for a malformed URI, NotFoundError if it names no resource."""
    path, asked, query = uri.partition("?")
    if path == VAULT:
        page = _page(query)
        return ResourceName("vault", offset=page["offset"], limit=page["limit"])
    if asked:
        raise InvalidParamsError(f"Only {VAULT} takes a query. Write a ? within a name as %3F.")
    for kind, start in (("memory", f"{VAULT}/"), ("session", f"{SESSION}/")):
        if path.startswith(start) and len(path) > len(start):
            return ResourceName(kind, _unquoted(path.removeprefix(start)))  # type: ignore[arg-type]
    raise NotFoundError(
        f"There is no resource {uri[:200]!r}. There are {', '.join(known.uri_template for known in TEMPLATES)}."
    )


def read(call: Call, uri: str) -> tuple[str, dict[str, Any]]:
    """Return the JSON text of a resource and its `_meta`; raise what `parse` raises, or NotFoundError."""
    value, meta = _read(call, uri)
    like = suspicious(value)
    return json.dumps(value, ensure_ascii=False), meta | ({"memoryd/reads_like": like} if like else {})


def _read(call: Call, uri: str) -> tuple[Any, dict[str, Any]]:
    place, vault = parse(uri), Vault(call.scope)
    if place.kind == "memory":
        return _shown(vault.get(place.name)), {}
    if place.kind == "session":
        if place.name != call.session_id:
            raise NotFoundError("This is another session. A session can read only its own memories.")
        return [_shown(record) for record in vault.volatile()], {}
    found = vault.page(place.offset, place.limit + 1)
    more = len(found) > place.limit
    following = f"{VAULT}?offset={place.offset + place.limit}&limit={place.limit}"
    return [_shown(record) for record in found[: place.limit]], {"memoryd/next": following} if more else {}


def listed(call: Call, cursor: str | None) -> tuple[list[Resource], str | None]:
    """Return a page of the resources and the cursor of the next page; raise InvalidParamsError for a wrong cursor."""
    after = _unquoted(cursor) if cursor else ""
    keys = Vault(call.scope).keys("", after, LISTED + 1)
    first = [] if cursor else [_resource(VAULT, "vault", "The vault", TEMPLATES[0].description or "")]
    if call.session_id and not cursor:
        own = ResourceName("session", call.session_id).uri
        first.append(_resource(own, "session", "This session", "The memories of this session."))
    found = [_resource(ResourceName("memory", key).uri, key, key, "A vault memory.") for key in keys[:LISTED]]
    return first + found, _quoted(keys[LISTED - 1]) if len(keys) > LISTED else None


def _resource(uri: str, name: str, title: str, description: str) -> Resource:
    return Resource(uri=uri, name=name, title=title, description=description, mime_type=JSON)


def completed(call: Call, uri: str, argument: str, value: str) -> tuple[list[str], bool]:
    """Return values of a template's argument that begin with `value`, and whether there are more."""
    if (uri, argument) == (_OF_MEMORY, "key"):
        keys = Vault(call.scope).keys(value, "", COMPLETED + 1)
        return keys[:COMPLETED], len(keys) > COMPLETED
    if (uri, argument) == (_OF_SESSION, "session_id"):
        return [call.session_id] if call.session_id.startswith(value) and call.session_id else [], False
    if (uri, argument) in [(_OF_VAULT, name) for name in ("offset", "limit")]:
        return [], False
    raise InvalidParamsError(f"There is no template {uri[:200]!r} with an argument {argument[:200]!r}.")


def _shown(record: Record) -> dict[str, Any]:
    return {
        "key": record.name,
        "content": record.body,
        "tags": list(record.tags),
        "scope": "session" if record.scope else "vault",
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }


def _page(query: str) -> dict[str, int]:
    found = {"offset": 0, "limit": PAGE}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in found:
            raise InvalidParamsError(f"{VAULT} takes offset and limit, not {name[:100]!r}.")
        least, most = (1, LARGEST_PAGE) if name == "limit" else (0, 10**9)
        is_number = value.isascii() and value.isdigit() and len(value) <= 10
        if value and not (is_number and least <= int(value) <= most):
            raise InvalidParamsError(f"{name} must be a number from {least} to {most} (it is {value[:100]!r}).")
        found[name] = int(value or found[name])
    return found


def _quoted(name: str) -> str:
    """Escape a name, also one of dots alone: a client would take it for a parent directory."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


def _unquoted(text: str) -> str:
    if _ESCAPE.search(text):
        raise InvalidParamsError(f"{text[:200]!r} contains a % that begins no escape. Write a % as %25.")
    try:
        name = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidParamsError(f"{text[:200]!r} is not UTF-8. Escape the bytes of UTF-8.") from None
    if unstorable(name):
        raise InvalidParamsError(f"{text[:200]!r} contains a character that no name may contain.")
    return name


def changed(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Return the URIs whose content changed with these (scope, key) pairs, each once.

    Session memories are read together: what changes with one is the session.
    """
    uris: dict[str, None] = {}
    for scope, key in keys:
        changed = [ResourceName("session", scope).uri] if scope else [ResourceName("memory", key).uri, VAULT]
        uris |= dict.fromkeys(changed)
    return list(uris)
